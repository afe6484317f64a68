"""Reading in processes with limits: a file that loops, swallows memory or crashes its reader costs that file only.

The run sends items; a process answers with the document of each or the reason why there is none. CPU seconds and memory
are limits of the operating system (POSIX), so they hold inside C libraries too. A process that ends is replaced, and
the item it could not read is left out with the reason.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Self

from bakeoff.corpus.limited_process import (
    WAIT_FACTOR,
    LimitedProcess,
    ProcessEndedError,
    limit_cpu,
    limit_memory,
    serve,
)
from bakeoff.errors import BakeoffError, CorpusError
from bakeoff.protocols import Source, SupportsReadLimits
from bakeoff.types import Document, ReadLimits, Skipped, SourceItem

ITEMS_PER_PROCESS = 250
"""Fewer items than this do not repay the start of another process."""
Answer = Document | Skipped


def reader_order(source: Source, params: object) -> bytes:
    """The source for another process; nothing for one that has no limits or that only this process knows."""
    plugin = type(source)
    if not isinstance(source, SupportsReadLimits) or plugin.__module__ == "__main__":
        return b""
    try:
        return pickle.dumps((plugin, params))
    except (pickle.PicklingError, AttributeError, TypeError):
        return b""


class ReaderProcesses:
    """Processes that read those items of a source that need limits, started with the first of them."""

    def __init__(self, source: SupportsReadLimits, sent: bytes, items: Sequence[SourceItem]) -> None:
        """`sent` is the source as another process gets it."""
        self._source, limits = source, source.read_limits()
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        count = max(1, min(cores, sum(map(source.needs_limits, items)) // ITEMS_PER_PROCESS))
        self._readers = [_Reader(sent, limits) for _ in range(count)]
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="read")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for reader in self._readers:
            reader.end()
        self._threads.shutdown(cancel_futures=True)

    def read(self, items: Sequence[SourceItem]) -> list[Answer]:
        """The document of each item or why there is none, in order; the others are read here meanwhile."""
        apart = [item for item in items if self._source.needs_limits(item)]
        share = -(-len(apart) // len(self._readers)) or 1
        parts = [apart[i : i + share] for i in range(0, len(apart), share)]
        asked = [
            self._threads.submit(reader.read, part)
            for reader, part in zip(self._readers, parts, strict=False)
        ]
        here = {item.id: _read(self._source, item) for item in items if not self._source.needs_limits(item)}
        answers = here | {answer.id: answer for one in asked for answer in one.result()}
        return [answers[item.id] for item in items]


class _Reader:
    """One process at a time, replaced when it ends."""

    def __init__(self, source: bytes, limits: ReadLimits) -> None:
        self._limits = limits
        self._process = LimitedProcess("bakeoff.pipeline.reader_process", (source, limits))

    def read(self, items: Sequence[SourceItem]) -> list[Answer]:
        """The answers to these items; if the process ends, each is asked alone, and the one to blame is left out."""
        try:
            return self._ask(items)
        except ProcessEndedError:
            return [self._read_alone(item) for item in items]

    def end(self) -> None:
        """End the process."""
        self._process.end()

    def _read_alone(self, item: SourceItem) -> Answer:
        try:
            return self._ask([item])[0]
        except ProcessEndedError as exc:
            return Skipped(item.id, _why(exc, self._limits))

    def _ask(self, items: Sequence[SourceItem]) -> list[Answer]:
        answers: list[Answer] | str = self._process.ask(list(items), self._limits.seconds * WAIT_FACTOR)
        if isinstance(answers, str):
            raise CorpusError(answers)
        return answers


def _why(end: ProcessEndedError, limits: ReadLimits) -> str:
    """Why a reader's process ended without an answer."""
    if end.waited:
        return f"reading it took more than {limits.seconds * WAIT_FACTOR:g} s (max_seconds is {limits.seconds:g})"
    if end.out_of_cpu_time:
        return f"reading it took more than {limits.seconds:g} s of CPU time (max_seconds)"
    return f"its reader crashed ({end.crash})"


def _open_service(setup: tuple[bytes, ReadLimits]) -> Callable[[list[SourceItem]], list[Answer] | str]:
    """In the process: the source, under its limit of memory."""
    (plugin, params), limits = pickle.loads(setup[0]), setup[1]  # noqa: S301 - from the process that started this one
    source: Source = plugin(params)
    limit_memory(limits.memory_mb)
    return lambda items: _answers(source, items, limits)


def _answers(source: Source, items: list[SourceItem], limits: ReadLimits) -> list[Answer] | str:
    """An answer to each item, or the message of an error that ends the run."""
    try:
        return [_read_within(source, item, limits) for item in items]
    except BakeoffError as exc:
        return str(exc)


def _read_within(source: Source, item: SourceItem, limits: ReadLimits) -> Answer:
    limit_cpu(limits.seconds)
    try:
        return _read(source, item)
    except MemoryError:
        return Skipped(item.id, f"reading it needs more than {limits.memory_mb:,} MB (max_memory_mb)")


def _read(source: Source, item: SourceItem) -> Answer:
    """The document, or why there is none."""
    try:
        return source.read(item)
    except (BakeoffError, MemoryError):
        raise
    except Exception as exc:  # noqa: BLE001 - whatever a reader raises on one file, the others are read
        return Skipped(item.id, f"its reader failed ({type(exc).__name__}: {exc})"[:300])


if __name__ == "__main__":
    serve(_open_service)
