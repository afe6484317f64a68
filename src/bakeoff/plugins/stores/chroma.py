"""Chroma: embedded in this process, or a server by URL."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from chromadb.errors import ChromaError
from httpx import HTTPError

from bakeoff.plugins.kit.adapter import NoQuery, expect_dims, expect_rows, guarantee, require_open
from bakeoff.plugins.kit.payload import NO_LIMIT, VECTORS_ONLY, Payload, PayloadSchemaMixin, in_order
from bakeoff.plugins.kit.server import PREFIX, translate_server_errors
from bakeoff.plugins.stores._chroma_client import FAR, ChromaConnection, ChromaParams, answers, filter_of
from bakeoff.protocols import Guarantee
from bakeoff.types import Batch, Hits, Metric, Where

SPACES = {Metric.COSINE: "cosine", Metric.DOT: "ip", Metric.L2: "l2"}


@translate_server_errors("Chroma", ChromaError, HTTPError, ValueError, OSError)
class ChromaStore(PayloadSchemaMixin):
    """Chroma embedded in a folder, or by URL; embedded, an index opened again is a copy, and the one built stays."""

    version: ClassVar[str] = "2"
    Params = ChromaParams
    Query = NoQuery
    gaps: ClassVar[dict[str, str]] = VECTORS_ONLY | NO_LIMIT

    @classmethod
    def guarantees(cls, params: ChromaParams, query: NoQuery) -> tuple[Guarantee, ...]:  # noqa: ARG003
        """How often the graph is saved."""
        return (guarantee("durability", "build.sync_threshold", params.build),)

    def __init__(self, params: ChromaParams, home: Path) -> None:
        self._build, self._connection = params.build, ChromaConnection(params.url, home)
        self._metric, self._dims, self._rows = Metric.COSINE, 0, 0
        self._collection: Any = None

    def engine_version(self) -> str:
        return self._connection.version()

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        client, build = self._connection.begin(), self._build
        self._metric, self._dims, self._rows = metric, dims, 0
        self._connection.drop(PREFIX + collection)
        shape = {"space": SPACES[metric], "max_neighbors": build.m}
        shape |= {"ef_construction": build.ef_construction, "ef_search": build.ef_search}
        shape |= {"sync_threshold": build.sync_threshold}
        made = {"configuration": {"hnsw": shape}, "embedding_function": None}
        self._collection = client.create_collection(PREFIX + collection, **made)

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
        """The engine puts what is still in its log into the graph before it answers, so one search makes it whole."""
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

    def _write(self, call: Any, batch: Batch) -> None:
        assert batch.vectors is not None
        part = self._connection.most()
        for begin in range(0, len(batch.ids), part):
            rows = slice(begin, begin + part)
            more = {"metadatas": batch.payloads[rows]} if batch.payloads and self.fields else {}
            call([str(number) for number in batch.ids[rows]], batch.vectors[rows], **more)
