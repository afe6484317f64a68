"""USearch, embedded: an HNSW graph with processor-specific kernels."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field
from usearch.index import Index, MetricKind

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import (
    GraphBuild,
    GraphQuery,
    PackagedEngine,
    Settings,
    SmallVectors,
    score_from_hamming,
    sign_bits,
    translate_errors,
)
from bakeoff.plugins.kit.graph_file import GRAPH_ERRORS, GraphFile, Neighbors
from bakeoff.plugins.kit.payload import NO_LIMIT, VECTORS_ONLY
from bakeoff.types import Batch, Metric

KINDS = {Metric.COSINE: MetricKind.Cos, Metric.DOT: MetricKind.IP, Metric.L2: MetricKind.L2sq}


class Build(GraphBuild):
    """Build settings of the graph: m is the engine's connectivity, ef_construction its expansion_add."""

    precision: Annotated[Literal["f32", "f16", "bf16"], Field(description="number format")] = "f32"
    threads: Annotated[int, Field(ge=0, description="0: every core; 1: reproducible graph")] = 0


class UsearchParams(Settings):
    """How a USearch index is built."""

    build: Build = Build()


DTYPES = {"float16": "f16", "int8": "i8", "binary": "b1"}


@translate_errors("", *GRAPH_ERRORS)
class UsearchStore(PackagedEngine, SmallVectors, GraphFile[Build]):
    """One USearch graph, saved as a file. int8 requires unit vectors, so they are compared by cosine, which
    orders them like any metric."""

    version: ClassVar[str] = "3"
    engine = "USearch"
    package = "usearch"
    storages = ("float16", "int8", "binary")
    Params = UsearchParams
    Query = GraphQuery
    gaps: ClassVar[dict[str, str]] = {
        **VECTORS_ONLY,
        **NO_LIMIT,
        "payload": "its Python package searches without a filter",
    }

    def delete(self, ids: np.ndarray) -> None:
        self._index.remove(ids)
        self._rows = self._row_count()
        self._save()

    def replace(self, batch: Batch) -> None:
        self._index.remove(batch.ids)
        self._add(batch)
        self._save()

    def _empty(self) -> Index:
        build = self._build
        shape = {"connectivity": build.m, "expansion_add": build.ef_construction}
        dtype = DTYPES.get(self._storage, build.precision)
        if self._storage == "binary":
            return Index(ndim=_whole_bytes(self._dims), metric=MetricKind.Hamming, dtype=dtype, **shape)
        metric = MetricKind.Cos if self._storage == "int8" else KINDS[self._metric]
        return Index(ndim=self._dims, metric=metric, dtype=dtype, **shape)

    def _add(self, batch: Batch) -> None:
        self._index.add(batch.ids, self._to_storage(batch.vectors), threads=self._build.threads)

    def _to_storage(self, rows: np.ndarray | None) -> np.ndarray:
        assert rows is not None
        return sign_bits(rows) if self._storage == "binary" else rows

    def _row_count(self) -> int:
        return int(self._index.size)

    def _save(self) -> None:
        self._index.save(str(self._file))

    def _read(self) -> int:
        self._index = Index.restore(str(self._file))
        if self._index is None:
            raise StoreError(f"USearch cannot read {self._file.name}.")
        held = int(self._index.ndim)
        return self._dims if self._storage == "binary" and held == _whole_bytes(self._dims) else held

    def _nearest(self, rows: np.ndarray, k: int, ef: int) -> Neighbors:
        wanted = max(ef, k)
        if self._index.expansion_search != wanted:
            self._index.expansion_search = wanted
        every = k == self._rows  # the graph does not guarantee a path to every row
        found = self._index.search(self._to_storage(rows), k, threads=1, exact=every)
        far = self._distance(found.distances)
        one = len(rows) == 1  # which comes back flat
        return (found.keys[None], far[None]) if one else (found.keys, far)

    def _distance(self, far: np.ndarray) -> np.ndarray:
        """Distances in the metric, from Hamming distances of signs, or cosines of int8 numbers."""
        if self._storage == "binary":
            return 1.0 - score_from_hamming(far, self._dims)
        return 2.0 * far if self._storage == "int8" and self._metric is Metric.L2 else far


def _whole_bytes(dims: int) -> int:
    return 8 * -(-dims // 8)
