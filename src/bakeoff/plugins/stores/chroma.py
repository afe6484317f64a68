"""Chroma: embedded in this process, or a server by URL."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar

import chromadb
import httpx
import numpy as np
from chromadb.api import ClientAPI
from chromadb.config import Settings as ClientSettings
from chromadb.errors import ChromaError, NotFoundError
from httpx import HTTPError
from pydantic import Field

from bakeoff.plugins.kit.adapter import (
    GraphBuild,
    NoQuery,
    Settings,
    expect_dims,
    expect_rows,
    guarantee,
    require_open,
)
from bakeoff.plugins.kit.existing import (
    READ_ROWS,
    SAMPLED,
    metric_of,
    named_hits,
    named_vectors,
    no_such_collection,
    payload_id,
    sampled_fields,
)
from bakeoff.plugins.kit.http_limits import BoundedTransport
from bakeoff.plugins.kit.payload import (
    FLOAT32_ONLY,
    NO_LIMIT,
    VECTORS_ONLY,
    Payload,
    PayloadSchemaMixin,
    in_order,
    terms,
)
from bakeoff.plugins.kit.server import (
    PREFIX,
    ServerUrl,
    own_collections,
    request_timeout,
    translate_server_errors,
)
from bakeoff.protocols import Guarantee
from bakeoff.storage.consent import Destination, secret_for
from bakeoff.storage.environment import SettingSource
from bakeoff.storage.temp_dir import TempDir
from bakeoff.types import (
    Batch,
    CollectionFacts,
    ExistingCollection,
    Hits,
    Json,
    JsonObject,
    Metric,
    NamedHits,
    NamedVectors,
    Where,
)

CONNECTING = 5.0
FAR = ["distances"]
"""What an answer holds besides the ids."""
INTEGER, FLOAT = np.dtype(np.int64), np.dtype(np.float64)
SIGNS = {"in": "$in", ">=": "$gte", "<=": "$lte"}


class Build(GraphBuild):
    """Build and search settings of the graph: the engine reads ef_search once, when a collection is opened."""

    ef_search: Annotated[int, Field(ge=1, description="candidates kept")] = 64
    sync_threshold: Annotated[
        int,
        Field(ge=2, description="number of writes after which the graph is saved; the log has them earlier"),
    ] = 1000


class ChromaParams(Settings):
    """Where Chroma is and how its index is built; a server's token comes from CHROMA_TOKEN."""

    url: ServerUrl = None
    build: Build = Build()


class ChromaConnection:
    """One client; opening a Chroma folder writes into it, so one that must not change is copied first."""

    def __init__(self, url: str | None, home: Path) -> None:
        self._url, self._home = url, home
        self._copy: TempDir | None = None
        self._client: ClientAPI | None = None

    def begin(self, *, copy: bool = False) -> ClientAPI:
        """Connect, to a copy of the folder if requested."""
        self.close()
        quiet = ClientSettings(anonymized_telemetry=False)
        if self._url:
            self._client = _connect(self._url, quiet)
        else:
            home = self._copy_home() if copy else self._home
            self._client = chromadb.PersistentClient(path=home, settings=quiet)
        return self._client

    def version(self) -> str:
        """The server's version, or the package's."""
        return f"Chroma {self._there().get_version()}" + (" (server)" if self._url else "")

    def most(self) -> int:
        """Most rows per call."""
        assert self._client is not None
        return int(self._client.get_max_batch_size())

    def collections(self) -> list[str]:
        """Collections that runs made on a server; a folder belongs to one run and holds none."""
        return own_collections(known.name for known in self._there().list_collections()) if self._url else []

    def drop(self, name: str) -> None:
        """Delete a collection if it exists."""
        with contextlib.suppress(NotFoundError):
            self._there().delete_collection(name)

    def close(self) -> None:
        """Release the connection and delete the copy."""
        if self._client is not None:
            self._client.close()
        if self._copy is not None:
            self._copy.close()
        self._client = self._copy = None

    def _there(self) -> ClientAPI:
        return self._client or self.begin()

    def _copy_home(self) -> Path:
        self._copy = TempDir("chroma")
        return shutil.copytree(self._home, self._copy.path / "home")


