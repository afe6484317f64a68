"""Parquet files from anywhere: read whole and checked, so that nobody falls over a damaged value later."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 131_072


def read_parquet(path: Path | str, **options: Any) -> pa.Table:
    """The table in a file; an ArrowException or OSError says what is wrong with it.

    Arrow takes any bytes for a text, and any numbers for the places of values, until they are looked at.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, **options)
        table.validate(full=True)
    except UnicodeDecodeError as exc:
        raise pa.ArrowInvalid(f"a name in it is not UTF-8: {exc}") from exc
    return table


def read_where(path: Path, filters: list[tuple[str, str, Any]]) -> pa.Table:
    """The rows that pass every filter, given as (column, operator, value), read and checked a part at a time.

    Arrow's own filter looks at the statistics in a file first, and waits forever where those are damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    wanted = pq.filters_to_expression(filters) if filters else None
    with pq.ParquetFile(path) as file:
        parts = [file.schema_arrow.empty_table()]
        for batch in file.iter_batches(BATCH_ROWS):
            part = pa.Table.from_batches([batch])
            part.validate(full=True)
            parts.append(part if wanted is None else part.filter(wanted))
    return pa.concat_tables(parts)
