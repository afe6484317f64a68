"""The exact nearest neighbours of every query: blocked, in bounded memory, ties in the order of row numbers.

Candidates are found in single precision and settled in double. Where rounding could have left a neighbour out, the
query is searched again, so that the answer depends on the vectors alone: not on blocks, threads or workers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bakeoff.benchmark.vectors.candidates import BASE_BLOCK, Candidates, augment_rows, knn_candidates
from bakeoff.benchmark.vectors.datasets import VectorSet, blocks
from bakeoff.benchmark.vectors.neighbour_blocks import candidates_by, worth_parallel
from bakeoff.errors import DataError
from bakeoff.fingerprint import fingerprint
from bakeoff.runtime.scheduler import WorkerPool
from bakeoff.storage.cache import Cache
from bakeoff.types import Metric

VERSION = "2"
SPARE = 16
"""Neighbours kept beyond the depth, so that single-precision rounding at the edge is settled in double precision."""
UNIT = 2.0**-24
"""The largest relative error of one rounding to single precision."""
AGAIN = 16
"""Queries searched again at a time: all rows may be candidates of each."""
VERIFIED = 16
"""Given truth is recomputed for so many queries before it is believed."""


@dataclass(frozen=True, slots=True)
class ExactNeighbours:
    """Row numbers and distances (smaller is nearer), one row a query, nearest first."""

    ids: np.ndarray
    distances: np.ndarray

    @property
    def depth(self) -> int:
        """Neighbours a query."""
        return int(self.ids.shape[1])


def truth_of(
    dataset: VectorSet, depth: int, cache: Cache, workers: WorkerPool | None = None
) -> ExactNeighbours:
    """The dataset's own truth where it is deep enough and true, else exact search, kept in the cache.

    A large search is done by the workers, where there are some.
    """
    depth = min(depth, len(dataset.base))
    if dataset.neighbours is not None and dataset.neighbours.shape[1] >= depth:
        return _given(dataset, depth)
    name = fingerprint("neighbours", VERSION, dataset.fingerprint, dataset.metric, depth)

    def write(folder: Path) -> None:
        made = _search_exactly(dataset, depth, cache, workers)
        np.save(folder / "ids.npy", made.ids)
        np.save(folder / "distances.npy", made.distances)

    folder = cache.make("neighbours", name, write)
    return ExactNeighbours(np.load(folder / "ids.npy"), np.load(folder / "distances.npy"))


def _search_exactly(
    dataset: VectorSet, depth: int, cache: Cache, workers: WorkerPool | None
) -> ExactNeighbours:
    base, queries, metric = dataset.base, dataset.queries, dataset.metric
    if workers is None or not worth_parallel(base, queries):
        return exact_neighbours(base, queries, metric, depth)
    found = candidates_by(workers, base, queries, metric, min(depth + SPARE, len(base)), cache)
    return settle_candidates(base, queries, metric, depth, found)


def exact_neighbours(base: np.ndarray, queries: np.ndarray, metric: Metric, depth: int) -> ExactNeighbours:
    """The `depth` nearest base rows of each query."""
    if not 1 <= depth <= len(base):
        raise DataError(f"{depth} neighbours were asked for; the base has {len(base)} rows.")
    wide = min(depth + SPARE, len(base))
    return settle_candidates(base, queries, metric, depth, knn_candidates(base, queries, metric, wide))


def settle_candidates(
    base: np.ndarray, queries: np.ndarray, metric: Metric, depth: int, found: Candidates
) -> ExactNeighbours:
    """The nearest candidates by distances in double precision; a query whose edge is not sure is asked again."""
    near = distances(base, queries, found.ids, metric)
    order = np.lexsort((found.ids, near), axis=1)[:, :depth]
    made = ExactNeighbours(np.take_along_axis(found.ids, order, 1), np.take_along_axis(near, order, 1))
    if found.ids.shape[1] < len(base):
        edge, error = _scores_of(made.distances[:, -1], queries, metric), _errors(base, queries, metric)
        unsure = np.flatnonzero(found.scores.min(axis=1) + error >= edge)
        for begin in range(0, len(unsure), AGAIN):
            some = unsure[begin : begin + AGAIN]
            _ask_again(base, queries[some], metric, (edge - error)[some], made, some)
    return made


def _scores_of(far: np.ndarray, queries: np.ndarray, metric: Metric) -> np.ndarray:
    """The products of `shaped` rows that belong to distances."""
    if metric is Metric.COSINE:
        return 1 - far
    if metric is Metric.DOT:
        return -far
    return (np.einsum("ij,ij->i", queries, queries, dtype=np.float64) - far) / 2


def _errors(base: np.ndarray, queries: np.ndarray, metric: Metric) -> np.ndarray:
    """How far a product in single precision may be from the true one at most, for each query."""
    if metric is Metric.COSINE:
        return np.full(len(queries), (base.shape[1] + 64) * UNIT)
    longest = max(
        float(np.einsum("ij,ij->i", base[part], base[part]).max()) ** 0.5
        for part in blocks(len(base), base.shape[1] * 4)
    )
    size = np.linalg.norm(queries, axis=1).astype(np.float64) * longest
    return (base.shape[1] + 16) * UNIT * (size if metric is Metric.DOT else size + longest**2)


def _ask_again(
    base: np.ndarray,
    queries: np.ndarray,
    metric: Metric,
    least: np.ndarray,
    into: ExactNeighbours,
    rows: np.ndarray,
) -> None:
    """Put the nearest of all rows whose product reaches `least` into the rows of `into`."""
    asked, depth = augment_rows(queries, metric, -1.0), into.depth
    found: list[list[np.ndarray]] = [[] for _ in queries]
    for begin in range(0, len(base), BASE_BLOCK):
        reach = asked @ augment_rows(base[begin : begin + BASE_BLOCK], metric).T >= least[:, None]
        for place in np.flatnonzero(reach.any(axis=1)):
            found[place].append(begin + np.flatnonzero(reach[place]))
    for row, query, parts in zip(rows, queries, found, strict=True):
        ids = np.concatenate(parts)
        near = _far_from(base, query, ids, metric)
        order = np.lexsort((ids, near))[:depth]
        into.ids[row], into.distances[row] = ids[order], near[order]


def _far_from(base: np.ndarray, query: np.ndarray, ids: np.ndarray, metric: Metric) -> np.ndarray:
    """Distances of one query to many rows."""
    parts = [
        distances(base, query[None], ids[None, part], metric)[0]
        for part in blocks(len(ids), base.shape[1] * 16)
    ]
    return np.concatenate(parts)


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


def _given(dataset: VectorSet, depth: int) -> ExactNeighbours:
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
    return ExactNeighbours(ids, near)
