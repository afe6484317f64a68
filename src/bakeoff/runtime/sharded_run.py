"""spreading: the driver's side of shards: a pool's batches, cut into shards that take about two seconds each."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from bakeoff.protocols import Executor, ResourceRequest
from bakeoff.runtime.scheduler import TaskScheduler
from bakeoff.runtime.shards import Shard, WorkSpec, run_shard
from bakeoff.storage.row_cache import SegmentLocation, WorkBatch, to_bytes
from bakeoff.storage.shared_folder import SharedLocation, retry_until_available

if TYPE_CHECKING:
    import pyarrow as pa

SHARD_SECONDS = 2.0
"""Work in one shard: enough that sending it is nothing, little enough that losing it is nothing."""
SHARD_BATCHES = 64
SHARD_BYTES = 4_000_000


class ShardedRun:
    """Does a pool's batches by an executor's workers; see bakeoff.storage.row_cache.Spread."""

    def __init__(
        self,
        executor: Executor,
        order: WorkSpec,
        take: Callable[[list[int]], pa.Table],
        label: str,
        needs: ResourceRequest,
    ) -> None:
        self._executor, self._needs = executor, needs
        self._order, self._take, self._label = pickle.dumps(order), take, label

    def __call__(
        self,
        shared: SharedLocation,
        place: SegmentLocation,
        batches: Iterator[WorkBatch],
        progress: Callable[[int], None],
    ) -> None:
        """Do all batches; a shard that fails three times is named."""
        cutter = _ShardBuilder(shared, place, self._order, self._take, batches, progress)
        TaskScheduler(self._executor, run_shard, cutter, self._label, self._needs).all()
        retry_until_available(shared, lambda: None)


class _ShardBuilder:
    """Cuts batches into shards of about two seconds of work, as far as that is known."""

    kept = "Finished shards are kept; the same command tries this one again."

    def __init__(
        self,
        shared: SharedLocation,
        place: SegmentLocation,
        order: bytes,
        take: Callable[[list[int]], pa.Table],
        batches: Iterator[WorkBatch],
        progress: Callable[[int], None],
    ) -> None:
        self._shared, self._place, self._order, self._take = shared, place, order, take
        self._batches, self._progress = batches, progress
        self._seconds, self._done, self._bytes = 0.0, 0, 0

    def next(self) -> Shard | None:
        """The next shard, or None when all batches are given out."""
        size, group = self._size(), []
        for batch in self._batches:
            group.append(batch)
            if len(group) >= size:
                break
        if not group:
            return None
        rows = to_bytes(self._take([p for batch in group for p in batch.positions]))
        self._bytes = max(self._bytes, len(rows) // len(group))
        return Shard(self._shared, self._place, self._order, tuple(batch.names for batch in group), rows)

    def done(self, shard: Shard, seconds: float) -> None:
        """Take in how long a shard took, and tell that its inputs are done."""
        self._seconds, self._done = self._seconds + seconds, self._done + len(shard.batches)
        self._progress(shard.inputs)

    def name(self, shard: Shard) -> str:
        """A shard by the end of its first segment's key."""
        return f"shard {shard.place.key(shard.batches[0])[-8:]} of {shard.inputs:,} inputs"

    def _size(self) -> int:
        if not self._done:
            return 1
        by_time = SHARD_SECONDS * self._done / max(self._seconds, 1e-9)
        by_bytes = SHARD_BYTES / max(self._bytes, 1)
        return max(1, min(SHARD_BATCHES, int(by_time), int(by_bytes)))
