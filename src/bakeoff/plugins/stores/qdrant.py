"""Qdrant: its Rust engine embedded as an edge shard, or a server by URL."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from pydantic import model_validator

from bakeoff.plugins.kit.adapter import Settings, SmallVectors, TunedByEf, guarantee
from bakeoff.plugins.kit.payload import VECTORS_ONLY, Payload
from bakeoff.plugins.kit.server import ServerUrl, given_server, require_server
from bakeoff.plugins.stores._qdrant_edge import QUANTISED, Build, Edge, QdrantQuery
from bakeoff.protocols import Guarantee
from bakeoff.storage.consent import secret_for
from bakeoff.types import (
    Batch,
    CollectionFacts,
    ExistingCollection,
    Hits,
    Metric,
    NamedHits,
    NamedVectors,
    PayloadField,
    SparseVector,
    Storage,
    VectorKind,
    Where,
)

if TYPE_CHECKING:
    from bakeoff.plugins.stores._qdrant_server import QdrantServer


class QdrantParams(Settings):
    """Where Qdrant is (QDRANT_URL) and how its index is built; a server's key comes from QDRANT_API_KEY."""

    url: ServerUrl = None
    build: Build = Build()

    @model_validator(mode="after")
    def _spread(self) -> Self:
        require_server("url", self.url, self.build)
        return self


class QdrantStore(TunedByEf, SmallVectors):
    """Qdrant embedded (an edge shard in the folder), or by URL.

    Its int8 and binary quantisation also keeps the full vectors and rescores by them; float16 replaces them.
    """

    version: ClassVar[str] = "2"
    storages = ("float16", "int8", "binary")
    rescores: ClassVar[tuple[Storage, ...]] = QUANTISED
    Params = QdrantParams
    Query = QdrantQuery
    gaps: ClassVar[dict[str, str]] = {
        **VECTORS_ONLY,
        "dims limit": "the embedded engine names none; a server's is 65,536",
        "clients": "embedded, one process has the folder; a server takes many",
    }

    @classmethod
    def guarantees(cls, params: QdrantParams, query: QdrantQuery) -> tuple[Guarantee, ...]:
        """What a server's writes and searches wait for; embedded there is one copy, written at once."""
        if given_server(params.url, "QDRANT_URL") is None:
            return ()
        return (
            guarantee("consistency", "query.consistency", query),
            guarantee("consistency", "build.write_consistency_factor", params.build),
            guarantee("durability", "build.wait", params.build),
        )

    def __init__(self, params: QdrantParams, home: Path) -> None:
        server = given_server(params.url, "QDRANT_URL")
        self._engine: Edge | QdrantServer
        if server is not None:
            from bakeoff.plugins.stores._qdrant_server import QdrantServer  # its client is slow to import

            self._engine = QdrantServer(server.url, secret_for("QDRANT_API_KEY", server), params.build)
        else:
            self._engine = Edge(home, params.build)

    def engine_version(self) -> str:
        return self._engine.version()

    def declare(self, fields: tuple[PayloadField, ...]) -> None:
        self._engine.declare(fields)

    def set_storage(self, storage: Storage) -> None:
        super().set_storage(storage)
        self._engine.storage = storage

    def search_rescored(
        self, vector: np.ndarray, k: int, query: QdrantQuery, candidates: int, where: Where = ()
    ) -> Hits:
        return self._engine.search(vector, k, query, where, candidates)

    def hold(self, kind: VectorKind) -> None:
        self._engine.hold(kind)

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._engine.create(collection, dims, metric)

    def collections(self) -> list[str]:
        return self._engine.collections()

    def drop(self, collection: str) -> None:
        self._engine.drop(collection)

    def insert(self, batch: Batch) -> None:
        self._engine.insert(batch)

    def ready(self) -> None:
        self._engine.ready()

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        return self._engine.open(collection, dims, metric)

    def search(self, vector: np.ndarray, k: int, query: QdrantQuery) -> Hits:
        return self._engine.search(vector, k, query)

    def search_sparse(self, vector: SparseVector, k: int, query: QdrantQuery, where: Where = ()) -> Hits:
        return self._engine.search_sparse(vector, k, query, where)

    def search_tokens(self, tokens: np.ndarray, k: int, query: QdrantQuery, where: Where = ()) -> Hits:
        return self._engine.search_tokens(tokens, k, query, where)

    def open_existing(self, collection: ExistingCollection, metric: Metric) -> CollectionFacts:
        return self._engine.open_existing(collection, metric)

    def search_existing(self, vector: np.ndarray, k: int, query: QdrantQuery, where: Where = ()) -> NamedHits:
        return self._engine.search_existing(vector, k, query, where)

    def read_existing(self, where: Where = (), after: object = None) -> NamedVectors:
        return self._engine.read_existing(where, after)

    def search_many(self, vectors: np.ndarray, k: int, query: QdrantQuery) -> list[Hits]:
        return self._engine.search_many(vectors, k, query)

    def search_where(self, vector: np.ndarray, k: int, query: QdrantQuery, where: Where) -> Hits:
        return self._engine.search(vector, k, query, where)

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        return self._engine.payloads(ids)

    def replace(self, batch: Batch) -> None:
        self._engine.replace(batch)

    def delete(self, ids: np.ndarray) -> None:
        self._engine.delete(ids)

    def close(self) -> None:
        self._engine.close()
