"""Qdrant's engine inside this process: an edge shard, the Rust code of the server without the server."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import qdrant_edge as edge

from bakeoff.errors import StoreError
from bakeoff.plugins.stores._base import hits, translated
from bakeoff.types import Batch, Hits, Metric

THRESHOLD_KB = (
    1  # the least there is: a segment with fewer kilobytes of vectors is never indexed; 0 means no index
)
DISTANCES = {
    Metric.COSINE: edge.Distance.Cosine,
    Metric.DOT: edge.Distance.Dot,
    Metric.L2: edge.Distance.Euclid,
}


class Edge:
    """One edge shard for each collection; the binding raises plain Exception for everything the engine says."""

    def __init__(self, home: Path, *, m: int, ef_construction: int) -> None:
        self._home, self._m, self._ef_construction = home, m, ef_construction
        self._folder, self._dims, self._rows, self._metric = home, 0, 0, Metric.COSINE
        self._shard: edge.EdgeShard | None = None

    @translated("Qdrant", Exception)
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

    @translated("Qdrant", Exception)
    def insert(self, batch: Batch) -> None:
        assert self._shard is not None and batch.vectors is not None
        rows = zip(batch.ids.tolist(), batch.vectors.tolist(), strict=True)
        points = [edge.Point(number, row, {}) for number, row in rows]
        self._shard.update(edge.UpdateOperation.upsert_points(points))
        self._rows += len(batch.ids)

    @translated("Qdrant", Exception)
    def ready(self) -> None:
        assert self._shard is not None
        self._shard.optimize()
        self._shard.flush()
        self._shard.close()
        self._load()  # completes the files the first time, so that later openings find and leave them as they are
        self._assert_indexed()

    @translated("Qdrant", Exception)
    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._folder, self._dims, self._metric = self._home / collection, dims, metric
        self._rows = self._load()
        self._assert_indexed()
        return self._rows

    @translated("Qdrant", Exception)
    def search(self, vector: np.ndarray, k: int, ef: int) -> Hits:
        assert self._shard is not None
        nearest = edge.Query.Nearest(vector.tolist())
        found = self._shard.search(
            edge.SearchRequest(nearest, k, params=edge.SearchParams(hnsw_ef=max(ef, k)))
        )
        scores = np.array([point.score for point in found], np.float64)
        return hits([point.id for point in found], -(scores**2) if self._metric is Metric.L2 else scores)

    @translated("Qdrant", Exception)
    def delete(self, ids: np.ndarray) -> None:
        assert self._shard is not None
        self._shard.update(edge.UpdateOperation.delete_points(ids.tolist()))
        self._shard.flush()

    def close(self) -> None:
        if self._shard is not None:
            self._shard.close()
        self._shard = None

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
