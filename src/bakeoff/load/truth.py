"""The exact nearest neighbours of every query: blocked, in bounded memory, ties in the order of row numbers."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from bakeoff.cache import Cache
from bakeoff.errors import DataError
from bakeoff.fingerprint import fingerprint
from bakeoff.load.datasets import VectorSet, blocks
from bakeoff.types import Metric

VERSION = "1"
SPARE = 16
"""Neighbours kept beyond the depth, so that single-precision rounding at the edge is settled in double precision."""
QUERY_BLOCK, BASE_BLOCK = 256, 8192
VERIFIED = 16
"""Given truth is recomputed for so many queries before it is believed."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Row numbers and distances (smaller is nearer), one row a query, nearest first."""

    ids: np.ndarray
    distances: np.ndarray

    @property
    def depth(self) -> int:
        """Neighbours a query."""
        return int(self.ids.shape[1])


def truth_of(dataset: VectorSet, depth: int, cache: Cache) -> Neighbours:
    """The dataset's own truth where it is deep enough and true, else exact search, kept in the cache."""
    depth = min(depth, len(dataset.base))
    if dataset.neighbours is not None and dataset.neighbours.shape[1] >= depth:
        return _given(dataset, depth)
    name = fingerprint("neighbours", VERSION, dataset.fingerprint, dataset.metric, depth)

    def write(folder: Path) -> None:
        made = exact_neighbours(dataset.base, dataset.queries, dataset.metric, depth)
        np.save(folder / "ids.npy", made.ids)
        np.save(folder / "distances.npy", made.distances)

    folder = cache.make("neighbours", name, write)
    return Neighbours(np.load(folder / "ids.npy"), np.load(folder / "distances.npy"))


def exact_neighbours(base: np.ndarray, queries: np.ndarray, metric: Metric, depth: int) -> Neighbours:
    """The `depth` nearest base rows of each query."""
    if not 1 <= depth <= len(base):
        raise DataError(f"{depth} neighbours were asked for; the base has {len(base)} rows.")
    wide = min(depth + SPARE, len(base))
    search = _by_faiss if find_spec("faiss") else by_numpy
    ids = search(base, queries, metric, wide)
    near = distances(base, queries, ids, metric)
    order = np.lexsort((ids, near), axis=1)[:, :depth]
    return Neighbours(np.take_along_axis(ids, order, 1), np.take_along_axis(near, order, 1))


def distances(base: np.ndarray, queries: np.ndarray, ids: np.ndarray, metric: Metric) -> np.ndarray:
    """Double-precision distances of the named rows: squared, 1 − cosine or minus the product; inf for row −1."""
    found = np.empty(ids.shape, np.float64)
    for part in blocks(len(ids), max(1, ids.shape[1]) * base.shape[1] * 16):
        rows = base[np.maximum(ids[part], 0)].astype(np.float64)
        one = queries[part].astype(np.float64)
        found[part] = _apart(rows, one, metric)
    found[ids < 0] = np.inf
    return found


def _apart(rows: np.ndarray, one: np.ndarray, metric: Metric) -> np.ndarray:
    if metric is Metric.L2:
        rows -= one[:, None, :]
        return np.einsum("qkd,qkd->qk", rows, rows)
    dot = np.einsum("qkd,qd->qk", rows, one)
    if metric is Metric.DOT:
        return -dot
    length = np.linalg.norm(rows, axis=2) * np.linalg.norm(one, axis=1)[:, None]
    return 1 - np.divide(dot, length, out=np.zeros_like(dot), where=length > 0)


