"""The exact nearest neighbours of every query: blocked, in bounded memory, ties in the order of row numbers."""

from __future__ import annotations

from dataclasses import dataclass
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
QUERY_BLOCK, BASE_BLOCK, FIRST_BLOCK = 1024, 2048, 2048
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
    ids = _candidates(base, queries, metric, wide)
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


def _candidates(base: np.ndarray, queries: np.ndarray, metric: Metric, depth: int) -> np.ndarray:
    """The best rows in single precision, unordered: blocked products, and only what beats the present k-th best."""
    found = np.empty((len(queries), depth), np.int64)
    asked = _shaped(queries, metric, -1.0)
    for begin in range(0, len(asked), QUERY_BLOCK):
        part = slice(begin, begin + QUERY_BLOCK)
        found[part] = _nearest(base, asked[part], metric, depth)
    return found


def _nearest(base: np.ndarray, asked: np.ndarray, metric: Metric, depth: int) -> np.ndarray:
    first = min(len(base), max(depth, FIRST_BLOCK))
    scores, ids = _best(asked @ _shaped(base[:first], metric).T, np.arange(first), depth)
    near = np.empty((len(asked), BASE_BLOCK), np.float32)
    for begin in range(first, len(base), BASE_BLOCK):
        rows = _shaped(base[begin : begin + BASE_BLOCK], metric)
        tile = near if len(rows) == BASE_BLOCK else np.empty((len(asked), len(rows)), np.float32)
        np.matmul(asked, rows.T, out=tile)
        scores, ids = _merged(scores, ids, tile, begin, depth)
    return ids


def _best(scores: np.ndarray, ids: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """The `depth` highest of each row, unordered; the ids are shared by all rows, or one row each."""
    ids = np.broadcast_to(ids, scores.shape)
    if scores.shape[1] == depth:
        return scores, np.ascontiguousarray(ids)
    keep = np.argpartition(scores, scores.shape[1] - depth, axis=1)[:, scores.shape[1] - depth :]
    return np.take_along_axis(scores, keep, 1), np.take_along_axis(ids, keep, 1)


def _merged(
    scores: np.ndarray, ids: np.ndarray, near: np.ndarray, begin: int, depth: int
) -> tuple[np.ndarray, np.ndarray]:
    """The best of what was kept and of the new block's few rows that beat it, in one padded table."""
    place = np.flatnonzero(near > scores.min(axis=1)[:, None])
    if not len(place):
        return scores, ids
    row, column = np.divmod(place, near.shape[1])
    counts = np.bincount(row, minlength=len(scores))
    seat = depth + np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    shape = (len(scores), depth + int(counts.max()))
    wide_scores, wide_ids = np.full(shape, -np.inf, np.float32), np.full(shape, -1, np.int64)
    wide_scores[:, :depth], wide_ids[:, :depth] = scores, ids
    wide_scores[row, seat], wide_ids[row, seat] = near.ravel()[place], column + begin
    return _best(wide_scores, wide_ids, depth)


def _shaped(rows: np.ndarray, metric: Metric, last: float | None = None) -> np.ndarray:
    """Rows whose product orders as the metric does; by L2 a last column turns x·y into x·y − y²/2."""
    rows = np.ascontiguousarray(rows, np.float32)
    if metric is Metric.COSINE:
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.float32(1e-30))
    if metric is Metric.DOT:
        return rows
    shaped = np.empty((len(rows), rows.shape[1] + 1), np.float32)
    shaped[:, :-1] = rows
    shaped[:, -1] = np.einsum("ij,ij->i", rows, rows) / 2 if last is None else last
    return shaped
