"""hnswlib, embedded: the HNSW graph that many vector databases are built around."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

import hnswlib
import numpy as np
from pydantic import Field

from bakeoff.errors import StoreError
from bakeoff.plugins.stores._base import (
    GraphBuild,
    GraphQuery,
    Settings,
    expect_rows,
    hits,
    nearness,
    translated,
)
from bakeoff.types import Batch, Hits, Metric

SPACES = {Metric.COSINE: "cosine", Metric.DOT: "ip", Metric.L2: "l2"}
SEED = 7


class Build(GraphBuild):
    """What shapes the graph."""

    threads: Annotated[
        int | None, Field(ge=1, description="None: every core; 1: the same graph each time")
    ] = None


class HnswlibParams(Settings):
    """How an hnswlib index is built."""

    build: Build = Build()


class HnswlibStore:
    """One hnswlib graph, kept as a file."""

    version: ClassVar[str] = "1"
    Params = HnswlibParams
    Query = GraphQuery

    def __init__(self, params: HnswlibParams, home: Path) -> None:
        self._build, self._file = params.build, home / "index.hnsw"
        self._metric, self._dims, self._rows = Metric.COSINE, 0, 0
        self._index: hnswlib.Index | None = None

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._metric, self._dims, self._rows = metric, dims, 0
        build = self._build
        self._index = hnswlib.Index(SPACES[metric], dims)
        self._index.init_index(1, M=build.m, ef_construction=build.ef_construction, random_seed=SEED)

    @translated("hnswlib", RuntimeError)
    def insert(self, batch: Batch) -> None:
        assert self._index is not None
        self._rows += len(batch.ids)
        self._index.resize_index(max(self._rows, 1))
        self._index.add_items(batch.vectors, batch.ids, num_threads=self._build.threads or -1)

    @translated("hnswlib", RuntimeError)
    def ready(self) -> None:
        assert self._index is not None
        expect_rows("hnswlib", self._index.element_count, self._rows)
        self._index.save_index(str(self._file))

    @translated("hnswlib", RuntimeError)
    def open(self, collection: str, dims: int, metric: Metric) -> int:
        if not self._file.exists():
            raise StoreError(f"hnswlib has no index at {self._file.name}.")
        self._metric, self._dims = metric, dims
        self._index = hnswlib.Index(SPACES[metric], dims)
        self._index.load_index(str(self._file))
        self._rows = int(self._index.element_count)
        return self._rows

    @translated("hnswlib", RuntimeError)
    def search(self, vector: np.ndarray, k: int, query: GraphQuery) -> Hits:
        assert self._index is not None
        if not self._rows:
            return hits([], [])
        if vector.shape != (self._dims,):  # the engine would read past the end of a shorter one
            raise StoreError(f"hnswlib holds vectors of {self._dims} numbers; the query has {vector.shape}.")
        k = min(k, self._rows)
        self._index.set_ef(max(query.ef, k))
        ids, distances = self._index.knn_query(vector, k, num_threads=1)
        return hits(ids[0], nearness(distances[0], self._metric))

    def close(self) -> None:
        self._index = None
