"""Parquet files from anywhere: read whole and checked, so that nobody falls over a damaged value later."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


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
