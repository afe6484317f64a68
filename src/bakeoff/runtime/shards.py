"""Shards: batches of a row cache's work, processed by workers that share its cache.

A shard carries its input rows. Its worker creates the plug-in once, writes the segment of every batch to the
shared location and returns only the seconds it took. A segment is complete or missing and is named by its
inputs, so a shard may be processed twice, or half and then again: an existing segment counts once.
"""

from __future__ import annotations

import pickle
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

from bakeoff.protocols import Executor, ResourceRequest
from bakeoff.runtime.scheduler import TaskScheduler, check_version, installed_version
from bakeoff.storage.row_cache import BatchRows, SegmentLocation, WorkBatch, from_bytes, to_bytes
from bakeoff.storage.shared_location import ArtifactWriter, SharedLocation, retry_until_available

if TYPE_CHECKING:
    import pyarrow as pa

Work = Callable[["pa.Table"], BatchRows]
OPEN_PLUGINS = 4
"""Plug-ins a worker keeps open; the least recently used one is closed for another."""
SHARD_SECONDS = 2.0
"""Seconds of work in one shard: enough to outweigh sending it, little enough to lose."""
SHARD_BATCHES = 64
SHARD_BYTES = 4_000_000


class WorkSpec(Protocol):
    """What workers do; picklable."""

    def open(self) -> LoadedPlugin:
        """Make the plug-in; called once in each worker."""
        ...


@dataclass(frozen=True, slots=True)
class LoadedPlugin:
    """A ready plug-in: what it makes from rows, and how to close it."""

    work: Work
    close: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """Batches of one plan: the keys of their inputs, and the inputs as an Arrow stream."""

    shared: SharedLocation
    place: SegmentLocation
    order: bytes
    batches: tuple[tuple[str, ...], ...]
    rows: bytes
    version: str = field(default_factory=installed_version)

    @property
    def inputs(self) -> int:
        """How many inputs it has."""
        return sum(len(names) for names in self.batches)


class ShardedRun:
    """Sends a row cache's batches to an executor's workers (the RemoteRunner of bakeoff.storage.row_cache)."""

    def __init__(
        self,
        executor: Executor,
        order: WorkSpec,
        take: Callable[[list[int]], pa.Table],
        *,
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
    ) -> float:
        """Process all batches and return the seconds of their work; a shard that fails three times raises an
        error."""
        make_shard = partial(Shard, shared=shared, place=place, order=self._order)
        shards = _ShardBuilder(make_shard, self._take, batches, progress)
        TaskScheduler(self._executor, run_shard, shards, label=self._label, needs=self._needs).run()
        retry_until_available(shared, lambda: None)
        return shards.seconds


class _ShardBuilder:
    """Groups batches into shards of about two seconds of work, estimated from the finished ones."""

    after_failure = "Finished shards are kept; run the same command to try this one again."

    def __init__(
        self,
        make_shard: Callable[..., Shard],
        take: Callable[[list[int]], pa.Table],
        batches: Iterator[WorkBatch],
        progress: Callable[[int], None],
    ) -> None:
        self._make_shard, self._take, self._batches, self._progress = make_shard, take, batches, progress
        self.seconds, self._done, self._bytes = 0.0, 0, 0

    def next(self) -> Shard | None:
        """The next shard, or None when there are no more batches."""
        size, group = self._size(), []
        for batch in self._batches:
            group.append(batch)
            if len(group) >= size:
                break
        if not group:
            return None
        rows = to_bytes(self._take([p for batch in group for p in batch.positions]))
        self._bytes = max(self._bytes, len(rows) // len(group))
        return self._make_shard(batches=tuple(batch.names for batch in group), rows=rows)

    def done(self, task: Shard, answer: float) -> None:
        """Record the seconds of a shard and report its inputs as done."""
        self.seconds, self._done = self.seconds + answer, self._done + len(task.batches)
        self._progress(task.inputs)

    def name(self, task: Shard) -> str:
        """A shard by the end of its first segment's key."""
        return f"shard {task.place.key(task.batches[0])[-8:]} of {task.inputs:,} inputs"

    def _size(self) -> int:
        if not self._done:
            return 1
        by_time = SHARD_SECONDS * self._done / max(self.seconds, 1e-9)
        by_bytes = SHARD_BYTES / max(self._bytes, 1)
        return max(1, min(SHARD_BATCHES, int(by_time), int(by_bytes)))


def is_picklable(order: WorkSpec) -> bool:
    """Whether another process can do this work: a plug-in defined only in this process can't be sent."""
    plugin = getattr(order, "plugin", type(order))
    if plugin.__module__ == "__main__":
        return False
    try:
        pickle.dumps(order)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


def run_shard(shard: Shard) -> float:
    """Process a shard in this process and return the seconds of its work, without creating the plug-in.

    Cached batches cost nothing. A batch is written while the next one is processed, so waiting for a disk or
    network costs no core.
    """
    check_version(shard.version)
    writer, table, first, seconds = _writer(shard.shared), from_bytes(shard.rows), 0, 0.0
    place, written = shard.place, Future[None]()
    written.set_result(None)
    with ThreadPoolExecutor(1) as thread:
        for names in shard.batches:
            rows, first = table.slice(first, len(names)), first + len(names)
            if writer.has(place.stage, place.key(names)):
                continue
            plugin = _load_plugin(shard.order)
            begin = time.perf_counter()
            result = plugin.work(rows)
            seconds += time.perf_counter() - begin
            written.result()
            written = thread.submit(place.keep, writer, names, partial(_identity, result))
        written.result()
    return seconds


def _identity(rows: BatchRows) -> BatchRows:
    return rows


_writers: dict[SharedLocation, ArtifactWriter] = {}
_open: OrderedDict[bytes, LoadedPlugin] = OrderedDict()


def _writer(shared: SharedLocation) -> ArtifactWriter:
    return _writers.setdefault(shared, shared.writer())


def _load_plugin(order: bytes) -> LoadedPlugin:
    """The plug-in of a work specification, created by the first shard that needs it."""
    if order not in _open:
        while len(_open) >= OPEN_PLUGINS:
            _open.popitem(last=False)[1].close()
        spec: WorkSpec = pickle.loads(order)  # noqa: S301 - from the run that started this worker
        _open[order] = spec.open()
    _open.move_to_end(order)
    return _open[order]
