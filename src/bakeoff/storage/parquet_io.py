"""Parquet files from anywhere: read whole and checked, so that nobody falls over a damaged value later."""

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
"""How much memory 1,024 rows of a file from elsewhere may take."""
PROBE_SECONDS = 300
MOST_PACKED = 100
"""How many times its file an array or table may be; vectors reach about 4, rows of results about 50."""
SMALL_TABLE = 2**30
"""Bytes that a table of rows may always have: a column that repeats one name packs without limit."""


def most_bytes(path: Path | str, always: int = 0) -> int:
    """How many bytes may come out of a file."""
    return max(always, Path(path).stat().st_size * MOST_PACKED)


def read_parquet(
    path: Path | str,
    columns: list[str] | None = None,
    *,
    read_dictionary: list[str] | None = None,
    always: int = SMALL_TABLE,
) -> pa.Table:
    """The table in a file; an ArrowException or OSError reports what is wrong with it.

    Arrow takes any bytes for a text, and any numbers for the places of values, until they are looked at. More rows
    than MOST_PACKED times the file, and more than `always`, are refused.
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
    """Read a file from elsewhere in a process with limits first; an ArrowException reports what it must not do here.

    One row may hold any number of values in a few bytes, and Arrow ends the process on some damaged files.
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
    """In the process: reads all rows and keeps none; answers what is wrong."""
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
    """The rows in batches, until they are more bytes than a file may hold."""
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
    """The rows that pass every filter, given as (column, operator, value), read and checked a part at a time.

    Arrow's own filter looks at the statistics in a file first, and waits forever where those are damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    wanted = pq.filters_to_expression(filters) if filters else None
    with pq.ParquetFile(path) as file:
        parts = [file.schema_arrow.empty_table()]
        for batch in _limit_bytes(file, None, most_bytes(path, SMALL_TABLE)):
            part = pa.Table.from_batches([batch])
            part.validate(full=True)
            parts.append(part if wanted is None else part.filter(wanted))
    return pa.concat_tables(parts)


if __name__ == "__main__":
    serve(_open_probe)
