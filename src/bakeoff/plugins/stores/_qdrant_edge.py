"""Qdrant's engine inside this process: an edge shard, the Rust code of the server without the server."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import qdrant_edge as edge

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import make_hits, translate_errors
from bakeoff.plugins.kit.payload import Payload, PayloadSchemaMixin, in_order
from bakeoff.plugins.stores._qdrant_filter import filter_of
from bakeoff.types import Batch, Hits, Metric, Where

THRESHOLD_KB = (
    1  # the least there is: a segment with fewer kilobytes of vectors is never indexed; 0: no index
)
DISTANCES = {
    Metric.COSINE: edge.Distance.Cosine,
    Metric.DOT: edge.Distance.Dot,
    Metric.L2: edge.Distance.Euclid,
}


INDEXES = {
    "text": edge.PayloadSchemaType.Keyword,
    "integer": edge.PayloadSchemaType.Integer,
    "number": edge.PayloadSchemaType.Float,
}
ENGINE = translate_errors("Qdrant", Exception)  # the binding raises no other for what the engine says


class EdgeWords:
    """Conditions as the edge shard takes them."""

    def among(self, field: str, values: list[Any]) -> Any:
        return edge.FieldCondition(field, match=edge.MatchAny(values))

    def between(self, field: str, least: float | None, most: float | None) -> Any:
        return edge.FieldCondition(field, range=edge.RangeFloat(gte=least, lte=most))

    def any(self, conditions: list[Any]) -> Any:
        return edge.Filter(should=conditions)

    def all(self, conditions: list[Any]) -> Any:
        return edge.Filter(must=conditions)


class Edge(PayloadSchemaMixin):
    """One edge shard for each collection; declared payload fields are indexed, as the graph then knows them."""

    def __init__(self, home: Path, *, m: int, ef_construction: int) -> None:
        self._home, self._m, self._ef_construction = home, m, ef_construction
        self._folder, self._dims, self._rows, self._metric = home, 0, 0, Metric.COSINE
        self._shard: edge.EdgeShard | None = None

    @ENGINE
    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self.close()
        self._folder, self._dims, self._rows, self._metric = self._home / collection, dims, 0, metric
        shutil.rmtree(self._folder, ignore_errors=True)
        graph = edge.HnswIndexConfig(self._m, self._ef_construction, full_scan_threshold=THRESHOLD_KB)
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

    @ENGINE
    def replace(self, batch: Batch) -> None:
        assert self._shard is not None and batch.vectors is not None
        mine = batch.payloads if batch.payloads and self.fields else [{}] * len(batch.ids)
        rows = zip(batch.ids.tolist(), batch.vectors.tolist(), mine, strict=True)
        points = [edge.Point(number, row, payload) for number, row, payload in rows]
        self._shard.update(edge.UpdateOperation.upsert_points(points))

    @ENGINE
    def ready(self) -> None:
        assert self._shard is not None
        self._shard.optimize()
        self._shard.flush()
        self._shard.close()
        self._load()  # completes the files the first time, so that later openings find and leave them as they are
        self._assert_indexed()

    @ENGINE
    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._folder, self._dims, self._metric = self._home / collection, dims, metric
        self._rows = self._load()
        self.search(np.zeros(dims, np.float32), 1, 1)  # a shard tells its dimension only by refusing another
        self._assert_indexed()
        return self._rows

    @ENGINE
    def search(self, vector: np.ndarray, k: int, ef: int, where: Where | None = None) -> Hits:
        assert self._shard is not None
        nearest, among = (
            edge.Query.Nearest(vector.tolist()),
            filter_of(self, where, EdgeWords()) if where else None,
        )
        how = edge.SearchParams(hnsw_ef=max(ef, k))
        return self._answer(self._shard.search(edge.SearchRequest(nearest, k, filter=among, params=how)))

    @ENGINE
    def search_many(self, vectors: np.ndarray, k: int, ef: int) -> list[Hits]:
        assert self._shard is not None
        how = edge.SearchParams(hnsw_ef=max(ef, k))
        asked = [edge.QueryRequest(k, query=edge.Query.Nearest(row), params=how) for row in vectors.tolist()]
        return [self._answer(found) for found in self._shard.query_batch(edge.QueryBatchRequest(asked))]

    @ENGINE
    def payloads(self, ids: np.ndarray) -> list[Payload]:
        assert self._shard is not None
        found: Any = self._shard.retrieve(ids.tolist(), True, False)
        return in_order(ids, {point.id: point.payload for point in found})

    @ENGINE
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
