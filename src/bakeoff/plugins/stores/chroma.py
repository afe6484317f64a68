"""Chroma: embedded in this process, or a server by URL."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Annotated, Any, ClassVar

import chromadb
import numpy as np
from chromadb.api import ClientAPI
from chromadb.config import Settings as ClientSettings
from chromadb.errors import ChromaError
from httpx import HTTPError
from pydantic import Field

from bakeoff.plugins.stores._base import (
    GraphBuild,
    NoQuery,
    Settings,
    expect_rows,
    hits,
    nearness,
    translated,
)
from bakeoff.types import Batch, Hits, Metric

ERRORS = (ChromaError, HTTPError, ValueError, OSError)
SPACES = {Metric.COSINE: "cosine", Metric.DOT: "ip", Metric.L2: "l2"}


class Build(GraphBuild):
    """What shapes the graph, and its search: the engine reads ef_search once, when a collection is opened."""

    ef_search: Annotated[int, Field(ge=1, description="candidates kept")] = 64


class ChromaParams(Settings):
    """Where Chroma is and how its index is built; a server's token comes from CHROMA_TOKEN."""

    url: Annotated[str | None, Field(description="a server; None: embedded")] = None
    build: Build = Build()


class ChromaStore:
    """Chroma embedded in a folder, or by URL.

    Opening a Chroma folder writes into it: an index opened again is a copy, and what was built stays as it is.
    """

    version: ClassVar[str] = "1"
    Params = ChromaParams
    Query = NoQuery

    def __init__(self, params: ChromaParams, home: Path) -> None:
        self._params, self._home = params, home
        self._metric, self._dims, self._rows = Metric.COSINE, 0, 0
        self._client: ClientAPI | None = None
        self._collection: Any = None
        self._copy: tempfile.TemporaryDirectory[str] | None = None

    @translated("Chroma", *ERRORS)
    def create(self, collection: str, dims: int, metric: Metric) -> None:
        name, build = f"bakeoff_{collection}", self._params.build
        client = self._connect(self._home)
        self._metric, self._dims, self._rows = metric, dims, 0
        if name in [known.name for known in client.list_collections()]:
            client.delete_collection(name)
        shape = {"space": SPACES[metric], "max_neighbors": build.m}
        shape |= {"ef_construction": build.ef_construction, "ef_search": build.ef_search}
        made = {"configuration": {"hnsw": shape}, "embedding_function": None}
        self._collection = client.create_collection(name, **made)

    @translated("Chroma", *ERRORS)
    def insert(self, batch: Batch) -> None:
        assert self._client is not None and batch.vectors is not None
        part = self._client.get_max_batch_size()
        for begin in range(0, len(batch.ids), part):
            rows = slice(begin, begin + part)
            self._collection.add([str(number) for number in batch.ids[rows]], embeddings=batch.vectors[rows])
        self._rows += len(batch.ids)

    @translated("Chroma", *ERRORS)
    def ready(self) -> None:
        """The engine puts what is still in its log into the graph before it answers, so one search makes it whole."""
        expect_rows("Chroma", self._collection.count(), self._rows)
        self.search(np.ones(self._dims, np.float32), 1, NoQuery())

    @translated("Chroma", *ERRORS)
    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._metric, self._dims, home = metric, dims, self._home
        if not self._params.url:
            self._copy = tempfile.TemporaryDirectory(prefix="bakeoff-chroma-")
            home = shutil.copytree(self._home, Path(self._copy.name) / "home")
        name = f"bakeoff_{collection}"
        self._collection = self._connect(home).get_collection(name, embedding_function=None)
        self._rows = self._collection.count()
        self.ready()
        return self._rows

    @translated("Chroma", *ERRORS)
    def search(self, vector: np.ndarray, k: int, query: NoQuery) -> Hits:
        found = self._collection.query(query_embeddings=[vector], n_results=k, include=["distances"])
        scores = nearness(found["distances"][0], self._metric)
        return hits([int(number) for number in found["ids"][0]], scores)

    @translated("Chroma", *ERRORS)
    def delete(self, ids: np.ndarray) -> None:
        self._collection.delete([str(number) for number in ids])

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
        if self._copy is not None:
            self._copy.cleanup()
        self._client = self._collection = self._copy = None

    def _connect(self, home: Path) -> ClientAPI:
        quiet = ClientSettings(anonymized_telemetry=False)
        if self._params.url:
            token = os.environ.get("CHROMA_TOKEN")
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            self._client = chromadb.HttpClient(self._params.url, headers=headers, settings=quiet)
        else:
            self._client = chromadb.PersistentClient(path=home, settings=quiet)
        return self._client
