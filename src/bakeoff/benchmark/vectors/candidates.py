"""Candidates for the nearest neighbours: blocked products in single precision, each query's best rows, unordered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bakeoff.types import Metric

QUERY_BLOCK, BASE_BLOCK = 1024, 2048


@dataclass(frozen=True, slots=True)
class Candidates:
    """Scores (larger is nearer, float32) and row numbers, one row a query, in no order."""

    scores: np.ndarray
    ids: np.ndarray


def knn_candidates(base: np.ndarray, queries: np.ndarray, metric: Metric, depth: int) -> Candidates:
    """The `depth` rows of the highest scores: only what beats the present k-th best is looked at closer."""
    asked = augment_rows(queries, metric, -1.0)
    parts = [
        _nearest(base, asked[begin : begin + QUERY_BLOCK], metric, depth)
        for begin in range(0, len(asked), QUERY_BLOCK)
    ]
    return Candidates(
        np.concatenate([scores for scores, _ in parts]), np.concatenate([ids for _, ids in parts])
    )


def merge_candidates(one: Candidates, other: Candidates, depth: int) -> Candidates:
    """The `depth` best of both, or all where they are fewer."""
    scores = np.concatenate([one.scores, other.scores], axis=1)
    ids = np.concatenate([one.ids, other.ids], axis=1)
    return Candidates(*_best(scores, ids, depth)) if scores.shape[1] > depth else Candidates(scores, ids)


def _nearest(
    base: np.ndarray, asked: np.ndarray, metric: Metric, depth: int
) -> tuple[np.ndarray, np.ndarray]:
    first = min(len(base), max(depth, BASE_BLOCK))
    scores, ids = _best(asked @ augment_rows(base[:first], metric).T, np.arange(first), depth)
    near = np.empty((len(asked), BASE_BLOCK), np.float32)
    for begin in range(first, len(base), BASE_BLOCK):
        rows = augment_rows(base[begin : begin + BASE_BLOCK], metric)
        tile = near if len(rows) == BASE_BLOCK else np.empty((len(asked), len(rows)), np.float32)
        np.matmul(asked, rows.T, out=tile)
        scores, ids = _add_block(scores, ids, tile, begin, depth)
    return scores, ids


def _best(scores: np.ndarray, ids: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """The `depth` highest of each row, unordered; the ids are shared by all rows, or one row each."""
    ids = np.broadcast_to(ids, scores.shape)
    if scores.shape[1] == depth:
        return scores, np.ascontiguousarray(ids)
    keep = np.argpartition(scores, scores.shape[1] - depth, axis=1)[:, scores.shape[1] - depth :]
    return np.take_along_axis(scores, keep, 1), np.take_along_axis(ids, keep, 1)


def _add_block(
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


def augment_rows(rows: np.ndarray, metric: Metric, last: float | None = None) -> np.ndarray:
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
