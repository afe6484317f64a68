"""The exact nearest neighbours of every query: blocked, in bounded memory, ties in the order of row numbers.

Candidates are found in single precision and ranked in double. If rounding could have excluded a neighbour, the
query is searched again, so that the answer depends on the vectors alone: not on blocks, threads or workers. Workers
search blocks of vectors, kept as rows of a cache: an interrupted search resumes, and a dataset that grew is searched
in its new blocks only.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.benchmark.vectors.datasets import VectorSet, blocks
from bakeoff.errors import DataError
from bakeoff.fingerprint import bytes_fingerprint, fingerprint
from bakeoff.runtime.scheduler import APART, WorkerPool
from bakeoff.runtime.shards import LoadedPlugin, ShardedRun
from bakeoff.storage.cache import Cache
from bakeoff.storage.row_cache import BatchRows, RowCache
from bakeoff.types import Metric

if TYPE_CHECKING:
    import pyarrow as pa


VERSION = "2"
SPARE = 16
"""Neighbours kept beyond the depth, so that double precision decides at the edge."""
UNIT = 2.0**-24
"""The largest relative error of one rounding to single precision."""
AGAIN = 16
"""Queries to search again at a time: every row may be a candidate."""
VERIFIED = 16
"""The truth in a file is recomputed for this many queries before it is trusted."""


@dataclass(frozen=True, slots=True)
class ExactNeighbours:
    """Row numbers and distances (smaller is nearer), one row per query, nearest first."""

    ids: np.ndarray
    distances: np.ndarray

    @property
    def depth(self) -> int:
        """Neighbours per query."""
        return int(self.ids.shape[1])


def truth_of(
    dataset: VectorSet, depth: int, cache: Cache, workers: WorkerPool | None = None
) -> ExactNeighbours:
    """The dataset's own truth if it is deep enough and correct, else exact search, cached.

    Workers do a large search, if there are any.
    """
    depth = min(depth, len(dataset.base))
    if dataset.neighbours is not None and dataset.neighbours.shape[1] >= depth:
        return _verified_truth(dataset, depth)
    name = fingerprint("neighbours", VERSION, dataset.fingerprint, dataset.metric, depth)

    def write(folder: Path) -> None:
        neighbours = _search_exactly(dataset, depth, cache, workers)
        np.save(folder / "ids.npy", neighbours.ids)
        np.save(folder / "distances.npy", neighbours.distances)

    folder = cache.make("neighbours", name, write)
    return ExactNeighbours(np.load(folder / "ids.npy"), np.load(folder / "distances.npy"))


def _search_exactly(
    dataset: VectorSet, depth: int, cache: Cache, workers: WorkerPool | None
) -> ExactNeighbours:
    base, queries, metric = dataset.base, dataset.queries, dataset.metric
    if workers is None or not worth_parallel(base, queries):
        return exact_neighbours(base, queries, metric, depth)
    candidates = candidates_by(workers, base, queries, metric, min(depth + SPARE, len(base)), cache)
    return settle_candidates(base, queries, metric, depth, candidates)


def exact_neighbours(base: np.ndarray, queries: np.ndarray, metric: Metric, depth: int) -> ExactNeighbours:
    """The `depth` nearest base rows of each query."""
    if not 1 <= depth <= len(base):
        raise DataError(f"{depth} neighbours were asked for; the base has {len(base)} rows.")
    wide = min(depth + SPARE, len(base))
    return settle_candidates(base, queries, metric, depth, knn_candidates(base, queries, metric, wide))


def settle_candidates(
    base: np.ndarray, queries: np.ndarray, metric: Metric, depth: int, candidates: Candidates
) -> ExactNeighbours:
    """The nearest candidates by distance in double precision; a query with an uncertain edge is searched again."""
    near = distances(base, queries, candidates.ids, metric)
    order = np.lexsort((candidates.ids, near), axis=1)[:, :depth]
    nearest = ExactNeighbours(
        np.take_along_axis(candidates.ids, order, 1), np.take_along_axis(near, order, 1)
    )
    if candidates.ids.shape[1] < len(base):
        edge, error = _scores_of(nearest.distances[:, -1], queries, metric), _errors(base, queries, metric)
        unsure = np.flatnonzero(candidates.scores.min(axis=1) + error >= edge)
        for begin in range(0, len(unsure), AGAIN):
            some = unsure[begin : begin + AGAIN]
            _search_again(base, queries[some], metric, (edge - error)[some], nearest, some)
    return nearest


def _scores_of(far: np.ndarray, queries: np.ndarray, metric: Metric) -> np.ndarray:
    """The products of `shaped` rows that belong to distances."""
    if metric is Metric.COSINE:
        return 1 - far
    if metric is Metric.DOT:
        return -far
    return (np.einsum("ij,ij->i", queries, queries, dtype=np.float64) - far) / 2


def _errors(base: np.ndarray, queries: np.ndarray, metric: Metric) -> np.ndarray:
    """The largest error of a product in single precision, for each query."""
    if metric is Metric.COSINE:
        return np.full(len(queries), (base.shape[1] + 64) * UNIT)
    longest = max(
        float(np.einsum("ij,ij->i", base[part], base[part]).max()) ** 0.5
        for part in blocks(len(base), base.shape[1] * 4)
    )
    size = np.linalg.norm(queries, axis=1).astype(np.float64) * longest
    return (base.shape[1] + 16) * UNIT * (size if metric is Metric.DOT else size + longest**2)


def _search_again(
    base: np.ndarray,
    queries: np.ndarray,
    metric: Metric,
    least: np.ndarray,
    into: ExactNeighbours,
    rows: np.ndarray,
) -> None:
    """Put the nearest of all rows whose product reaches `least` into the rows of `into`."""
    augmented, depth = augment_rows(queries, metric, -1.0), into.depth
    blocks: list[list[np.ndarray]] = [[] for _ in queries]
    for begin in range(0, len(base), BASE_BLOCK):
        reach = augmented @ augment_rows(base[begin : begin + BASE_BLOCK], metric).T >= least[:, None]
        for place in np.flatnonzero(reach.any(axis=1)):
            blocks[place].append(begin + np.flatnonzero(reach[place]))
    for row, query, parts in zip(rows, queries, blocks, strict=True):
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
    distances = np.empty(ids.shape, np.float64)
    for part in blocks(len(ids), max(1, ids.shape[1]) * base.shape[1] * 16):
        rows = base[np.maximum(ids[part], 0)].astype(np.float64)
        one = queries[part].astype(np.float64)
        distances[part] = _pair_distances(rows, one, metric)
    distances[ids < 0] = np.inf
    return distances


def _pair_distances(rows: np.ndarray, one: np.ndarray, metric: Metric) -> np.ndarray:
    if metric is Metric.L2:
        rows -= one[:, None, :]
        return np.einsum("qkd,qkd->qk", rows, rows)
    dot = np.einsum("qkd,qd->qk", rows, one)
    if metric is Metric.DOT:
        return -dot
    length = np.linalg.norm(rows, axis=2) * np.linalg.norm(one, axis=1)[:, None]
    return 1 - np.divide(dot, length, out=np.zeros_like(dot), where=length > 0)


def _verified_truth(dataset: VectorSet, depth: int) -> ExactNeighbours:
    """The given truth, after recomputing a sample of it."""
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
            f"{len(wrong)} sampled queries: it belongs to other vectors or another metric. Remove it, or set --metric."
        )
    return ExactNeighbours(ids, near)


QUERY_BLOCK, BASE_BLOCK = 1024, 2048


@dataclass(frozen=True, slots=True)
class Candidates:
    """Scores (larger is nearer, float32) and row numbers, one row per query, unordered."""

    scores: np.ndarray
    ids: np.ndarray


def knn_candidates(base: np.ndarray, queries: np.ndarray, metric: Metric, depth: int) -> Candidates:
    """The `depth` rows with the highest scores; only rows above the current k-th best are examined."""
    augmented = augment_rows(queries, metric, -1.0)
    parts = [
        _nearest(base, augmented[begin : begin + QUERY_BLOCK], metric, depth)
        for begin in range(0, len(augmented), QUERY_BLOCK)
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
    base: np.ndarray, queries: np.ndarray, metric: Metric, depth: int
) -> tuple[np.ndarray, np.ndarray]:
    first = min(len(base), max(depth, BASE_BLOCK))
    scores, ids = _best(queries @ augment_rows(base[:first], metric).T, np.arange(first), depth)
    near = np.empty((len(queries), BASE_BLOCK), np.float32)
    for begin in range(first, len(base), BASE_BLOCK):
        rows = augment_rows(base[begin : begin + BASE_BLOCK], metric)
        tile = near if len(rows) == BASE_BLOCK else np.empty((len(queries), len(rows)), np.float32)
        np.matmul(queries, rows.T, out=tile)
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
    """Rows whose inner product orders like the metric; for L2 a last column turns x·y into x·y − y²/2."""
    rows = np.ascontiguousarray(rows, np.float32)
    if metric is Metric.COSINE:
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.float32(1e-30))
    if metric is Metric.DOT:
        return rows
    shaped = np.empty((len(rows), rows.shape[1] + 1), np.float32)
    shaped[:, :-1] = rows
    shaped[:, -1] = np.einsum("ij,ij->i", rows, rows) / 2 if last is None else last
    return shaped


BLOCKS_VERSION = "1"
STAGE = "neighbours-blocks"
BLOCK_BYTES = 32 * 2**20
"""Vectors per block; block boundaries depend only on the vectors' length."""
WORTH = 2e11
"""Multiplications that take about ten seconds of one core; a smaller search runs without workers."""


