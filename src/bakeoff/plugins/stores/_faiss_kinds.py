"""FAISS's kinds of index: what shapes each, how it is made, and which arguments its search takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal

import faiss
import numpy as np
from pydantic import Field

from bakeoff.plugins.stores._base import GraphBuild, Settings
from bakeoff.types import Metric

SEED = 7
BITS = 8


class Build(GraphBuild):
    """What shapes the index; m and ef_construction are of HNSW."""

    index: Literal["flat", "hnsw", "ivf", "pq"] = "hnsw"
    threads: Annotated[int, Field(ge=1, description="1: the same graph each time")] = 1
    lists: Annotated[int | None, Field(ge=1, description="IVF, PQ: cells; None is 4·sqrt(n)")] = None
    sub_vectors: Annotated[
        int | None,
        Field(ge=1, description="PQ: bytes a vector, a divisor of the dimension; None is about dims/4"),
    ] = None


class FaissParams(Settings):
    """How a FAISS index is built."""

    build: Build = Build()


class FaissQuery(Settings):
    """What shapes a search."""

    ef: Annotated[int, Field(ge=1, description="HNSW: candidates kept")] = 64
    probes: Annotated[int, Field(ge=1, description="IVF, PQ: cells looked at")] = 8


def shaped(rows: np.ndarray, metric: Metric) -> np.ndarray:
    """Rows as FAISS takes them; cosine is the inner product of unit vectors."""
    rows = np.ascontiguousarray(rows, np.float32)
    if metric is Metric.COSINE:
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return rows


def arguments(
    kind: str, ef: int, probes: int, k: int, rows: int, allowed: np.ndarray | None
) -> faiss.SearchParameters | None:
    """What a search of k among some or all rows takes; among fewer rows it looks at more candidates."""
    only, wider = {}, 1.0
    if allowed is not None:
        only, wider = {"sel": faiss.IDSelectorBatch(allowed)}, rows / len(allowed)
    if kind == "hnsw":
        return faiss.SearchParametersHNSW(  # type: ignore[attr-defined]
            efSearch=min(math.ceil(max(ef, k) * wider), max(rows, ef)), **only
        )
    if kind in ("ivf", "pq"):
        return faiss.SearchParametersIVF(nprobe=math.ceil(probes * wider), **only)  # type: ignore[call-arg]
    return faiss.SearchParameters(**only) if only else None


def _space(metric: Metric) -> int:
    return int(faiss.METRIC_L2 if metric is Metric.L2 else faiss.METRIC_INNER_PRODUCT)


def _flat(_: Any, rows: np.ndarray, metric: Metric) -> faiss.Index:
    return faiss.IndexFlat(rows.shape[1], _space(metric))


def _hnsw(build: Any, rows: np.ndarray, metric: Metric) -> faiss.Index:
    graph = faiss.IndexHNSWFlat(rows.shape[1], build.m, _space(metric))
    graph.hnsw.efConstruction = build.ef_construction
    return graph


def _cells(build: Any, count: int) -> int:
    """How many: as many as asked for, and never so many that fewer than 39 rows train one."""
    return max(1, min(build.lists or int(4 * count**0.5), count // 39 or 1))


def _ivf(build: Any, rows: np.ndarray, metric: Metric) -> faiss.Index:
    dims, space = rows.shape[1], _space(metric)
    return _trained(
        faiss.IndexIVFFlat(_flat(build, rows, metric), dims, _cells(build, len(rows)), space), rows
    )


def _pq(build: Any, rows: np.ndarray, metric: Metric) -> faiss.Index:
    """Codes of 8 bits, of fewer where there are fewer rows than codes."""
    dims, space, lists = rows.shape[1], _space(metric), _cells(build, len(rows))
    parts = build.sub_vectors or max(part for part in range(1, max(dims // 4, 1) + 1) if dims % part == 0)
    bits = max(1, min(BITS, int(math.log2(len(rows)))))
    codes = faiss.IndexIVFPQ(_flat(build, rows, metric), dims, lists, parts, bits, space)
    codes.pq.cp.seed, codes.pq.cp.min_points_per_centroid = SEED, 1
    return _trained(codes, np.resize(rows, (max(len(rows), 2**bits), dims)))


def _trained(index: Any, rows: np.ndarray) -> faiss.Index:
    index.cp.seed = SEED
    index.cp.min_points_per_centroid = 1  # else it warns on the terminal about small collections
    index.train(rows)
    return index


KINDS: dict[str, Callable[[Any, np.ndarray, Metric], faiss.Index]] = {
    "flat": _flat,
    "hnsw": _hnsw,
    "ivf": _ivf,
    "pq": _pq,
}
