"""USearch, embedded: an HNSW graph with its own kernels for each processor."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field
from usearch.index import Index, MetricKind

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

KINDS = {Metric.COSINE: MetricKind.Cos, Metric.DOT: MetricKind.IP, Metric.L2: MetricKind.L2sq}


class Build(GraphBuild):
    """What shapes the graph: m is the engine's connectivity, ef_construction its expansion_add."""

    precision: Annotated[Literal["f32", "f16", "bf16"], Field(description="how a number is kept")] = "f32"
    threads: Annotated[int, Field(ge=0, description="0: every core; 1: the same graph each time")] = 0


class UsearchParams(Settings):
    """How a USearch index is built."""

    build: Build = Build()


class UsearchStore:
    """One USearch graph, kept as a file."""

    version: ClassVar[str] = "1"
    Params = UsearchParams
    Query = GraphQuery

    def __init__(self, params: UsearchParams, home: Path) -> None:
        self._build, self._file = params.build, home / "index.usearch"
        self._metric, self._rows = Metric.COSINE, 0
        self._index: Index | None = None

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        build, self._metric, self._rows = self._build, metric, 0
        self._index = Index(
            ndim=dims,
            metric=KINDS[metric],
            dtype=build.precision,
            connectivity=build.m,
            expansion_add=build.ef_construction,
        )

    @translated("USearch", RuntimeError, ValueError)
    def insert(self, batch: Batch) -> None:
        assert self._index is not None
        self._index.add(batch.ids, batch.vectors, threads=self._build.threads)
        self._rows += len(batch.ids)

    @translated("USearch", RuntimeError, ValueError)
    def ready(self) -> None:
        assert self._index is not None
        expect_rows("USearch", self._index.size, self._rows)
        self._index.save(str(self._file))

    @translated("USearch", RuntimeError, ValueError)
    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._metric, self._index = metric, Index.restore(str(self._file))
        if self._index is None:
            raise StoreError(f"USearch has no index at {self._file.name}.")
        self._rows = int(self._index.size)
        return self._rows

    @translated("USearch", RuntimeError, ValueError)
    def search(self, vector: np.ndarray, k: int, query: GraphQuery) -> Hits:
        assert self._index is not None
        if not self._rows:
            return hits([], [])
        k = min(k, self._rows)
        self._index.expansion_search = max(query.ef, k)
        every = k == self._rows  # the graph does not promise to lead to every row
        found = self._index.search(vector, k, threads=1, exact=every)
        return hits(found.keys, nearness(found.distances, self._metric))

    @translated("USearch", RuntimeError, ValueError)
    def delete(self, ids: np.ndarray) -> None:
        assert self._index is not None
        self._index.remove(ids)
        self._rows = int(self._index.size)
        self._index.save(str(self._file))

    def close(self) -> None:
        self._index = None
