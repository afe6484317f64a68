"""What every stage receives: the cache for its output, and a listener for progress."""

from __future__ import annotations

import contextlib
import datetime
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bakeoff.protocols import Executor, ResourceRequest
from bakeoff.runtime.events import (
    Emit,
    StageAdvanced,
    StageFinished,
    StageStarted,
    WarningRaised,
    no_listener,
)
from bakeoff.runtime.shards import ShardedRun, WorkSpec, is_picklable
from bakeoff.runtime.signals import raise_if_interrupted
from bakeoff.storage.cache import Cache
from bakeoff.storage.row_cache import RemoteRunner

if TYPE_CHECKING:
    import pyarrow as pa


BATCH_BYTES = 2_000_000
MOST_INPUTS = 16_384


def _utc_now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def batch_of(least: int, inputs: int, size: int) -> int:
    """Number of inputs in one batch: at least `least`, more if the inputs are small.

    A batch is flushed to disk as a whole, which takes as long for one input as for a thousand; a killed run
    loses at most one batch.
    """
    mean = max(1, size // max(1, inputs))
    return max(least, min(MOST_INPUTS, BATCH_BYTES // mean))


@dataclass(frozen=True, slots=True)
class StageContext:
    """The cache, the listener and the workers of one run; `began` is its start (UTC)."""

    cache: Cache
    emit: Emit = no_listener
    executor: Executor | None = None
    began: str = field(default_factory=_utc_now)

    def spread(
        self, order: WorkSpec, take: Callable[[list[int]], pa.Table], label: str, needs: ResourceRequest
    ) -> RemoteRunner | None:
        """Return a runner that sends a stage's batches to workers, or None if they run in this process."""
        if self.executor is None or not self.executor.slots:
            return None
        if not is_picklable(order):
            self.emit(WarningRaised(f"{label}: its plug-in exists only in this process, so it runs here."))
            return None
        return ShardedRun(self.executor, order, take, label=label, needs=needs)


@dataclass(slots=True)
class StageReport:
    """Collects a stage's progress and summary while it runs."""

    advance: Callable[[int], None]
    summary: str = ""
    seconds: float = 0.0
    _first: bool = field(default=True)


@contextlib.contextmanager
def stage_progress(
    context: StageContext, name: str, label: str, total: int, what: str
) -> Iterator[StageReport]:
    """Emit the start, progress and end of a stage; the first advance counts what came from the cache.

    An interrupt of the main thread ends the stage at its start or its next advance.
    """
    raise_if_interrupted()
    context.emit(StageStarted(name, label, total, what))
    report = StageReport(advance=lambda _count: None)

    def advance(count: int) -> None:
        raise_if_interrupted()
        context.emit(StageAdvanced(name, label, count, cached=report._first))
        report._first = False

    report.advance = advance
    begin = time.perf_counter()
    yield report
    report.seconds = time.perf_counter() - begin
    context.emit(StageFinished(name, label, report.seconds, report.summary))
