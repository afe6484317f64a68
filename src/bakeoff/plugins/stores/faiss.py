"""FAISS, embedded: Flat, HNSW, IVF, and PQ codes within IVF cells; float16, int8 and binary vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import faiss
import numpy as np
from pydantic import Field

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import (
    EF,
    PROBES,
    GraphBuild,
    PackagedEngine,
    Settings,
    SmallVectors,
    expect_dims,
    expect_rows,
    make_hits,
    require_dims,
    require_open,
    score_from_hamming,
    sign_bits,
    translate_errors,
)
from bakeoff.plugins.kit.payload import NO_LIMIT, VECTORS_ONLY
from bakeoff.plugins.kit.sidecar import SidecarPayloads, SidecarPayloadsMixin
from bakeoff.protocols import SearchKnob
from bakeoff.types import Batch, Hits, Metric, Storage, Where

SEED = 7
BITS = 8
TINY = 1e-12


class Build(GraphBuild):
    """Build settings of the index; m and ef_construction are for HNSW."""

    index: Literal["flat", "hnsw", "ivf", "pq"] = "hnsw"
    threads: Annotated[int, Field(ge=1, description="1: reproducible graph")] = 1
    lists: Annotated[int | None, Field(ge=1, description="IVF, PQ: cells; None is 4·sqrt(n)")] = None
    sub_vectors: Annotated[
        int | None,
        Field(ge=1, description="PQ: bytes per vector, a divisor of the dimension; None is about dims/4"),
    ] = None


class FaissParams(Settings):
    """How a FAISS index is built."""

    build: Build = Build()


class FaissQuery(Settings):
    """Search settings."""

    ef: Annotated[int, Field(ge=1, description="HNSW: candidates kept")] = 64
    probes: Annotated[int, Field(ge=1, description="IVF, PQ: cells searched")] = 8


def prepare_rows(rows: np.ndarray, metric: Metric) -> np.ndarray:
    """Rows in FAISS's form; cosine is the inner product of unit vectors."""
    rows = np.ascontiguousarray(rows, np.float32)
    if metric is not Metric.COSINE:
        return rows
    if len(rows) == 1:  # a single query: the general path takes as long as a short search
        return rows / max(math.sqrt(float(rows[0] @ rows[0])), TINY)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), TINY)


def arguments(
    kind: str, query: FaissQuery, k: int, rows: int, allowed: np.ndarray | None = None
) -> faiss.SearchParameters | None:
    """Parameters for a search of k among some or all rows; with a filter, more candidates are examined."""
    if allowed is None:
        return _search_parameters(kind, max(query.ef, k), query.probes)
    wider, only = rows / len(allowed), faiss.IDSelectorBatch(allowed)
    ef = min(math.ceil(max(query.ef, k) * wider), max(rows, query.ef))
    return _make_parameters(kind, ef, math.ceil(query.probes * wider), sel=only)


@lru_cache(256)
def _search_parameters(kind: str, ef: int, probes: int) -> faiss.SearchParameters | None:
    """Cached per setting: creating them takes as long as a short search."""
    return _make_parameters(kind, ef, probes)


def _make_parameters(kind: str, ef: int, probes: int, **only: object) -> faiss.SearchParameters | None:
    if kind == "hnsw":
        return faiss.SearchParametersHNSW(efSearch=ef, **only)  # type: ignore[attr-defined]
    if kind in ("ivf", "pq"):
        return faiss.SearchParametersIVF(nprobe=probes, **only)  # type: ignore[call-arg]
    return faiss.SearchParameters(**only) if only else None


def answer(ids: np.ndarray, scores: np.ndarray, metric: Metric) -> Hits:
    """Hits from one row of FAISS's answer, which is padded with -1."""
    if len(ids) and ids[-1] < 0:
        found = ids >= 0
        ids, scores = ids[found], scores[found]
    return make_hits(ids, -scores if metric is Metric.L2 else scores)


def _space(metric: Metric) -> int:
    return int(faiss.METRIC_L2 if metric is Metric.L2 else faiss.METRIC_INNER_PRODUCT)


def _flat(_: Build, rows: np.ndarray, metric: Metric) -> faiss.Index:
    return faiss.IndexFlat(rows.shape[1], _space(metric))


