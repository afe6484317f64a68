"""spreading: the driver's side of shards: cut, sent, gathered as completed, tried again, never counted twice."""

from __future__ import annotations

import pickle
import statistics
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bakeoff.errors import CacheError, SystemFailure, UserError
from bakeoff.pool import Batch, Place, to_bytes
from bakeoff.protocols import Executor, Needs
from bakeoff.shards import Order, Shard, do
from bakeoff.sharedfolder import Folder, marked, patiently

if TYPE_CHECKING:
    import pyarrow as pa

TRIES = 3
PAUSES = (0.5, 4.0)
"""Seconds before the second and the third try."""
SHARD_SECONDS = 2.0
"""Work in one shard: enough that sending it is nothing, little enough that losing it is nothing."""
SHARD_BATCHES = 64
SHARD_BYTES = 4_000_000
QUEUED = 2
"""Shards on the way for each that runs, so that no worker waits for its next one."""
SLOW_SECONDS = 30.0
SLOW_TIMES = 10.0
LOOK_SECONDS = 0.5


@dataclass(slots=True)
class _Task:
    """One shard on its way: its tries so far, and when it may be and was sent (seconds of the monotonic clock)."""

    shard: Shard
    tries: int = 0
    after: float = 0.0
    sent: float = 0.0
    copied: bool = False
    futures: list[Future[float]] = field(default_factory=list)


class Spreading:
    """Does a pool's batches by an executor's workers; see bakeoff.pool.Spread."""

    def __init__(
        self,
        executor: Executor,
        order: Order,
        take: Callable[[list[int]], pa.Table],
        label: str,
        needs: Needs,
    ) -> None:
        self._executor, self._needs = executor, needs
        self._order, self._take, self._label = pickle.dumps(order), take, label

    def __call__(self, place: Place, batches: Iterator[Batch], progress: Callable[[int], None]) -> None:
        """Do all batches; a shard that fails three times is named."""
        folder = marked(place.root)
        gathering = _Gathering(self._executor, self._needs, self._label, progress)
        try:
            gathering.all(_Cutter(folder, place, self._order, self._take, batches))
        finally:
            gathering.stop()
        patiently(folder, lambda: None)


class _Cutter:
    """Cuts batches into shards of about two seconds of work, as far as that is known."""

    def __init__(
        self,
        folder: Folder,
        place: Place,
        order: bytes,
        take: Callable[[list[int]], pa.Table],
        batches: Iterator[Batch],
    ) -> None:
        self._folder, self._place, self._order, self._take = folder, place, order, take
        self._batches = batches
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
        return Shard(self._folder, self._place, self._order, tuple(batch.names for batch in group), rows)

    def learn(self, shard: Shard, seconds: float) -> None:
        """Take in how long a shard took."""
        self._seconds, self._done = self._seconds + seconds, self._done + len(shard.batches)

    def _size(self) -> int:
        if not self._done:
            return 1
        by_time = SHARD_SECONDS * self._done / max(self._seconds, 1e-9)
        by_bytes = SHARD_BYTES / max(self._bytes, 1)
        return max(1, min(SHARD_BATCHES, int(by_time), int(by_bytes)))


class _Gathering:
    """Keeps the workers busy until every shard is done."""

    def __init__(self, executor: Executor, needs: Needs, label: str, progress: Callable[[int], None]) -> None:
        self._executor, self._needs, self._label, self._progress = executor, needs, label, progress
        self._running: dict[Future[float], _Task] = {}
        self._again: deque[_Task] = deque()
        self._seconds: list[float] = []
        self._cut_all = False

    def all(self, cutter: _Cutter) -> None:
        """Send and gather until nothing is left."""
        while True:
            self._send(cutter)
            if not self._running and not self._again and self._cut_all:
                return
            ended, _ = wait(self._running, LOOK_SECONDS, FIRST_COMPLETED)
            if not self._running:
                time.sleep(PAUSES[0] / 5)
            for future in ended:
                self._settle(future, cutter)
            self._copy_the_slow()

    def stop(self) -> None:
        """Give up what still runs."""
        for future in self._running:
            self._executor.cancel(future)
        self._running.clear()

    def _send(self, cutter: _Cutter) -> None:
        room = QUEUED * max(1, self._executor.slots) - len(self._running)
        now = time.monotonic()
        for _ in range(len(self._again)):
            task = self._again.popleft()
            if room > 0 and task.after <= now:
                self._start(task)
                room -= 1
            else:
                self._again.append(task)
        while room > 0 and not self._cut_all:
            shard = cutter.next()
            self._cut_all = shard is None
            if shard is not None:
                self._start(_Task(shard))
                room -= 1

    def _start(self, task: _Task) -> None:
        task.sent = time.monotonic()
        future = self._executor.submit(do, task.shard, needs=self._needs)
        task.futures.append(future)
        self._running[future] = task

    def _settle(self, future: Future[float], cutter: _Cutter) -> None:
        task = self._running.pop(future, None)
        if task is None:  # its copy was quicker, and is counted
            return
        task.futures.remove(future)
        fault = _fault(future)
        if fault is None:
            self._done(task, future.result(), cutter)
        elif not task.futures:  # else its copy still runs
            self._failed(task, fault)

    def _done(self, task: _Task, seconds: float, cutter: _Cutter) -> None:
        for other in task.futures:
            self._running.pop(other, None)
            self._executor.cancel(other)
        cutter.learn(task.shard, seconds)
        self._seconds.append(time.monotonic() - task.sent)
        self._progress(task.shard.inputs)

    def _failed(self, task: _Task, fault: BaseException) -> None:
        if isinstance(fault, UserError | CacheError):
            raise fault
        task.tries += 1
        if task.tries >= TRIES:
            raise self._named(task.shard, fault) from fault
        task.after = time.monotonic() + PAUSES[task.tries - 1]
        task.copied = False
        self._again.append(task)

    def _named(self, shard: Shard, fault: BaseException) -> SystemFailure:
        kind = type(fault) if isinstance(fault, SystemFailure) else SystemFailure
        said = str(fault) if isinstance(fault, SystemFailure) else f"{type(fault).__name__}: {fault}"
        name = shard.place.key(shard.batches[0])
        return kind(
            f"{self._label}: shard {name[-8:]} of {shard.inputs:,} inputs failed {TRIES} times, the last time with "
            f"{said.strip().splitlines()[0]} Finished shards are kept; the same command tries this one again."
        )

    def _copy_the_slow(self) -> None:
        """Send a shard once more that takes far longer than the others did, when there is nothing else to send."""
        if not self._cut_all or self._again or not self._seconds:
            return
        slow = max(SLOW_SECONDS, SLOW_TIMES * statistics.median(self._seconds))
        for task in {id(task): task for task in self._running.values()}.values():
            if not task.copied and time.monotonic() - task.sent > slow:
                task.copied = True
                self._start(task)


def _fault(future: Future[float]) -> BaseException | None:
    try:
        return future.exception()
    except CancelledError as exc:
        return exc
