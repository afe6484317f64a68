"""Qdrant: its Rust engine embedded as an edge shard, or a server by URL."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from bakeoff.plugins.kit.adapter import (
    GraphBuild,
    GraphQuery,
    Settings,
    TunedByEf,
    guarantee,
    installed_engine,
)
from bakeoff.plugins.kit.payload import VECTORS_ONLY, Payload
from bakeoff.plugins.kit.server import ServerUrl, ShardSettings, given_server, require_server
from bakeoff.plugins.stores._qdrant_edge import Edge
from bakeoff.protocols import Guarantee
from bakeoff.storage.consent import secret_for
from bakeoff.types import Batch, Hits, Metric, PayloadField, Where


class Build(GraphBuild, ShardSettings):
    """What shapes the graph; a server's collection may be spread over its nodes."""

    wait: Annotated[
        bool, Field(description="server: a write is answered when it is applied, not when it is in the log")
    ] = True
    write_consistency_factor: Annotated[
        int, Field(ge=1, description="server: copies that must confirm a write")
    ] = 1


class QdrantQuery(GraphQuery):
    """What shapes a search."""

    consistency: Annotated[
        Literal["one", "majority", "quorum", "all"],
        Field(description="server: copies of a shard whose answers are compared"),
    ] = "one"


class QdrantParams(Settings):
    """Where Qdrant is (QDRANT_URL) and how its index is built; a server's key comes from QDRANT_API_KEY."""

    url: ServerUrl = None
    build: Build = Build()

    @model_validator(mode="after")
    def _spread(self) -> Self:
        require_server("url", self.url, self.build)
        return self


class QdrantStore(TunedByEf):
    """Qdrant embedded (an edge shard in the folder), or by URL: not run here."""

    version: ClassVar[str] = "2"
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
        build = params.build
        server = given_server(params.url, "QDRANT_URL")
        if server is not None:
            from bakeoff.plugins.stores._qdrant_server import QdrantServer, Writing

            key = secret_for("QDRANT_API_KEY", server)
            self._engine: Edge | QdrantServer = QdrantServer(
                server.url, key, build, build, Writing(build.wait, build.write_consistency_factor)
            )
        else:
            self._engine = Edge(home, m=build.m, ef_construction=build.ef_construction)

    def engine_version(self) -> str:
        engine = self._engine
        return installed_engine("qdrant-edge-py") if isinstance(engine, Edge) else engine.version()

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

    def search(self, vector: np.ndarray, k: int, query: QdrantQuery) -> Hits:
        return self._nearest(vector, k, query)

    def search_many(self, vectors: np.ndarray, k: int, query: QdrantQuery) -> list[Hits]:
        engine = self._engine
        if isinstance(engine, Edge):
            return engine.search_many(vectors, k, query.ef)
        return engine.search_many(vectors, k, query.ef, query.consistency)

    def search_where(self, vector: np.ndarray, k: int, query: QdrantQuery, where: Where) -> Hits:
        return self._nearest(vector, k, query, where)

    def _nearest(self, vector: np.ndarray, k: int, query: QdrantQuery, where: Where | None = None) -> Hits:
        engine = self._engine
        if isinstance(engine, Edge):
            return engine.search(vector, k, query.ef, where)
        return engine.search(vector, k, query.ef, where, query.consistency)

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        return self._engine.payloads(ids)

    def replace(self, batch: Batch) -> None:
        self._engine.replace(batch)

    def delete(self, ids: np.ndarray) -> None:
        self._engine.delete(ids)

    def close(self) -> None:
        self._engine.close()
