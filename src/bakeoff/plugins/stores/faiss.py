"""FAISS, embedded: Flat, HNSW and IVF."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal

import faiss
import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from bakeoff.errors import StoreError
from bakeoff.types import Batch, Hits, Metric


class Build(BaseModel):
    """What shapes the index."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    index: Literal["flat", "hnsw", "ivf"] = "hnsw"
    m: Annotated[int, Field(ge=2, le=128, description="HNSW: links a node")] = 16
    ef_construction: Annotated[int, Field(ge=4)] = 200
    threads: Annotated[int, Field(ge=1, description="1: the same graph each time")] = 1
    lists: Annotated[int | None, Field(ge=1, description="IVF: cells; None is 4·sqrt(n)")] = None


class FaissParams(BaseModel):
    """How a FAISS index is built."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    build: Build = Build()


class FaissQuery(BaseModel):
    """What shapes a search."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    ef: Annotated[int, Field(ge=1, description="HNSW: candidates kept")] = 64
    probes: Annotated[int, Field(ge=1, description="IVF: cells looked at")] = 8


class FaissStore:
    """One FAISS index, kept as a file."""

    version: ClassVar[str] = "2"
    Params = FaissParams
    Query = FaissQuery

    def __init__(self, params: FaissParams, home: Path) -> None:
        self._build, self._file = params.build, home / "index.faiss"
        self._batches: list[Batch] = []
        self._metric = Metric.COSINE
        self._dims = 0
        self._index: faiss.Index | None = None

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._dims, self._metric, self._batches, self._index = dims, metric, [], None

    def insert(self, batch: Batch) -> None:
        self._batches.append(batch)

    def ready(self) -> None:
        if not self._batches:
            return
        ids = np.concatenate([batch.ids for batch in self._batches]).astype(np.int64)
        rows = self._shaped(np.concatenate([batch.vectors for batch in self._batches]))
        faiss.omp_set_num_threads(self._build.threads)
        inner = self._made(len(rows))
        if not inner.is_trained:
            inner.train(rows)
        self._index = faiss.IndexIDMap(inner)
        self._index.add_with_ids(rows, ids)
        self._batches = []
        if self._index.ntotal != len(ids):
            raise StoreError(f"FAISS holds {self._index.ntotal} of {len(ids)} vectors after building.")
        faiss.write_index(self._index, str(self._file))
        faiss.omp_set_num_threads(1)  # one query at a time: more threads would only wait for each other

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        if not self._file.exists():
            raise StoreError(f"FAISS has no index at {self._file.name}.")
        self._dims, self._metric = dims, metric
        self._index = faiss.read_index(str(self._file))
        faiss.omp_set_num_threads(1)
        return int(self._index.ntotal)

    def search(self, vector: np.ndarray, k: int, query: FaissQuery) -> Hits:
        if self._index is None:
            return Hits(np.empty(0, np.int64), np.empty(0, np.float64))
        row = self._shaped(vector.reshape(1, -1))
        k = min(k, self._index.ntotal)
        scores, ids = self._index.search(row, k, params=self._arguments(query, k))
        found = ids[0] >= 0
        return Hits(ids[0][found], self._signed(scores[0][found]))

    def close(self) -> None:
        self._index, self._batches = None, []

    def _shaped(self, rows: np.ndarray) -> np.ndarray:
        rows = np.ascontiguousarray(rows, np.float32)
        if self._metric is Metric.COSINE:
            rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        return rows

    def _made(self, count: int) -> faiss.Index:
        kind = faiss.METRIC_L2 if self._metric is Metric.L2 else faiss.METRIC_INNER_PRODUCT
        build = self._build
        if build.index == "flat":
            return faiss.IndexFlat(self._dims, kind)
        if build.index == "hnsw":
            graph = faiss.IndexHNSWFlat(self._dims, build.m, kind)
            graph.hnsw.efConstruction = build.ef_construction
            return graph
        lists = max(1, min(build.lists or int(4 * count**0.5), count // 39 or 1))
        cells = faiss.IndexIVFFlat(faiss.IndexFlat(self._dims, kind), self._dims, lists, kind)
        cells.cp.seed = 7
        return cells

    def _arguments(self, query: FaissQuery, k: int) -> faiss.SearchParameters | None:
        if self._build.index == "hnsw":
            return faiss.SearchParametersHNSW(efSearch=max(query.ef, k))  # type: ignore[attr-defined]
        if self._build.index == "ivf":
            return faiss.SearchParametersIVF(nprobe=query.probes)  # type: ignore[call-arg]
        return None

    def _signed(self, scores: np.ndarray) -> np.ndarray:
        signed = scores.astype(np.float64)
        return -signed if self._metric is Metric.L2 else signed
