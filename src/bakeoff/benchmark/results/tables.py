"""Tables of measured rows, written in one step."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from bakeoff.storage.cache import write_file
from bakeoff.types import Schema


def write_rows(
    path: Path,
    schema: Schema,
    rows: Iterable[Sequence[object]],
    compression: Literal["snappy", "zstd"] = "snappy",
) -> None:
    """Write rows, each with a value per column of the schema, as a Parquet file."""
    import pyarrow.parquet as pq

    columns = list(zip(*rows, strict=True)) or [()] * len(schema.columns)
    named = {name: list(column) for (name, _), column in zip(schema.columns, columns, strict=True)}
    buffer = io.BytesIO()
    pq.write_table(schema.table(named), buffer, compression=compression)
    write_file(path, buffer.getvalue())
