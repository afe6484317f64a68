"""USearch, embedded: an HNSW graph with its own kernels for each processor."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from usearch.index import Index, MetricKind

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import GraphBuild, GraphQuery, PackagedEngine, Settings, translate_errors
from bakeoff.plugins.kit.graph_file import GRAPH_ERRORS, GraphFile, Neighbors
from bakeoff.plugins.kit.payload import NO_LIMIT, VECTORS_ONLY
from bakeoff.types import Batch, Metric

KINDS = {Metric.COSINE: MetricKind.Cos, Metric.DOT: MetricKind.IP, Metric.L2: MetricKind.L2sq}


class Build(GraphBuild):
    """What shapes the graph: m is the engine's connectivity, ef_construction its expansion_add."""

    precision: Annotated[Literal["f32", "f16", "bf16"], Field(description="how a number is kept")] = "f32"
    threads: Annotated[int, Field(ge=0, description="0: every core; 1: the same graph each time")] = 0


class UsearchParams(Settings):
    """How a USearch index is built."""

    build: Build = Build()


class UsearchStore(PackagedEngine, GraphFile[Build]):
    """One USearch graph, kept as a file."""

    version: ClassVar[str] = "3"
    engine = "USearch"
    package = "usearch"
    Params = UsearchParams
    Query = GraphQuery
    gaps: ClassVar[dict[str, str]] = {
        **VECTORS_ONLY,
        **NO_LIMIT,
        "payload": "its Python package searches without a filter",
    }

    @translate_errors("", *GRAPH_ERRORS)
    def delete(self, ids: np.ndarray) -> None:
        self._index.remove(ids)
        self._rows = self._held()
        self._save()

    @translate_errors("", *GRAPH_ERRORS)
    def replace(self, batch: Batch) -> None:
        self._index.remove(batch.ids)
        self._add(batch)
        self._save()

    def _empty(self) -> Index:
        build = self._build
        shape = {"connectivity": build.m, "expansion_add": build.ef_construction}
        return Index(ndim=self._dims, metric=KINDS[self._metric], dtype=build.precision, **shape)

    def _add(self, batch: Batch) -> None:
        self._index.add(batch.ids, batch.vectors, threads=self._build.threads)

    def _held(self) -> int:
        return int(self._index.size)

    def _save(self) -> None:
        self._index.save(str(self._file))

    def _read(self) -> int:
        self._index = Index.restore(str(self._file))
        if self._index is None:
            raise StoreError(f"USearch cannot read {self._file.name}.")
        return int(self._index.ndim)

    def _nearest(self, rows: np.ndarray, k: int, ef: int) -> Neighbors:
        wanted = max(ef, k)
        if self._index.expansion_search != wanted:
            self._index.expansion_search = wanted
        every = k == self._rows  # the graph does not promise to lead to every row
        found: Any = self._index.search(rows, k, threads=1, exact=every)
        one = len(rows) == 1  # which comes back flat
        return (found.keys[None], found.distances[None]) if one else (found.keys, found.distances)