def _given(dataset: VectorSet, depth: int) -> Neighbours:
    """The given truth, after some of it was recomputed."""
    assert dataset.neighbours is not None
    ids = dataset.neighbours[:, :depth]
    near = distances(dataset.base, dataset.queries, ids, dataset.metric)
    step = max(1, len(ids) // VERIFIED)
    exact = exact_neighbours(dataset.base, dataset.queries[::step], dataset.metric, depth)
    worst = np.sort(near[::step], axis=1)[:, -1]
    limit = exact.distances[:, -1]
    wrong = worst > limit + 1e-5 * np.abs(limit) + 1e-9
    if wrong.any():
        raise DataError(
            f"the given truth is not the exact {depth} nearest by {dataset.metric.value} for {int(wrong.sum())} of "
            f"{len(wrong)} queries looked at: it is of other vectors or another metric. Remove it, or set --metric."
        )
    return Neighbours(ids, near)


def _by_faiss(base: np.ndarray, queries: np.ndarray, metric: Metric, depth: int) -> np.ndarray:
    import faiss

    kind = faiss.METRIC_L2 if metric is Metric.L2 else faiss.METRIC_INNER_PRODUCT
    asked = _shaped(queries, metric)
    if metric is not Metric.COSINE:
        return np.asarray(faiss.knn(asked, base, depth, metric=kind)[1], np.int64)
    best_scores = np.empty((len(asked), 0), np.float32)
    best_ids = np.empty((len(asked), 0), np.int64)
    for part in blocks(len(base), base.shape[1] * 4):
        scores, ids = faiss.knn(
            asked, _shaped(base[part], metric), min(depth, part.stop - part.start), metric=kind
        )
        best_scores = np.hstack([best_scores, scores])
        best_ids = np.hstack([best_ids, ids.astype(np.int64) + part.start])
        if best_ids.shape[1] > depth:
            keep = np.argpartition(-best_scores, depth - 1, axis=1)[:, :depth]
            best_scores = np.take_along_axis(best_scores, keep, 1)
            best_ids = np.take_along_axis(best_ids, keep, 1)
    return best_ids


def by_numpy(base: np.ndarray, queries: np.ndarray, metric: Metric, depth: int) -> np.ndarray:
    """The same by blocked products; only scores above the query's present k-th best are looked at again."""
    found = np.empty((len(queries), depth), np.int64)
    asked = _shaped(queries, metric)
    halves = [_halved(base[begin : begin + BASE_BLOCK], metric) for begin in range(0, len(base), BASE_BLOCK)]
    for begin in range(0, len(asked), QUERY_BLOCK):
        part = slice(begin, begin + QUERY_BLOCK)
        found[part] = _nearest(base, asked[part], metric, depth, halves)
    return found


def _nearest(
    base: np.ndarray, asked: np.ndarray, metric: Metric, depth: int, halves: list[np.ndarray | None]
) -> np.ndarray:
    scores = np.full((len(asked), depth), -np.inf, np.float32)
    ids = np.full((len(asked), depth), -1, np.int64)
    for number, begin in enumerate(range(0, len(base), BASE_BLOCK)):
        near = asked @ _shaped(base[begin : begin + BASE_BLOCK], metric).T
        half = halves[number]
        if half is not None:
            near -= half
        scores, ids = _merged(scores, ids, near, begin, depth)
    return ids


def _merged(
    scores: np.ndarray, ids: np.ndarray, near: np.ndarray, begin: int, depth: int
) -> tuple[np.ndarray, np.ndarray]:
    """The best of what was kept and the new block, row by row in one padded table."""
    row, column = np.nonzero(near > scores.min(axis=1)[:, None])
    counts = np.bincount(row, minlength=len(scores))
    width = int(counts.max(initial=0))
    if not width:
        return scores, ids
    place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    new_scores = np.full((len(scores), width), -np.inf, np.float32)
    new_ids = np.full((len(scores), width), -1, np.int64)
    new_scores[row, place], new_ids[row, place] = near[row, column], column + begin
    all_scores, all_ids = np.hstack([scores, new_scores]), np.hstack([ids, new_ids])
    keep = np.argpartition(-all_scores, depth - 1, axis=1)[:, :depth]
    return np.take_along_axis(all_scores, keep, 1), np.take_along_axis(all_ids, keep, 1)


def _halved(rows: np.ndarray, metric: Metric) -> np.ndarray | None:
    """Half the squared lengths: x·y − y²/2 orders rows as their distance to x does."""
    return np.einsum("ij,ij->i", rows, rows) / 2 if metric is Metric.L2 else None


def _shaped(rows: np.ndarray, metric: Metric) -> np.ndarray:
    rows = np.ascontiguousarray(rows, np.float32)
    if metric is not Metric.COSINE:
        return rows
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.float32(1e-30))
