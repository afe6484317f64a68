"""Reads tables in a process with limits if their size does not show their cost: compressed and computed ones.

A few kilobytes of Parquet, Excel or SQLite may expand to any number of rows, and some libraries crash. The
process replies with the columns first, then with one Arrow batch per message: in shared memory on Linux, as
bytes elsewhere. While a batch is being used, the process decodes the next one.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from bakeoff.corpus import fork_server
from bakeoff.corpus.limited_process import (
    WAIT_FACTOR,
    LimitedProcess,
    ProcessEndedError,
    limit_cpu,
    limit_memory,
    serve,
)
from bakeoff.corpus.shared_batches import BatchReader, BatchWriter, Part
from bakeoff.errors import BakeoffError, DataError

if TYPE_CHECKING:
    from bakeoff.corpus.tables.arrow_files import Opened
    from bakeoff.corpus.tables.places import TablePlace

BATCH_SECONDS = 60.0
"""CPU seconds for the columns, and for each batch of rows."""
AHEAD = 2
"""Batches that are asked for before they are used, so that neither process waits for the other."""
MEMORY_MB = 2000
MEMORY_FACTOR = 4
"""Memory of the process in MB, plus a multiple of the file: all rows may be in one batch."""
MOST_PACKED = 100
ALWAYS_BYTES = 2**30
"""Most times its file size that a table's rows may have, and bytes they may always have."""
CODED_BYTES = 16_000_000
"""Most bytes that the dictionary codes of a column may represent in one batch."""
OFFSETS = 2**31 - 1
"""Most bytes of an Arrow array of texts with offsets of 32 bits."""
Message = None | list[str] | tuple[int, list[int]]
"""Open the table; start reading some columns; the next batch of a started reading, and the released parts."""


class TableProcess:
    """One table read by a process, which ends with the last batch or the last reference."""

    def __init__(self, file: TablePlace) -> None:
        self._file, self._size = file, file.size()
        self._megabytes = MEMORY_MB + MEMORY_FACTOR * self._size / 1e6
        self._lock = threading.Lock()
        self._failure: DataError | None = None
        self._process: LimitedProcess | None = None
        self._shared: BatchReader | None = None
        self._asked: deque[int | None] = deque()
        """Messages without an answer: the number of their reading, None for other messages."""
        self._answers: dict[int, deque[Part | bytes | DataError | None]] = {}

    def __del__(self) -> None:
        self.end()

    def open(self) -> Opened:
        """The columns, the number of rows if the file stores it, and a reader of batches of some columns."""
        with self._lock:
            columns, rows = self._start()
        return columns, rows, self._read

    def end(self) -> None:
        """End the process; the next reading starts another."""
        process, self._process = self._process, None
        if process is not None:
            process.end()
        self._asked.clear()

    def _start(self) -> tuple[list[str], int | None]:
        """Start the process, which opens the table."""
        self._shared = BatchReader() if fork_server.AVAILABLE else None
        shared = self._shared.file if self._shared else None
        setup = (self._file, self._megabytes, max(ALWAYS_BYTES, MOST_PACKED * self._size), shared is not None)
        self._process = LimitedProcess("bakeoff.corpus.table_process", setup, shared)
        columns, rows = self._ask(None)
        return columns, rows

    def _read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with self._lock:
            if self._process is None:
                self._start()
            number = self._ask(list(columns))
            self._answers[number] = deque()
        while (found := self._next(number)) is not None:
            yield found
            del found  # its part is free before the next batch is asked for
        with self._lock:
            del self._answers[number]
            if not self._answers:
                self.end()

    def _next(self, number: int) -> pa.RecordBatch | None:
        with self._lock:
            for _ in range(AHEAD - self._asked.count(number) - len(self._answers[number])):
                self._send((number, self._shared.take_released() if self._shared else []), number)
            while not self._answers[number]:
                self._receive()
            answer: Part | bytes | DataError | None = self._answers[number].popleft()
        if answer is None:
            return None
        if isinstance(answer, BakeoffError):
            raise answer
        if isinstance(answer, bytes):
            return pa.ipc.open_stream(answer).read_next_batch()
        assert self._shared is not None
        return self._shared.read(answer)

    def _ask(self, message: Message) -> Any:
        """The answer to a message that is not about a batch."""
        self._send(message, None)
        while self._asked:
            answer = self._receive()
        if isinstance(answer, BakeoffError):
            raise answer
        return answer

    def _send(self, message: Message, number: int | None) -> None:
        if self._failure is not None:
            raise self._failure
        assert self._process is not None
        with self._failing():
            self._process.send(message, BATCH_SECONDS * WAIT_FACTOR)
        self._asked.append(number)

    def _receive(self) -> Any:
        """The oldest answer that is due; a batch is kept for its reading."""
        if self._failure is not None:
            raise self._failure
        assert self._process is not None
        with self._failing():
            answer = self._process.receive(BATCH_SECONDS * WAIT_FACTOR)
        number = self._asked.popleft()
        if number is not None:
            self._answers[number].append(answer)
        return answer

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        """Turn the end of the process into the error of this table, now and for every later message."""
        try:
            yield
        except ProcessEndedError as exc:
            self._failure = DataError(f"{self._file.place} cannot be read: {self._why(exc)}")
            raise self._failure from exc

    def _why(self, end: ProcessEndedError) -> str:
        if end.waited or end.out_of_cpu_time:
            return f"it takes more than {BATCH_SECONDS:g} s. Save its rows as CSV or Parquet."
        return (
            f"its reader ends with {end.crash}, at most {self._megabytes:,.0f} MB of memory. It is damaged, or it "
            "expands to more than its size explains. Save its rows as CSV or Parquet."
        )


