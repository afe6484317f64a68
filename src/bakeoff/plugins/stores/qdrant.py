"""Qdrant: its Rust engine embedded as an edge shard, or a server by URL."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from pydantic import model_validator

from bakeoff.consent import secret_for
from bakeoff.plugins.stores._base import GraphBuild, GraphQuery, Settings, TunedByEf, installed
from bakeoff.plugins.stores._payload import VECTORS_ONLY, Payload
from bakeoff.plugins.stores._qdrant_edge import Edge
from bakeoff.plugins.stores._server import ServerUrl, Spread, given_server, whole
from bakeoff.types import Batch, Hits, Metric, PayloadField, Where


class Build(GraphBuild, Spread):
    """What shapes the graph; a server's collection may be spread over its nodes."""


class QdrantParams(Settings):
    """Where Qdrant is (QDRANT_URL) and how its index is built; a server's key comes from QDRANT_API_KEY."""

    url: ServerUrl = None
    build: Build = Build()

    @model_validator(mode="after")
    def _spread(self) -> Self:
        whole("url", self.url, self.build)
        return self


class QdrantStore(TunedByEf):
    """Qdrant embedded (an edge shard in the folder), or by URL: not run here."""

    version: ClassVar[str] = "2"
    Params = QdrantParams
    Query = GraphQuery
    gaps: ClassVar[dict[str, str]] = {
        **VECTORS_ONLY,
        "dims limit": "the embedded engine names none; a server's is 65,536",
        "clients": "embedded, one process has the folder; a server takes many",
    }

    def __init__(self, params: QdrantParams, home: Path) -> None:
        build = params.build
        server = given_server(params.url, "QDRANT_URL")
        if server is not None:
            from bakeoff.plugins.stores._qdrant_server import Server

            key = secret_for("QDRANT_API_KEY", server)
            self._engine: Edge | Server = Server(server.url, key, build, build)
        else:
            self._engine = Edge(home, m=build.m, ef_construction=build.ef_construction)

    def engine_version(self) -> str:
        engine = self._engine
        return installed("qdrant-edge-py") if isinstance(engine, Edge) else engine.version()

    def declare(self, fields: tuple[PayloadField, ...]) -> None:
        self._engine.declare(fields)

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._engine.create(collection, dims, metric)

    def collections(self) -> list[str]:
        return [] if isinstance(self._engine, Edge) else self._engine.collections()

    def drop(self, collection: str) -> None:
        if not isinstance(self._engine, Edge):
            self._engine.drop(collection)

    def insert(self, batch: Batch) -> None:
        self._engine.insert(batch)

    def ready(self) -> None:
        self._engine.ready()

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        return int(self._engine.open(collection, dims, metric))

    def search(self, vector: np.ndarray, k: int, query: GraphQuery) -> Hits:
        return self._engine.search(vector, k, query.ef)

    def search_many(self, vectors: np.ndarray, k: int, query: GraphQuery) -> list[Hits]:
        return self._engine.search_many(vectors, k, query.ef)

    def search_where(self, vector: np.ndarray, k: int, query: GraphQuery, where: Where) -> Hits:
        return self._engine.search(vector, k, query.ef, where)

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        return self._engine.payloads(ids)

    def replace(self, batch: Batch) -> None:
        self._engine.replace(batch)

    def delete(self, ids: np.ndarray) -> None:
        self._engine.delete(ids)

    def close(self) -> None:
        self._engine.close()