def _hnsw(build: Build, rows: np.ndarray, metric: Metric) -> faiss.Index:
    graph = faiss.IndexHNSWFlat(rows.shape[1], build.m, _space(metric))
    graph.hnsw.efConstruction = build.ef_construction
    return graph


def _cells(build: Build, count: int) -> int:
    """Number of cells: as requested, but with at least 39 training rows each."""
    return max(1, min(build.lists or int(4 * count**0.5), count // 39 or 1))


def _ivf(build: Build, rows: np.ndarray, metric: Metric) -> faiss.Index:
    dims, space = rows.shape[1], _space(metric)
    return _train(faiss.IndexIVFFlat(_flat(build, rows, metric), dims, _cells(build, len(rows)), space), rows)


def _pq(build: Build, rows: np.ndarray, metric: Metric) -> faiss.Index:
    """Codes of 8 bits, fewer if there are fewer rows than codes."""
    dims, space, lists = rows.shape[1], _space(metric), _cells(build, len(rows))
    parts = build.sub_vectors or max(part for part in range(1, max(dims // 4, 1) + 1) if dims % part == 0)
    bits = max(1, min(BITS, int(math.log2(len(rows)))))
    codes = faiss.IndexIVFPQ(_flat(build, rows, metric), dims, lists, parts, bits, space)
    codes.pq.cp.seed, codes.pq.cp.min_points_per_centroid = SEED, 1
    return _train(codes, np.resize(rows, (max(len(rows), 2**bits), dims)))


def _train(index: Any, rows: np.ndarray) -> faiss.Index:
    index.cp.seed = SEED
    index.cp.min_points_per_centroid = 1  # otherwise it prints warnings about small collections
    index.train(rows)
    return index


SCALARS = {"float16": faiss.ScalarQuantizer.QT_fp16, "int8": faiss.ScalarQuantizer.QT_8bit}


def _scalar(build: Build, rows: np.ndarray, metric: Metric, storage: Storage) -> faiss.Index:
    """An index over float16 numbers, or 8 bits within each dimension's range."""
    dims, space, numbers = rows.shape[1], _space(metric), SCALARS[storage]
    if build.index == "ivf":
        lists = _cells(build, len(rows))
        cells = faiss.IndexIVFScalarQuantizer(_flat(build, rows, metric), dims, lists, numbers, space)
        return _train(cells, rows)
    if build.index == "flat":
        index: faiss.Index = faiss.IndexScalarQuantizer(dims, numbers, space)
    else:
        index = faiss.IndexHNSWSQ(dims, numbers, build.m, space)  # type: ignore[arg-type]
        index.hnsw.efConstruction = build.ef_construction
    index.train(rows)
    return index


def _binary(build: Build, bits: np.ndarray) -> Any:
    """An index over packed signs."""
    dims = 8 * bits.shape[1]
    if build.index == "flat":
        return faiss.IndexBinaryFlat(dims)
    if build.index == "ivf":
        return _train(faiss.IndexBinaryIVF(faiss.IndexBinaryFlat(dims), dims, _cells(build, len(bits))), bits)
    graph = faiss.IndexBinaryHNSW(dims, build.m)
    graph.hnsw.efConstruction = build.ef_construction
    return graph


KINDS: dict[str, Callable[[Build, np.ndarray, Metric], faiss.Index]] = {
    "flat": _flat,
    "hnsw": _hnsw,
    "ivf": _ivf,
    "pq": _pq,
}


@translate_errors("FAISS", RuntimeError)
class FaissStore(PackagedEngine, SmallVectors, SidecarPayloadsMixin):
    """One FAISS index, saved as a file; payloads are a separate table.

    A filtered search is widened by the share of rows the filter leaves: a tenth of the rows, ten times the
    candidates.
    """

    version: ClassVar[str] = "4"
    package = "faiss-cpu"
    storages = ("float16", "int8", "binary")
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
        """The setting that trades recall for speed: candidates of a graph, cells searched, or none if exact."""
        cells = replace(PROBES, high=params.build.lists or PROBES.high)
        return {"hnsw": EF, "ivf": cells, "pq": cells}.get(params.build.index)

    def __init__(self, params: FaissParams, home: Path) -> None:
        self._build, self._home, self._file = params.build, home, home
        self._sidecar = SidecarPayloads()
        self._batches: list[Batch] = []
        self._metric = Metric.COSINE
        self._dims: int | None = None
        self._index: Any = None

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self.close()
        if self._storage != "float32" and self._build.index == "pq":
            raise StoreError(
                f"FAISS: a pq index has its own codes, not {self._storage} vectors. Choose hnsw, flat or "
                "ivf, or remove storage."
            )
        self._dims, self._metric = dims, metric
        self._name(collection)

    def insert(self, batch: Batch) -> None:
        self._batches.append(batch)
        self._sidecar.add(batch)

    def ready(self) -> None:
        if not self._batches:
            return
        ids = np.concatenate([batch.ids for batch in self._batches]).astype(np.int64)
        rows = prepare_rows(np.concatenate([batch.vectors for batch in self._batches]), self._metric)
        faiss.omp_set_num_threads(self._build.threads)
        if self._storage == "binary":
            rows = sign_bits(rows)
            self._index = faiss.IndexBinaryIDMap(_binary(self._build, rows))
        elif self._storage == "float32":
            self._index = faiss.IndexIDMap(KINDS[self._build.index](self._build, rows, self._metric))
        else:
            self._index = faiss.IndexIDMap(_scalar(self._build, rows, self._metric, self._storage))
        self._index.add_with_ids(rows, ids)
        self._batches = []
        expect_rows("FAISS", self._index.ntotal, len(ids))
        write = faiss.write_index_binary if self._storage == "binary" else faiss.write_index
        write(self._index, str(self._file))
        self._sidecar.save()

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._name(collection)
        if not self._file.exists():
            raise StoreError(f"FAISS has no index at {self._file.name}.")
        self._dims, self._metric = dims, metric
        binary = self._storage == "binary"
        read = faiss.read_index_binary if binary else faiss.read_index
        self._index = read(str(self._file))
        expect_dims("FAISS", self._index.d, 8 * -(-dims // 8) if binary else dims)
        self._sidecar.load()
        return int(self._index.ntotal)

    def search(self, vector: np.ndarray, k: int, query: FaissQuery) -> Hits:
        return self._nearest(vector.reshape(1, -1), k, query)[0]

    def search_many(self, vectors: np.ndarray, k: int, query: FaissQuery) -> list[Hits]:
        return self._nearest(vectors, k, query) if len(vectors) else []

    def search_where(self, vector: np.ndarray, k: int, query: FaissQuery, where: Where) -> Hits:
        allowed = self._sidecar.matching_ids(where)
        return (
            self._nearest(vector.reshape(1, -1), k, query, allowed)[0] if len(allowed) else make_hits([], [])
        )

    def close(self) -> None:
        self._index, self._batches, self._dims = None, [], None
        self._sidecar.clear()

    def _name(self, collection: str) -> None:
        self._file = self._home / f"{collection}.faiss"
        self._sidecar.keep_at(self._home / f"{collection}.arrow")

    def _nearest(
        self, rows: np.ndarray, k: int, query: FaissQuery, allowed: np.ndarray | None = None
    ) -> list[Hits]:
        require_dims("FAISS", require_open("FAISS", self._dims), rows)
        if self._index is None:
            return [make_hits([], [])] * len(rows)
        k = min(k, self._index.ntotal)
        how = arguments(self._build.index, query, k, self._index.ntotal, allowed)
        faiss.omp_set_num_threads(1)  # OpenMP sets it per thread; more threads would only wait for each other
        if self._storage == "binary":
            if self._build.index == "ivf":
                self._set_probes(query, allowed)
                how = None
            far, ids = self._index.search(sign_bits(rows), k, params=how)
            close = score_from_hamming(far, rows.shape[1])
            return [answer(mine, near, Metric.DOT) for mine, near in zip(ids, close, strict=True)]
        scores, ids = self._index.search(prepare_rows(rows, self._metric), k, params=how)
        return [answer(mine, far, self._metric) for mine, far in zip(ids, scores, strict=True)]

    def _set_probes(self, query: FaissQuery, allowed: np.ndarray | None) -> None:
        """Set probes on the index: cells of bits can't be searched with parameters or a filter."""
        if allowed is not None:
            raise StoreError(
                "FAISS cannot search cells of binary vectors within a filter. Choose hnsw or flat."
            )
        cells: Any = faiss.downcast_IndexBinary(self._index.index)
        cells.nprobe = query.probes
