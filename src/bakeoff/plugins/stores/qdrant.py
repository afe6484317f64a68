"""Qdrant: its Rust engine embedded as an edge shard, or a server by URL."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Protocol, Self

import numpy as np
import qdrant_edge as edge
from pydantic import Field, model_validator

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import (
    GraphBuild,
    GraphQuery,
    Settings,
    TunedByEf,
    guarantee,
    installed_engine,
    make_hits,
)
from bakeoff.plugins.kit.payload import VECTORS_ONLY, Payload, PayloadSchemaMixin, Term, in_order, terms
from bakeoff.plugins.kit.server import (
    ServerUrl,
    ShardSettings,
    given_server,
    require_server,
    translate_server_errors,
)
from bakeoff.protocols import Guarantee
from bakeoff.storage.consent import secret_for
from bakeoff.types import Batch, Hits, Metric, PayloadField, Where

if TYPE_CHECKING:
    from bakeoff.plugins.stores._qdrant_server import QdrantServer

THRESHOLD_KB = 1  # the minimum: a segment with fewer kilobytes of vectors is never indexed; 0 means no index
Distance, Kind = edge.Distance, edge.PayloadSchemaType
DISTANCES = {Metric.COSINE: Distance.Cosine, Metric.DOT: Distance.Dot, Metric.L2: Distance.Euclid}
INDEXES = {"text": Kind.Keyword, "integer": Kind.Integer, "number": Kind.Float}
Condition = Any
"""A condition as the edge shard or the server's client has it."""


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


class FilterWords(Protocol):
    """How the edge shard or the server's client writes a condition; the bounds of `between` are included."""

    def among(self, field: str, values: list[str] | list[int]) -> Condition: ...
    def between(self, field: str, least: float | None, most: float | None) -> Condition: ...
    def any(self, conditions: list[Condition]) -> Condition: ...
    def all(self, conditions: list[Condition]) -> Condition: ...


def filter_of(store: PayloadSchemaMixin, where: Where, words: FilterWords) -> Condition:
    """A filter; numbers are compared by bounds, since only texts and integers can be matched."""
    return words.all([_condition(term, words) for term in terms(store.fields, where)])


def _condition(term: Term, words: FilterWords) -> Condition:
    if term.sign != "in":
        value = term.values[0]
        return words.between(term.field, *((value, None) if term.sign == ">=" else (None, value)))
    if term.kind == "number":
        return words.any([words.between(term.field, value, value) for value in term.values])
    return words.among(term.field, list(term.values))


class EdgeWords:
    """Conditions as the edge shard takes them."""

    def among(self, field: str, values: list[str] | list[int]) -> Condition:
        return edge.FieldCondition(field, match=edge.MatchAny(values))

    def between(self, field: str, least: float | None, most: float | None) -> Condition:
        return edge.FieldCondition(field, range=edge.RangeFloat(gte=least, lte=most))

    def any(self, conditions: list[Condition]) -> Condition:
        return edge.Filter(should=conditions)

    def all(self, conditions: list[Condition]) -> Condition:
        return edge.Filter(must=conditions)