def _connect(url: str, settings: ClientSettings) -> ClientAPI:
    """A client of a server; it has no time limit, so the server is checked first."""
    seconds, token = request_timeout(), secret_for("CHROMA_TOKEN", Destination(url, SettingSource.EXPERIMENT))
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    limit = httpx.Timeout(seconds, connect=min(CONNECTING, seconds))
    with httpx.Client(transport=BoundedTransport(url, seconds), headers=headers, timeout=limit) as first:
        first.get(f"{url.rstrip('/')}/api/v2/heartbeat")
    client = chromadb.HttpClient(url, headers=headers, settings=settings)
    client._server._session.timeout = limit
    client._server._session._transport = BoundedTransport(url, seconds)
    return client


def filter_of(store: PayloadSchemaMixin, where: Where) -> JsonObject | None:
    """A filter in Chroma's language."""
    parts = [
        {term.field: {SIGNS[term.sign]: list(term.values) if term.sign == "in" else term.values[0]}}
        for term in terms(store.fields, where)
    ]
    return {"$and": parts} if len(parts) > 1 else next(iter(parts), None)


def answers(found: Mapping[str, Json], metric: Metric) -> list[Hits]:
    """The rows found for each vector, in plain Python: for a few rows, faster than arrays."""
    top = 0.0 if metric is Metric.L2 else 1.0
    pairs = zip(found["ids"], found["distances"], strict=True)
    return [_hits(ids, [top - one for one in far]) for ids, far in pairs]


def _hits(ids: list[str], scores: list[float]) -> Hits:
    rows = len(ids)
    return Hits(np.fromiter(map(int, ids), INTEGER, rows), np.fromiter(scores, FLOAT, rows))


SPACES = {Metric.COSINE: "cosine", Metric.DOT: "ip", Metric.L2: "l2"}


