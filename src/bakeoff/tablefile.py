"""Parquet files from anywhere: read whole and checked, so that nobody falls over a damaged value later."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

BATCH_ROWS = 131_072
BATCH_BYTES = 64 * 2**20
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

    Arrow takes any bytes for a text, and any numbers for the places of values, until they are looked at; and it
    allocates what a file claims. More than MOST_PACKED times the file, and more than `always`, is refused.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        most = most_bytes(path, always)
        with pq.ParquetFile(path, read_dictionary=read_dictionary) as file:
            batches = list(_bounded(file, columns, most))
            schema = batches[0].schema if batches else _selected(file.schema_arrow, columns)
        table = pa.Table.from_batches(batches, schema)
        table.validate(full=True)
    except UnicodeDecodeError as exc:
        raise pa.ArrowInvalid(f"a name in it is not UTF-8: {exc}") from exc
    return table


def _bounded(file: pq.ParquetFile, columns: list[str] | None, most: int) -> Iterator[pa.RecordBatch]:
    """The rows in batches of about BATCH_BYTES, until they are more than a file may hold."""
    claimed = _claimed_bytes(file.metadata, columns)
    _refuse_above(most, claimed)
    rows = max(1, min(BATCH_ROWS, file.metadata.num_rows * BATCH_BYTES // max(claimed, 1)))
    total = 0
    for batch in file.iter_batches(rows, columns=columns):
        total += batch.nbytes
        _refuse_above(most, total)
        yield batch


def _claimed_bytes(metadata: pq.FileMetaData, columns: list[str] | None) -> int:
    """How large the values are by the file's own account: by their number where a value has a fixed width."""
    total = 0
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for place in range(group.num_columns):
            column = group.column(place)
            if columns is None or column.path_in_schema.split(".")[0] in columns:
                width = _WIDTHS.get(column.physical_type, 0) or max(metadata.schema.column(place).length, 0)
                total += max(column.num_values * width, column.total_uncompressed_size)
    return total


_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 12}


def _refuse_above(most: int, size: int) -> None:
    import pyarrow as pa

    if size > most:
        raise pa.ArrowInvalid(
            f"{size:,} bytes come out of it, which its size does not explain; at most {most:,}"
        )


def _selected(schema: pa.Schema, columns: list[str] | None) -> pa.Schema:
    import pyarrow as pa

    return schema if columns is None else pa.schema([schema.field(name) for name in columns])


def read_where(path: Path, filters: list[tuple[str, str, Any]]) -> pa.Table:
    """The rows that pass every filter, given as (column, operator, value), read and checked a part at a time.

    Arrow's own filter looks at the statistics in a file first, and waits forever where those are damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    wanted = pq.filters_to_expression(filters) if filters else None
    with pq.ParquetFile(path) as file:
        parts = [file.schema_arrow.empty_table()]
        for batch in _bounded(file, None, most_bytes(path, SMALL_TABLE)):
            part = pa.Table.from_batches([batch])
            part.validate(full=True)
            parts.append(part if wanted is None else part.filter(wanted))
    return pa.concat_tables(parts)