def worth_parallel(base: np.ndarray, queries: np.ndarray) -> bool:
    """Whether a search is large enough for workers."""
    return len(base) * len(queries) * base.shape[1] >= WORTH and len(base) > _step(base)


def candidates_by(
    workers: WorkerPool, base: np.ndarray, queries: np.ndarray, metric: Metric, depth: int, cache: Cache
) -> Candidates:
    """The `depth` best rows of each query, as `candidates` finds them, block by block."""
    search = _Blocks(base)
    queries_key = bytes_fingerprint(np.ascontiguousarray(queries, np.float32).tobytes())
    pool = RowCache(
        cache, STAGE, fingerprint(STAGE, BLOCKS_VERSION, metric, depth, list(queries.shape), queries_key)
    )
    order = NearOrder(np.ascontiguousarray(queries, np.float32), metric, depth)
    names = search.names()
    with workers.keep_running():
        spread = ShardedRun(workers.executor, order, search.take, label="exact neighbours", needs=APART)
        pool.fill(names, lambda at: _search_blocks(order, search.take(at)), batch=1, spread=spread)
    return _merge_blocks(pool, names, search.step, len(queries), depth)


@dataclass(frozen=True, slots=True)
class NearOrder:
    """The search of blocks of vectors for the candidates of all queries, for workers."""

    queries: np.ndarray
    metric: Metric
    depth: int

    def open(self) -> LoadedPlugin:
        """Nothing to load."""
        return LoadedPlugin(lambda rows: _search_blocks(self, rows))