@translate_server_errors("Qdrant", Exception)  # the binding raises plain exceptions for engine errors
class Edge(PayloadSchemaMixin):
    """One edge shard for each collection; declared payload fields are indexed, as the graph then knows them."""

    def __init__(self, home: Path, build: Build) -> None:
        self._home, self._build = home, build
        self._folder, self._dims, self._rows, self._metric = home, 0, 0, Metric.COSINE
        self._shard: edge.EdgeShard | None = None

    def version(self) -> str:
        return installed_engine("qdrant-edge-py")

    def collections(self) -> list[str]:
        return []

    def drop(self, collection: str) -> None:
        """Nothing: the folder belongs to one run."""

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self.close()
        self._folder, self._dims, self._rows, self._metric = self._home / collection, dims, 0, metric
        shutil.rmtree(self._folder, ignore_errors=True)
        m, ef_construction = self._build.m, self._build.ef_construction
        graph = edge.HnswIndexConfig(m, ef_construction, full_scan_threshold=THRESHOLD_KB)
        config = edge.EdgeConfig(
            vectors=edge.EdgeVectorParams(size=dims, distance=DISTANCES[metric]),
            hnsw_config=graph,
            optimizers=edge.EdgeOptimizersConfig(indexing_threshold=THRESHOLD_KB),
        )
        self._shard = edge.EdgeShard.create(str(self._folder), config)
        for field in self.fields:
            self._shard.update(edge.UpdateOperation.create_field_index(field.name, INDEXES[field.kind]))

    def insert(self, batch: Batch) -> None:
        self.replace(batch)
        self._rows += len(batch.ids)

    def replace(self, batch: Batch) -> None:
        assert self._shard is not None and batch.vectors is not None
        mine = batch.payloads if batch.payloads and self.fields else [{}] * len(batch.ids)
        rows = zip(batch.ids.tolist(), batch.vectors.tolist(), mine, strict=True)
        points = [edge.Point(number, row, payload) for number, row, payload in rows]
        self._shard.update(edge.UpdateOperation.upsert_points(points))

    def ready(self) -> None:
        assert self._shard is not None
        self._shard.optimize()
        self._shard.flush()
        self._shard.close()
        self._load()  # completes the files the first time, so that later openings find and leave them as they are
        self._assert_indexed()

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._folder, self._dims, self._metric = self._home / collection, dims, metric
        self._rows = self._load()
        self.search(np.zeros(dims, np.float32), 1, QdrantQuery(ef=1))  # a shard refuses another dimension
        self._assert_indexed()
        return self._rows

    def search(self, vector: np.ndarray, k: int, query: QdrantQuery, where: Where = ()) -> Hits:
        assert self._shard is not None
        nearest = edge.Query.Nearest(vector.tolist())
        among = filter_of(self, where, EdgeWords()) if where else None
        how = edge.SearchParams(hnsw_ef=max(query.ef, k))
        return self._answer(self._shard.search(edge.SearchRequest(nearest, k, filter=among, params=how)))

    def search_many(self, vectors: np.ndarray, k: int, query: QdrantQuery) -> list[Hits]:
        assert self._shard is not None
        how = edge.SearchParams(hnsw_ef=max(query.ef, k))
        asked = [edge.QueryRequest(k, query=edge.Query.Nearest(row), params=how) for row in vectors.tolist()]
        return [self._answer(found) for found in self._shard.query_batch(edge.QueryBatchRequest(asked))]

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        assert self._shard is not None
        found: Any = self._shard.retrieve(ids.tolist(), True, False)
        return in_order(ids, {point.id: point.payload for point in found})

    def delete(self, ids: np.ndarray) -> None:
        assert self._shard is not None
        self._shard.update(edge.UpdateOperation.delete_points(ids.tolist()))
        self._shard.flush()

    def close(self) -> None:
        if self._shard is not None:
            self._shard.close()
        self._shard = None

    def _answer(self, found: list[Any]) -> Hits:
        scores = np.array([point.score for point in found], np.float64)
        return make_hits([point.id for point in found], -(scores**2) if self._metric is Metric.L2 else scores)

    def _load(self) -> int:
        self._shard = edge.EdgeShard.load(str(self._folder))
        return int(self._shard.count(edge.CountRequest(exact=True)))

    def _assert_indexed(self) -> None:
        assert self._shard is not None
        state = self._shard.info()
        small = self._rows * self._dims * 4 <= THRESHOLD_KB * 1024
        if state.points_count != self._rows or not (small or state.indexed_vectors_count >= self._rows):
            raise StoreError(
                f"Qdrant holds {state.points_count} of {self._rows} rows, {state.indexed_vectors_count} of them "
                "in its HNSW index."
            )


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
