"""Reading in processes with limits: a file that loops, swallows memory or crashes its reader costs that file only.

The run reads the bytes of a file and sends those that may cost much to a process, which answers with the document or
the reason why there is none. CPU seconds and memory are limits of the operating system (POSIX), so they hold inside C
libraries too. A process that ends is replaced, and the file it could not read is left out with the reason.
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
from bakeoff.errors import BakeoffError
from bakeoff.pipeline.chunking.parallel import available_cores
from bakeoff.protocols import Source
from bakeoff.types import Document, ReadLimits, Skipped, SourceFile, SourceItem

SMALL_BYTES = 16_000
"""The worst text of this size takes a fraction of a second and some megabytes to read."""
LARGE_PER_PROCESS = 250
"""Fewer texts above that do not repay the start of another process."""
PACKED_PER_PROCESS = 4
"""The same for files of packed formats, which take much longer."""
DEFAULT_LIMITS = ReadLimits(seconds=30, memory_mb=1000)
Answer = Document | Skipped


class ReaderProcesses:
    """Reads items; files that may cost much in processes, which start with the first of them.

    `on_read` is called with 1 for every item that was read.
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
        sent = _pickled(readers)
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
        """The document of each item or why there is none, in order."""
        waiting = iter(items)  # shared, so that a slow file keeps only its own process busy
        asked = [self._threads.submit(self._read_waiting, process, waiting) for process in self._processes]
        answers = {answer.id: answer for one in asked for answer in one.result()}
        return [answers[item.id] for item in items]

    def _read_waiting(self, process: _Process | None, waiting: Iterator[SourceItem]) -> list[Answer]:
        """The answers to the items that no other thread took."""
        found = []
        while (given := self._next(waiting)) is not None:
            found.append(self._answer(process, given))
            self._on_read(1)
        return found

    def _next(self, waiting: Iterator[SourceItem]) -> Found | None:
        """What the source gives for the next item; it is asked by one thread at a time."""
        with self._lock:
            item = next(waiting, None)
            return None if item is None else _from_source(self._source, item)

    def _answer(self, process: _Process | None, given: Found) -> Answer:
        if not isinstance(given, SourceFile):
            return given
        costly = len(given.data) > SMALL_BYTES or self._readers.packed(given.id)
        return process.read(given) if process is not None and costly else self._readers.document(given)


class _Process:
    """One process at a time, replaced when it ends."""

    def __init__(self, readers: bytes, limits: ReadLimits) -> None:
        self._limits = limits
        self._process = LimitedProcess("bakeoff.pipeline.reading.process", (readers, limits))

    def read(self, file: SourceFile) -> Answer:
        """The document of a file; where the process ends, the file is left out."""
        try:
            answer: Answer = self._process.ask(file, self._limits.seconds * WAIT_FACTOR)
        except ProcessEndedError as exc:
            return Skipped(file.id, _why(exc, self._limits))
        return answer

    def end(self) -> None:
        """End the process."""
        self._process.end()


def _pickled(readers: FileReaders) -> bytes:
    """The readers for another process; nothing where only this one knows them."""
    try:
        return b"" if readers.local else pickle.dumps(readers)
    except (pickle.PicklingError, AttributeError, TypeError):
        return b""


def _why(end: ProcessEndedError, limits: ReadLimits) -> str:
    """Why a reader's process ended without an answer."""
    if end.waited:
        return f"reading it took more than {limits.seconds * WAIT_FACTOR:g} s (max_seconds is {limits.seconds:g})"
    if end.out_of_cpu_time:
        return f"reading it took more than {limits.seconds:g} s of CPU time (max_seconds)"
    return f"its reader crashed ({end.crash})"


def _open_service(setup: tuple[bytes, ReadLimits]) -> Callable[[SourceFile], Answer]:
    """In the process: the readers, under the limit of memory."""
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
        return source.read(item)
    except (BakeoffError, MemoryError):
        raise
    except Exception as exc:  # noqa: BLE001 - whatever a source raises on one item, the others are read
        return Skipped(item.id, f"its source failed ({type(exc).__name__}: {exc})"[:300])


if __name__ == "__main__":
    serve(_open_service)
