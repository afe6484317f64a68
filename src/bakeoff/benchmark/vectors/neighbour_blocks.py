"""Candidates for exact neighbours by workers: each searches a block of vectors, the driver merges what they found.

A block's candidates are rows of a pool, named by the block's vectors and by the queries. So a search that was broken
off goes on where it was, and a dataset that grew is searched in its new blocks only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.benchmark.vectors.candidates import BASE_BLOCK, Candidates, knn_candidates, merge_candidates
from bakeoff.fingerprint import bytes_fingerprint, fingerprint
from bakeoff.runtime.scheduler import APART, WorkerPool
from bakeoff.runtime.shards import LoadedPlugin, ShardedRun
from bakeoff.storage.cache import Cache
from bakeoff.storage.row_cache import BatchRows, RowCache
from bakeoff.types import Metric

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = "1"
STAGE = "neighbours-blocks"
BLOCK_BYTES = 32 * 2**20
"""Vectors of one block; where blocks begin depends on the vectors' length alone, not on who searches them."""
WORTH = 2e11
"""Products of two numbers, about ten seconds of one core; a smaller search does not wait for workers to start."""


def worth_parallel(base: np.ndarray, queries: np.ndarray) -> bool:
    """Whether a search is large enough for workers."""
    return len(base) * len(queries) * base.shape[1] >= WORTH and len(base) > _step(base)


def candidates_by(
    workers: WorkerPool, base: np.ndarray, queries: np.ndarray, metric: Metric, depth: int, cache: Cache
) -> Candidates:
    """The `depth` best rows of each query, as `candidates` finds them, block by block."""
    search = _Blocks(base)
    asked = bytes_fingerprint(np.ascontiguousarray(queries, np.float32).tobytes())
    pool = RowCache(cache, STAGE, fingerprint(STAGE, VERSION, metric, depth, list(queries.shape), asked))
    order = NearOrder(np.ascontiguousarray(queries, np.float32), metric, depth)
    names = search.names()
    with workers.keep_running():
        spread = ShardedRun(workers.executor, order, search.take, label="exact neighbours", needs=APART)
        pool.fill(names, lambda at: _work(order, search.take(at)), batch=1, spread=spread)
    return _merge_blocks(pool, names, search.step, len(queries), depth)


@dataclass(frozen=True, slots=True)
class NearOrder:
    """The search of blocks of vectors for the candidates of all queries, for workers."""

    queries: np.ndarray
    metric: Metric
    depth: int

    def open(self) -> LoadedPlugin:
        """Nothing to load."""
        return LoadedPlugin(lambda rows: _work(self, rows))


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
        """Some blocks, one row each."""
        import pyarrow as pa

        blocks = [self._block(place * self.step).tobytes() for place in positions]
        return pa.table({"vectors": pa.array(blocks, pa.large_binary())})

    def _block(self, begin: int) -> np.ndarray:
        return np.ascontiguousarray(self._base[begin : begin + self.step], np.float32)


def _step(base: np.ndarray) -> int:
    """Rows of a block."""
    return max(1, BLOCK_BYTES // (4 * base.shape[1] * BASE_BLOCK)) * BASE_BLOCK


def _work(order: NearOrder, rows: pa.Table) -> BatchRows:
    """The candidates of each block; rows are counted from the block's first."""
    import pyarrow as pa

    found = []
    for data in rows["vectors"]:
        block = np.frombuffer(data.as_buffer(), np.float32).reshape(-1, order.queries.shape[1])
        found.append(knn_candidates(block, order.queries, order.metric, min(order.depth, len(block))))
    columns = {
        "scores": [one.scores.tobytes() for one in found],
        "ids": [one.ids.astype(np.int32).tobytes() for one in found],
    }
    table = pa.table({name: pa.array(column, pa.large_binary()) for name, column in columns.items()})
    return BatchRows([1] * len(found), table)


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
