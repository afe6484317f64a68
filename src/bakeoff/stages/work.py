"""What every stage is given: the cache to keep its output in, and someone to tell."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from bakeoff.cache import Cache
from bakeoff.events import Emit, StageAdvanced, StageFinished, StageStarted, ignore


@dataclass(frozen=True, slots=True)
class Workshop:
    """The cache and the listener of one run."""

    cache: Cache
    emit: Emit = ignore


@dataclass(slots=True)
class StageReport:
    """Filled in while a stage runs: how to say progress, and what came of it."""

    advance: Callable[[int], None]
    summary: str = ""
    seconds: float = 0.0
    _first: bool = field(default=True)


@contextlib.contextmanager
def stage(shop: Workshop, name: str, label: str, total: int, what: str) -> Iterator[StageReport]:
    """Tells the start, the progress and the end of a stage; the first advance counts what the cache had."""
    shop.emit(StageStarted(name, label, total, what))
    report = StageReport(advance=lambda _count: None)

    def advance(count: int) -> None:
        shop.emit(StageAdvanced(name, label, count, cached=report._first))
        report._first = False

    report.advance = advance
    begin = time.perf_counter()
    yield report
    report.seconds = time.perf_counter() - begin
    shop.emit(StageFinished(name, label, report.seconds, report.summary))