class _Blocks:
    """The base as blocks that can be sent."""

    def __init__(self, base: np.ndarray) -> None:
        self._base, self.step = base, _step(base)

    def names(self) -> list[str]:
        """The key of each block's vectors."""
        return [
            bytes_fingerprint(self._block(begin).tobytes()) for begin in range(0, len(self._base), self.step)
        ]

    def take(self, positions: list[int]) -> pa.Table:
        """A batch of blocks, one row each."""
        import pyarrow as pa

        blocks = [self._block(place * self.step).tobytes() for place in positions]
        return pa.table({"vectors": pa.array(blocks, pa.large_binary())})

    def _block(self, begin: int) -> np.ndarray:
        return np.ascontiguousarray(self._base[begin : begin + self.step], np.float32)


def _step(base: np.ndarray) -> int:
    """Rows of a block."""
    return max(1, BLOCK_BYTES // (4 * base.shape[1] * BASE_BLOCK)) * BASE_BLOCK


def _search_blocks(order: NearOrder, rows: pa.Table) -> BatchRows:
    """The candidates of each block; rows are counted from the block's first."""
    import pyarrow as pa

    parts = []
    for data in rows["vectors"]:
        block = np.frombuffer(data.as_buffer(), np.float32).reshape(-1, order.queries.shape[1])
        parts.append(knn_candidates(block, order.queries, order.metric, min(order.depth, len(block))))
    columns = {
        "scores": [one.scores.tobytes() for one in parts],
        "ids": [one.ids.astype(np.int32).tobytes() for one in parts],
    }
    table = pa.table({name: pa.array(column, pa.large_binary()) for name, column in columns.items()})
    return BatchRows([1] * len(parts), table)


def _merge_blocks(pool: RowCache, names: list[str], step: int, queries: int, depth: int) -> Candidates:
    """The best of all blocks, one block in memory at a time."""
    best: Candidates | None = None
    for place, name in enumerate(names):
        (row,) = pool.gather([name])
        scores = np.frombuffer(row["scores"][0].as_buffer(), np.float32).reshape(queries, -1)
        ids = np.frombuffer(row["ids"][0].as_buffer(), np.int32).reshape(queries, -1).astype(np.int64)
        one = Candidates(scores, ids + place * step)
        best = one if best is None else merge_candidates(best, one, depth)
    assert best is not None
    return best