class _Service:
    """Runs in the process: opens the table with its first message, and keeps the started readings."""

    def __init__(self, file: TablePlace, most: int, writer: BatchWriter | None) -> None:
        self._file, self._most, self._writer = file, most, writer
        self._opened: Opened | None = None
        self._readings: list[_Reading] = []
        self._thread = ThreadPoolExecutor(1)

    def answer(self, message: Message) -> object:
        """The answer to one message."""
        from bakeoff.corpus.tables.open_table import open_here

        if message is None:
            self._opened = open_here(self._file)
            return self._opened[:2]
        if isinstance(message, tuple):
            number, released = message
            return self._batch(self._readings[number], released)
        assert self._opened is not None
        self._readings.append(_Reading(self._opened[2](message), self._file, self._most, self._thread))
        return len(self._readings) - 1

    def _batch(self, reading: _Reading, released: list[int]) -> Part | bytes | None:
        batch = reading.next()
        if batch is None:
            return None
        if self._writer is None:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            return bytes(sink.getvalue())
        self._writer.release(released)
        return self._writer.write(batch)


class _Reading:
    """The batches of some columns; a thread decodes the next one ahead."""

    def __init__(
        self, batches: Iterator[pa.RecordBatch], file: TablePlace, most: int, thread: ThreadPoolExecutor
    ) -> None:
        self._batches, self._thread = batches, thread
        self._file, self._most, self._total = file, most, 0
        self._ahead: Future[pa.RecordBatch | None] = thread.submit(next, batches, None)

    def next(self) -> pa.RecordBatch | None:
        """The next batch, None after the last; raises DataError if there is more than the file may hold."""
        found = self._ahead.result()
        if found is None:
            return None
        batch = _expand_dictionaries(found, self._most)
        self._total += batch.nbytes if batch else self._most + 1
        if batch is None or self._total > self._most:
            raise DataError(
                f"{self._file.place}: more than {self._most:,} bytes come out of it, which its size does not "
                "explain. Save its rows as CSV."
            )
        self._ahead = self._thread.submit(next, self._batches, None)
        return batch


def _open_service(setup: tuple[TablePlace, float, int, bool]) -> Callable[[Message], object]:
    """Runs in the process: sets its limits."""
    from bakeoff.corpus.tables.places import reading

    file, megabytes, most, shared = setup
    pa.set_cpu_count(2)  # threads reserve address space
    pa.set_io_thread_count(2)
    limit_memory(megabytes)
    service = _Service(file, most, BatchWriter(fork_server.SHARED) if shared else None)

    def answer(message: Message) -> object:
        limit_cpu(BATCH_SECONDS)
        try:
            with reading(str(file.place)):
                return service.answer(message)
        except MemoryError:
            return DataError(
                f"{file.place} needs more than {megabytes:,.0f} MB of memory, which its size does not explain. Save "
                "its rows in smaller batches, or as CSV."
            )
        except BakeoffError as exc:
            return exc

    return answer


def _expand_dictionaries(batch: pa.RecordBatch, most: int) -> pa.RecordBatch | None:
    """Replace dictionary codes by values, unless these are texts of few bytes; None if they exceed `most`."""
    columns = [_expand(one, most) if pa.types.is_dictionary(one.type) else one for one in batch.columns]
    return None if None in columns else pa.record_batch(columns, names=batch.schema.names)


def _expand(column: pa.DictionaryArray, most: int) -> pa.Array | None:
    kind = column.type.value_type
    if not (pa.types.is_string(kind) or pa.types.is_binary(kind)):
        return column.cast(kind)
    lengths = pc.binary_length(column.dictionary)
    if (pc.max(lengths).as_py() or 0) * len(column) <= CODED_BYTES:
        return column
    size = pc.sum(lengths.take(column.indices).cast(pa.int64())).as_py() or 0
    if size > most:
        return None
    large = pa.large_string() if pa.types.is_string(kind) else pa.large_binary()
    return column.cast(kind if size <= OFFSETS else large)


def main() -> None:
    """Answer messages until the input ends; a batch that is being decoded then is wanted by nobody."""
    serve(_open_service)
    os._exit(0)


if __name__ == "__main__":
    main()
