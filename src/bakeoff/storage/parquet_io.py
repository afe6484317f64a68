"""Reads Parquet files from any source completely and checks them, so that damage surfaces at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.corpus.limited_process import (
    WAIT_FACTOR,
    LimitedProcess,
    ProcessEndedError,
    limit_cpu,
    limit_memory,
    serve,
)

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

BATCH_ROWS = 16_384
PROBED_ROWS = 1024
PROBE_MB = 1000
"""Most memory for 1,024 rows of an external file."""
PROBE_SECONDS = 300
MOST_PACKED = 100
"""Most times its file size that an array or table may have; vectors reach about 4, result rows about 50."""
SMALL_TABLE = 2**30
"""Bytes a table may always have: a column that repeats one name compresses without limit."""


def most_bytes(path: Path | str, always: int = 0) -> int:
    """Most bytes that a file may expand to."""
    return max(always, Path(path).stat().st_size * MOST_PACKED)


def read_parquet(
    path: Path | str,
    columns: list[str] | None = None,
    *,
    read_dictionary: list[str] | None = None,
    always: int = SMALL_TABLE,
) -> pa.Table:
    """Read a table; raises ArrowException or OSError if it is damaged.

    Arrow accepts any bytes as text, and any offsets, until they are accessed. More rows than MOST_PACKED
    times the file, and more than `always`, are rejected.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        most = most_bytes(path, always)
        with pq.ParquetFile(path, read_dictionary=read_dictionary) as file:
            batches = list(_limit_bytes(file, columns, most))
            schema = batches[0].schema if batches else _select_columns(file.schema_arrow, columns)
        table = pa.Table.from_batches(batches, schema)
        table.validate(full=True)
    except UnicodeDecodeError as exc:
        raise pa.ArrowInvalid(f"a name in it is not UTF-8: {exc}") from exc
    return table


def probe_parquet(path: Path, columns: list[str] | None = None, *, always: int = SMALL_TABLE) -> None:
    """Read an external file in a limited process first; raises ArrowException if it exceeds the limits.

    One row may hold any number of values in a few bytes, and Arrow crashes on some damaged files.
    """
    import pyarrow as pa

    with LimitedProcess("bakeoff.storage.parquet_io") as process:
        try:
            fault = process.ask((str(path), columns, most_bytes(path, always)), PROBE_SECONDS * WAIT_FACTOR)
        except ProcessEndedError as exc:
            if exc.waited or exc.out_of_cpu_time:
                raise pa.ArrowInvalid(f"reading it takes more than {PROBE_SECONDS} s") from exc
            raise pa.ArrowInvalid(f"its reader ends with {exc.crash}: it is damaged") from exc
    if fault:
        raise pa.ArrowInvalid(fault)


def _open_probe(_: object) -> Callable[[tuple[str, list[str] | None, int]], str]:
    """Runs in the process: reads all rows, keeps none, and returns what is wrong."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_cpu_count(1)  # threads reserve address space
    pa.set_io_thread_count(1)
    limit_memory(PROBE_MB)

    def probe(message: tuple[str, list[str] | None, int]) -> str:
        path, columns, most = message
        limit_cpu(PROBE_SECONDS)
        try:
            with pq.ParquetFile(path) as file:
                for _ in _limit_bytes(file, columns, most, PROBED_ROWS):
                    pass
        except (pa.ArrowMemoryError, MemoryError):
            return f"{PROBED_ROWS:,} of its rows take more than {PROBE_MB:,} MB, many bytes more than the file has"
        except (pa.ArrowException, OSError, ValueError) as exc:
            return str(exc) or type(exc).__name__
        return ""

    return probe


def _limit_bytes(
    file: pq.ParquetFile, columns: list[str] | None, most: int, rows: int = BATCH_ROWS
) -> Iterator[pa.RecordBatch]:
    """Yield the rows in batches, until they exceed the bytes a file may hold."""
    import pyarrow as pa

    total = 0
    for batch in file.iter_batches(rows, columns=columns):
        total += batch.nbytes
        if total > most:
            raise pa.ArrowInvalid(f"more than {most:,} bytes come out of it, which its size does not explain")
        yield batch


def _select_columns(schema: pa.Schema, columns: list[str] | None) -> pa.Schema:
    import pyarrow as pa

    return schema if columns is None else pa.schema([schema.field(name) for name in columns])


def read_where(path: Path, filters: list[tuple[str, str, object]]) -> pa.Table:
    """Rows that pass every filter, given as (column, operator, value), read and checked in parts.

    Arrow's own filter reads the file's statistics first, and hangs if those are damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    condition = pq.filters_to_expression(filters) if filters else None
    with pq.ParquetFile(path) as file:
        parts = [file.schema_arrow.empty_table()]
        for batch in _limit_bytes(file, None, most_bytes(path, SMALL_TABLE)):
            part = pa.Table.from_batches([batch])
            part.validate(full=True)
            parts.append(part if condition is None else part.filter(condition))
    return pa.concat_tables(parts)


if __name__ == "__main__":
    serve(_open_probe)
