"""Reads tables in a process with limits if their size does not show their cost: compressed and computed ones.

A few kilobytes of Parquet, Excel or SQLite may expand to any number of rows, and some libraries crash. The
process replies with the columns first, then with one Arrow batch per message.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bakeoff.corpus.limited_process import (
    WAIT_FACTOR,
    LimitedProcess,
    ProcessEndedError,
    limit_cpu,
    limit_memory,
    serve,
)
from bakeoff.errors import BakeoffError, DataError

if TYPE_CHECKING:
    from bakeoff.corpus.tables.arrow_files import Opened
    from bakeoff.corpus.tables.places import TablePlace

BATCH_SECONDS = 60.0
"""CPU seconds for the columns, and for each batch of rows."""
MEMORY_MB = 2000
MEMORY_FACTOR = 4
"""Memory of the process in MB, plus a multiple of the file: all rows may be in one batch."""
MOST_PACKED = 100
ALWAYS_BYTES = 2**30
"""Most times its file size that a table's rows may have, and bytes they may always have."""
Message = None | list[str] | int
"""Open the table; start reading some columns; the next batch of a started reading."""


class TableProcess:
    """One table read by a process, which ends with the last reference."""

    def __init__(self, file: TablePlace) -> None:
        self._file, self._size = file, file.size()
        self._megabytes = MEMORY_MB + MEMORY_FACTOR * self._size / 1e6
        setup = (file, self._megabytes, max(ALWAYS_BYTES, MOST_PACKED * self._size))
        self._process = LimitedProcess("bakeoff.corpus.table_process", setup)
        self._lock = threading.Lock()

    def open(self) -> Opened:
        """The columns, the number of rows if the file stores it, and a reader of batches of some columns."""
        columns, rows = self._ask(None)
        return columns, rows, self._read

    def _read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        number = self._ask(list(columns))
        while (data := self._ask(number)) is not None:
            yield from pa.ipc.open_stream(data)

    def _ask(self, message: Message) -> Any:
        try:
            with self._lock:
                answer = self._process.ask(message, BATCH_SECONDS * WAIT_FACTOR)
        except ProcessEndedError as exc:
            raise DataError(f"{self._file.place} cannot be read: {self._why(exc)}") from exc
        if isinstance(answer, BakeoffError):
            raise answer
        return answer

    def _why(self, end: ProcessEndedError) -> str:
        if end.waited or end.out_of_cpu_time:
            return f"it takes more than {BATCH_SECONDS:g} s. Save its rows as CSV or Parquet."
        return (
            f"its reader ends with {end.crash}, at most {self._megabytes:,.0f} MB of memory. It is damaged, or it "
            "expands to more than its size explains. Save its rows as CSV or Parquet."
        )


def _open_service(setup: tuple[TablePlace, float, int]) -> Callable[[Message], object]:
    """Runs in the process: opens the table with its first message, and keeps the started readings."""
    from bakeoff.corpus.tables.open_table import open_here
    from bakeoff.corpus.tables.places import reading

    file, megabytes, most = setup
    pa.set_cpu_count(2)  # threads reserve address space
    pa.set_io_thread_count(2)
    limit_memory(megabytes)
    opened: list[Opened] = []
    readings: list[Iterator[bytes]] = []

    def work(message: Message) -> object:
        if message is None:
            opened.append(open_here(file))
            return opened[0][:2]
        if isinstance(message, int):
            return next(readings[message], None)
        readings.append(_messages(opened[0][2](message), file, most))
        return len(readings) - 1

    def answer(message: Message) -> object:
        limit_cpu(BATCH_SECONDS)
        try:
            with reading(str(file.place)):
                return work(message)
        except MemoryError:
            return DataError(
                f"{file.place} needs more than {megabytes:,.0f} MB of memory, which its size does not explain. Save "
                "its rows in smaller batches, or as CSV."
            )
        except BakeoffError as exc:
            return exc

    return answer


def _messages(batches: Iterator[pa.RecordBatch], file: TablePlace, most: int) -> Iterator[bytes]:
    """Yield batches as bytes, until they exceed what the file may hold."""
    total = 0
    for batch in map(_without_dictionaries, batches):
        total += batch.nbytes
        if total > most:
            raise DataError(
                f"{file.place}: more than {most:,} bytes come out of it, which its size does not explain. Save its "
                "rows as CSV."
            )
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield sink.getvalue().to_pybytes()


def _without_dictionaries(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Replace dictionary codes by values, so that their memory is counted here."""
    columns = [
        one.cast(one.type.value_type) if pa.types.is_dictionary(one.type) else one for one in batch.columns
    ]
    return pa.record_batch(columns, names=batch.schema.names)


if __name__ == "__main__":
    serve(_open_service)
