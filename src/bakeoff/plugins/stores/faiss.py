"""FAISS, embedded: Flat, HNSW, IVF, and PQ codes within IVF cells."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import faiss
import numpy as np

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import (
    PackagedEngine,
    expect_dims,
    expect_rows,
    make_hits,
    require_dims,
    require_open,
    translate_errors,
)
from bakeoff.plugins.kit.payload import NO_LIMIT, VECTORS_ONLY
from bakeoff.plugins.kit.sidecar import PayloadsBeside, SidecarPayloads
from bakeoff.plugins.stores._faiss_kinds import (
    KINDS,
    FaissParams,
    FaissQuery,
    answer,
    arguments,
    knob,
    prepare_rows,
)
from bakeoff.protocols import SearchKnob
from bakeoff.types import Batch, Hits, Metric, Where

ENGINE = translate_errors("FAISS", RuntimeError)


class FaissStore(PackagedEngine, PayloadsBeside):
    """One FAISS index, kept as a file; payloads are a table beside it.

    A filtered search is widened by the share of rows the filter leaves: a tenth of the rows, ten times the candidates.
    """

    version: ClassVar[str] = "4"
    package = "faiss-cpu"
    Params = FaissParams
    Query = FaissQuery
    gaps: ClassVar[dict[str, str]] = {
        **VECTORS_ONLY,
        **NO_LIMIT,
        "delete": "its HNSW graph, the default, cannot remove a row",
        "replace": "its HNSW graph, the default, cannot remove a row",
    }

    @classmethod
    def search_knob(cls, params: FaissParams) -> SearchKnob | None:
        """The candidates of a graph, or the cells looked at."""
        return knob(params.build)

    def __init__(self, params: FaissParams, home: Path) -> None:
        self._build, self._home, self._file = params.build, home, home
        self._beside = SidecarPayloads()
        self._batches: list[Batch] = []
        self._metric = Metric.COSINE
        self._dims: int | None = None
        self._index: faiss.Index | None = None

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self.close()
        self._dims, self._metric = dims, metric
        self._name(collection)

    def insert(self, batch: Batch) -> None:
        self._batches.append(batch)
        self._beside.add(batch)

    @ENGINE
    def ready(self) -> None:
        if not self._batches:
            return
        ids = np.concatenate([batch.ids for batch in self._batches]).astype(np.int64)
        rows = prepare_rows(np.concatenate([batch.vectors for batch in self._batches]), self._metric)
        faiss.omp_set_num_threads(self._build.threads)
        inner = KINDS[self._build.index](self._build, rows, self._metric)
        self._index = faiss.IndexIDMap(inner)
        self._index.add_with_ids(rows, ids)
        self._batches = []
        expect_rows("FAISS", self._index.ntotal, len(ids))
        faiss.write_index(self._index, str(self._file))
        self._beside.save()

    @ENGINE
    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._name(collection)
        if not self._file.exists():
            raise StoreError(f"FAISS has no index at {self._file.name}.")
        self._dims, self._metric = dims, metric
        self._index = faiss.read_index(str(self._file))
        expect_dims("FAISS", self._index.d, dims)
        self._beside.load()
        return int(self._index.ntotal)

    def search(self, vector: np.ndarray, k: int, query: FaissQuery) -> Hits:
        return self._nearest(vector.reshape(1, -1), k, query)[0]

    def search_many(self, vectors: np.ndarray, k: int, query: FaissQuery) -> list[Hits]:
        return self._nearest(vectors, k, query) if len(vectors) else []

    def search_where(self, vector: np.ndarray, k: int, query: FaissQuery, where: Where) -> Hits:
        allowed = self._beside.allowed(where)
        return (
            self._nearest(vector.reshape(1, -1), k, query, allowed)[0] if len(allowed) else make_hits([], [])
        )

    def close(self) -> None:
        self._index, self._batches, self._dims = None, [], None
        self._beside.clear()

    def _name(self, collection: str) -> None:
        self._file = self._home / f"{collection}.faiss"
        self._beside.keep_at(self._home / f"{collection}.arrow")

    @ENGINE
    def _nearest(
        self, rows: np.ndarray, k: int, query: FaissQuery, allowed: np.ndarray | None = None
    ) -> list[Hits]:
        require_dims("FAISS", require_open("FAISS", self._dims), rows)
        if self._index is None:
            return [make_hits([], [])] * len(rows)
        k = min(k, self._index.ntotal)
        how = arguments(self._build.index, query, k, self._index.ntotal, allowed)
        faiss.omp_set_num_threads(1)  # OpenMP keeps it per thread; more would only wait for each other
        scores, ids = self._index.search(prepare_rows(rows, self._metric), k, params=how)
        return [answer(mine, far, self._metric) for mine, far in zip(ids, scores, strict=True)]
