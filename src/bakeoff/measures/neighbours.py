"""Recall of approximate search against exact neighbours: tie-aware kNN@k, and R100@k (C-2, F12)."""

from __future__ import annotations

import numpy as np

from bakeoff.errors import DataError
from bakeoff.measures.arrays import Flags, Floats, Ints
from bakeoff.measures.conventions import DEFAULT
from bakeoff.measures.preset_settings import read_preset_file

NO_RESULT = -1
TRUE_NEIGHBOURS = read_preset_file("ann").true_neighbours
"""Number of exact neighbours that count as true for R100, and for P and RR of vectors (S1-3)."""


def knn_recall(
    found: Ints,
    exact: Ints,
    k: int,
    *,
    found_distance: Floats | None = None,
    exact_distance: Floats | None = None,
    tolerance: float = DEFAULT.knn_tolerance,
) -> Floats:
    """kNN@k per query; `found` and `exact` are ids, one row per query, nearest first, −1 for no result.

    With distances (smaller is nearer), an item as near as the k-th exact neighbour counts, whatever its id.
    If a filter leaves fewer than k rows, the share is of those; NaN if it leaves none.
    """
    _check(found, exact, k)
    hit = _among(found[:, :k], exact[:, :k])
    there = (exact[:, :k] != NO_RESULT).sum(axis=1)
    if found_distance is not None and exact_distance is not None:
        limit = exact_distance[:, k - 1]
        limit = limit + tolerance * np.abs(limit)
        near = (found_distance[:, :k] <= limit[:, None]) & (found[:, :k] != NO_RESULT)
        hit |= near & (there == k)[:, None]
    hits = np.minimum(hit.sum(axis=1), there)
    return np.divide(hits, there, out=np.full(len(hits), np.nan), where=there > 0)


def recall_of_100(found: Ints, exact: Ints, k: int) -> Floats:
    """R100@k per query: share of the 100 exact neighbours among the first k."""
    _check(found, exact, TRUE_NEIGHBOURS)
    return np.asarray(_among(found[:, :k], exact[:, :TRUE_NEIGHBOURS]).sum(axis=1) / TRUE_NEIGHBOURS)


def _check(found: Ints, exact: Ints, depth: int) -> None:
    if found.ndim != 2 or exact.ndim != 2 or len(found) != len(exact):
        raise DataError(
            f"neighbours must be tables with one row per query; got shapes {found.shape} and {exact.shape}."
        )
    if exact.shape[1] < depth:
        raise DataError(f"{depth} exact neighbours are needed, but the truth has {exact.shape[1]} per query.")
    ordered = np.sort(found, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != NO_RESULT)
    if twice.any():
        row = int(np.flatnonzero(twice.any(axis=1))[0])
        raise DataError(f"query {row} returned item {int(ordered[row, 1:][twice[row]][0])} more than once.")


def _among(left: Ints, right: Ints) -> Flags:
    """Mask of ids in the left table that occur in the same row of the right one."""
    span = int(max(left.max(initial=0), right.max(initial=0))) + 2
    row = np.arange(len(left), dtype=np.int64)[:, None] * span
    flags: Flags = np.isin(row + left, row + right) & (left != NO_RESULT)
    return flags
