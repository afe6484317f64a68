"""Reads files in processes with limits: a file that loops, exhausts memory or crashes its reader costs only itself.

The run reads a file's bytes and sends the expensive kinds to a process, which replies with the document or
the reason why there is none. CPU and memory limits are set in the operating system (POSIX), so they also hold
inside C libraries. A process that dies is replaced, and its file is skipped with the reason.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Self

from bakeoff.config.file_readers import FileReaders, Found
from bakeoff.corpus.limited_process import (
    WAIT_FACTOR,
    LimitedProcess,
    ProcessEndedError,
    limit_cpu,
    limit_memory,
    serve,
)
from bakeoff.errors import BakeoffError, CorpusError
from bakeoff.pipeline.chunking.parallel import available_cores
from bakeoff.protocols import Source
from bakeoff.types import Document, ReadLimits, Skipped, SourceFile, SourceItem

SMALL_BYTES = 16_000
"""The worst text up to this size takes a fraction of a second and some megabytes to read."""
LARGE_PER_PROCESS = 250
"""Fewer large texts than this don't repay starting another process."""
PACKED_PER_PROCESS = 4
"""The same for compressed formats, which take much longer."""
DEFAULT_LIMITS = ReadLimits(seconds=30, memory_mb=1000)
Answer = Document | Skipped


class ReaderProcesses:
    """Reads items; expensive files are read in processes, started on demand.

    `on_read` is called with 1 for every item read.
    """

    def __init__(
        self,
        source: Source,
        readers: FileReaders,
        items: Sequence[SourceItem],
        *,
        limits: ReadLimits = DEFAULT_LIMITS,
        on_read: Callable[[int], None] = lambda _count: None,
    ) -> None:
        self._source, self._readers, self._on_read = source, readers, on_read
        self._lock = threading.Lock()
        sent = _pickle_readers(readers)
        packed = sum(readers.packed(item.id) for item in items) // PACKED_PER_PROCESS
        large = sum(item.size > SMALL_BYTES for item in items) // LARGE_PER_PROCESS
        count = max(1, min(available_cores(), max(packed, large))) if sent else 1
        self._processes = [_Process(sent, limits) if sent else None for _ in range(count)]
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="read")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            if process is not None:
                process.end()
        self._threads.shutdown(cancel_futures=True)

    def read(self, items: Sequence[SourceItem]) -> list[Answer]:
        """Return the document of each item, or the reason why there is none, in order."""
        waiting = iter(items)  # a shared queue, so that a slow file occupies only its own process
        futures = [self._threads.submit(self._read_waiting, process, waiting) for process in self._processes]
        answers = {answer.id: answer for one in futures for answer in one.result()}
        return [answers[item.id] for item in items]

    def _read_waiting(self, process: _Process | None, waiting: Iterator[SourceItem]) -> list[Answer]:
        """Read items until the queue is empty."""
        outcomes = []
        while (file := self._next(waiting)) is not None:
            outcomes.append(self._answer(process, file))
            self._on_read(1)
        return outcomes

    def _next(self, waiting: Iterator[SourceItem]) -> Found | None:
        """Fetch the next item from the source; one thread at a time."""
        with self._lock:
            item = next(waiting, None)
            return None if item is None else _from_source(self._source, item)

    def _answer(self, process: _Process | None, file: Found) -> Answer:
        if not isinstance(file, SourceFile):
            return file
        costly = len(file.data) > SMALL_BYTES or self._readers.packed(file.id)
        return process.read(file) if process is not None and costly else self._readers.document(file)


class _Process:
    """One reader process, replaced when it dies."""

    def __init__(self, readers: bytes, limits: ReadLimits) -> None:
        self._limits = limits
        self._process = LimitedProcess("bakeoff.pipeline.reading.process", (readers, limits))

    def read(self, file: SourceFile) -> Answer:
        """Return the document of a file; if the process dies, the file is skipped."""
        try:
            answer: Answer = self._process.ask(file, self._limits.seconds * WAIT_FACTOR)
        except ProcessEndedError as exc:
            return Skipped(file.id, _why(exc, self._limits))
        return answer

    def end(self) -> None:
        """Stop the process."""
        self._process.end()


def _pickle_readers(readers: FileReaders) -> bytes:
    """Serialise the readers for another process; empty if they exist only in this one."""
    try:
        return b"" if readers.local else pickle.dumps(readers)
    except (pickle.PicklingError, AttributeError, TypeError):
        return b""


def _why(end: ProcessEndedError, limits: ReadLimits) -> str:
    """Why a reader process ended without an answer."""
    if end.waited:
        return f"reading it took more than {limits.seconds * WAIT_FACTOR:g} s (max_seconds is {limits.seconds:g})"
    if end.out_of_cpu_time:
        return f"reading it took more than {limits.seconds:g} s of CPU time (max_seconds)"
    return f"its reader crashed ({end.crash})"


def _open_service(setup: tuple[bytes, ReadLimits]) -> Callable[[SourceFile], Answer]:
    """Runs in the process: set the memory limit and open the readers."""
    readers, limits = pickle.loads(setup[0]), setup[1]  # noqa: S301 - from the process that started this one
    limit_memory(limits.memory_mb)
    return lambda file: _read_within(readers, file, limits)


def _read_within(readers: FileReaders, file: SourceFile, limits: ReadLimits) -> Answer:
    limit_cpu(limits.seconds)
    try:
        return readers.document(file)
    except MemoryError:
        return Skipped(file.id, f"reading it needs more than {limits.memory_mb:,} MB (max_memory_mb)")


def _from_source(source: Source, item: SourceItem) -> Found:
    try:
        found = source.read(item)
    except (BakeoffError, MemoryError):
        raise
    except Exception as exc:  # noqa: BLE001 - whatever a source raises on one item, the others are read
        return Skipped(item.id, f"its source failed ({type(exc).__name__}: {exc})"[:300])
    if not isinstance(found, Found):
        raise CorpusError(
            f"the source returned a {type(found).__name__} for {item.id}. "
            "This is a bug in the source: `read` returns a SourceFile, Document or Skipped."
        )
    return found


if __name__ == "__main__":
    serve(_open_service)
