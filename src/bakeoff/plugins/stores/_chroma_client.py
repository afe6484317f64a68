"""Chroma's settings, client (embedded in a folder, in a copy of one, or a server by URL), filters and answers."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import chromadb
import httpx
import numpy as np
from chromadb.api import ClientAPI
from chromadb.config import Settings as ClientSettings
from chromadb.errors import NotFoundError
from pydantic import Field

from bakeoff.plugins.kit.adapter import GraphBuild, Settings
from bakeoff.plugins.kit.http_limits import BoundedTransport
from bakeoff.plugins.kit.payload import PayloadSchemaMixin, terms
from bakeoff.plugins.kit.server import ServerUrl, own_collections, request_timeout
from bakeoff.storage.consent import Destination, secret_for
from bakeoff.storage.environment import SettingSource
from bakeoff.storage.temp_dir import TempDir
from bakeoff.types import Hits, Metric, Where

CONNECTING = 5.0
FAR = ["distances"]
"""What an answer holds beside the ids."""
INTEGER, FLOAT = np.dtype(np.int64), np.dtype(np.float64)
SIGNS = {"in": "$in", ">=": "$gte", "<=": "$lte"}


class Build(GraphBuild):
    """What shapes the graph, and its search: the engine reads ef_search once, when a collection is opened."""

    ef_search: Annotated[int, Field(ge=1, description="candidates kept")] = 64
    sync_threshold: Annotated[
        int, Field(ge=2, description="writes after which the graph is saved; the log has them before")
    ] = 1000


class ChromaParams(Settings):
    """Where Chroma is and how its index is built; a server's token comes from CHROMA_TOKEN."""

    url: ServerUrl = None
    build: Build = Build()


class ChromaConnection:
    """One client; opening a Chroma folder writes into it, so one that is to stay as it is can be copied first."""

    def __init__(self, url: str | None, home: Path) -> None:
        self._url, self._home = url, home
        self._copy: TempDir | None = None
        self._client: ClientAPI | None = None

    def begin(self, *, copy: bool = False) -> ClientAPI:
        """Connect, to a copy of the folder if so asked."""
        self.close()
        quiet = ClientSettings(anonymized_telemetry=False)
        if self._url:
            self._client = _connect(self._url, quiet)
        else:
            home = self._copied() if copy else self._home
            self._client = chromadb.PersistentClient(path=home, settings=quiet)
        return self._client

    def version(self) -> str:
        """The server's version, or the package's."""
        return f"Chroma {self._there().get_version()}" + (" (server)" if self._url else "")

    def most(self) -> int:
        """How many rows one call may hold."""
        assert self._client is not None
        return int(self._client.get_max_batch_size())

    def collections(self) -> list[str]:
        """What runs made on a server; a folder belongs to one run, so nothing stays there."""
        return own_collections(known.name for known in self._there().list_collections()) if self._url else []

    def drop(self, name: str) -> None:
        """Remove a collection, if it is there."""
        with contextlib.suppress(NotFoundError):
            self._there().delete_collection(name)

    def close(self) -> None:
        """Give back the connection and the copy."""
        if self._client is not None:
            self._client.close()
        if self._copy is not None:
            self._copy.close()
        self._client = self._copy = None

    def _there(self) -> ClientAPI:
        return self._client or self.begin()

    def _copied(self) -> Path:
        self._copy = TempDir("chroma")
        return shutil.copytree(self._home, self._copy.path / "home")


def _connect(url: str, settings: ClientSettings) -> ClientAPI:
    """A client of a server; it has no limit of time of its own, so the server is asked first whether it answers."""
    seconds, token = request_timeout(), secret_for("CHROMA_TOKEN", Destination(url, SettingSource.EXPERIMENT))
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    limit = httpx.Timeout(seconds, connect=min(CONNECTING, seconds))
    with httpx.Client(transport=BoundedTransport(url, seconds), headers=headers, timeout=limit) as first:
        first.get(f"{url.rstrip('/')}/api/v2/heartbeat")
    client = chromadb.HttpClient(url, headers=headers, settings=settings)
    client._server._session.timeout = limit
    client._server._session._transport = BoundedTransport(url, seconds)
    return client


def filter_of(store: PayloadSchemaMixin, where: Where) -> dict[str, Any] | None:
    """A filter in Chroma's words."""
    parts = [
        {term.field: {SIGNS[term.sign]: list(term.values) if term.sign == "in" else term.values[0]}}
        for term in terms(store.fields, where)
    ]
    return {"$and": parts} if len(parts) > 1 else next(iter(parts), None)


def answers(found: Mapping[str, Any], metric: Metric) -> list[Hits]:
    """The rows found for each vector, counted in Python: for a few rows that is quicker than in arrays."""
    top = 0.0 if metric is Metric.L2 else 1.0
    pairs = zip(found["ids"], found["distances"], strict=True)
    return [_hits(ids, [top - one for one in far]) for ids, far in pairs]


def _hits(ids: list[str], scores: list[float]) -> Hits:
    rows = len(ids)
    return Hits(np.fromiter(map(int, ids), INTEGER, rows), np.fromiter(scores, FLOAT, rows))