@translate_server_errors("Chroma", ChromaError, HTTPError, ValueError, OSError)
class ChromaStore(PayloadSchemaMixin):
    """Chroma embedded in a folder, or by URL; a reopened embedded index is a copy, and the original stays
    unchanged."""

    version: ClassVar[str] = "2"
    Params = ChromaParams
    Query = NoQuery
    gaps: ClassVar[dict[str, str]] = VECTORS_ONLY | NO_LIMIT | FLOAT32_ONLY

    @classmethod
    def guarantees(cls, params: ChromaParams, query: NoQuery) -> tuple[Guarantee, ...]:  # noqa: ARG003
        """How often the graph is saved."""
        return (guarantee("durability", "build.sync_threshold", params.build),)

    def __init__(self, params: ChromaParams, home: Path) -> None:
        self._build, self._connection = params.build, ChromaConnection(params.url, home)
        self._metric, self._dims, self._rows = Metric.COSINE, 0, 0
        self._collection: Any = None
        self._existing = ExistingCollection("")

    def engine_version(self) -> str:
        return self._connection.version()

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        client, build = self._connection.begin(), self._build
        self._metric, self._dims, self._rows = metric, dims, 0
        self._connection.drop(PREFIX + collection)
        shape = {"space": SPACES[metric], "max_neighbors": build.m}
        shape |= {"ef_construction": build.ef_construction, "ef_search": build.ef_search}
        shape |= {"sync_threshold": build.sync_threshold}
        settings = {"configuration": {"hnsw": shape}, "embedding_function": None}
        self._collection = client.create_collection(PREFIX + collection, **settings)

    def collections(self) -> list[str]:
        return self._connection.collections()

    def drop(self, collection: str) -> None:
        self._connection.drop(PREFIX + collection)

    def insert(self, batch: Batch) -> None:
        self._write(self._collection.add, batch)
        self._rows += len(batch.ids)

    def replace(self, batch: Batch) -> None:
        self._write(self._collection.update, batch)

    def ready(self) -> None:
        """Search once: the engine then moves its log into the graph before it answers."""
        expect_rows("Chroma", self._collection.count(), self._rows)
        self.search(np.ones(self._dims, np.float32), 1, NoQuery())

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._metric, self._dims, client = metric, dims, self._connection.begin(copy=True)
        self._collection = client.get_collection(PREFIX + collection, embedding_function=None)
        self._rows = self._collection.count()
        if self._rows:
            expect_dims("Chroma", len(self._collection.peek(1)["embeddings"][0]), dims)
        self.ready()
        return self._rows

    def open_existing(self, collection: ExistingCollection, metric: Metric) -> CollectionFacts:
        """Open an existing collection; Chroma keeps one unnamed vector per row."""
        client, self._existing = self._connection.begin(), collection
        known = [one.name for one in client.list_collections()]
        if collection.name not in known:
            raise no_such_collection("Chroma", collection.name, known)
        self._collection = client.get_collection(collection.name, embedding_function=None)
        rows, first = self._collection.count(), self._collection.peek(SAMPLED)
        self.adopt({one.name: one for one in sampled_fields(one or {} for one in first["metadatas"])})
        space = (self._collection.configuration_json.get("hnsw") or {}).get("space")
        held = metric_of("Chroma", SPACES, space)
        self._metric = held or metric
        return CollectionFacts(rows, len(first["embeddings"][0]) if rows else 0, held)

    def search_existing(self, vector: np.ndarray, k: int, query: NoQuery, where: Where = ()) -> NamedHits:
        found = self._collection.query(
            [vector], n_results=k, include=[*FAR, "metadatas"], where=filter_of(self, where)
        )
        top = 0.0 if self._metric is Metric.L2 else 1.0
        ids = self._names(found["ids"][0], found["metadatas"][0])
        return named_hits(ids, (top - far for far in found["distances"][0]))

    def read_existing(self, where: Where = (), after: object = None) -> NamedVectors:
        begin = int(str(after or 0))
        found = self._collection.get(
            where=filter_of(self, where), limit=READ_ROWS, offset=begin, include=["embeddings", "metadatas"]
        )
        names = self._names(found["ids"], found["metadatas"])
        return named_vectors(
            names, found["embeddings"], begin + READ_ROWS if len(names) == READ_ROWS else None
        )

    def _names(self, ids: list[str], metadatas: list[JsonObject | None]) -> list[str]:
        """Ids of rows, or values of the id payload field."""
        field = self._existing.id_field
        return [payload_id("Chroma", one, field) for one in metadatas] if field else ids

    def search(self, vector: np.ndarray, k: int, query: NoQuery) -> Hits:
        return self._nearest([vector], k)[0]

    def search_many(self, vectors: np.ndarray, k: int, query: NoQuery) -> list[Hits]:
        return self._nearest(list(vectors), k) if len(vectors) else []

    def search_where(self, vector: np.ndarray, k: int, query: NoQuery, where: Where) -> Hits:
        return self._nearest([vector], k, where=filter_of(self, where))[0]

    def _nearest(self, vectors: list[np.ndarray], k: int, **among: Any) -> list[Hits]:
        collection = require_open("Chroma", self._collection)
        return answers(collection.query(vectors, n_results=k, include=FAR, **among), self._metric)

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        found = self._collection.get([str(number) for number in ids], include=["metadatas"])
        return in_order(ids, dict(zip(map(int, found["ids"]), found["metadatas"], strict=True)))

    def delete(self, ids: np.ndarray) -> None:
        self._collection.delete([str(number) for number in ids])

    def close(self) -> None:
        self._connection.close()
        self._collection = None

    def _write(self, call: Callable[..., None], batch: Batch) -> None:
        assert batch.vectors is not None
        part = self._connection.most()
        for begin in range(0, len(batch.ids), part):
            rows = slice(begin, begin + part)
            more = {"metadatas": batch.payloads[rows]} if batch.payloads and self.fields else {}
            call([str(number) for number in batch.ids[rows]], batch.vectors[rows], **more)
