"""Some rows of a large result table, read without the rest: rankings can be far larger than memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bakeoff.analysis import Result
from bakeoff.errors import DataError
from bakeoff.types import Schema

if TYPE_CHECKING:
    import pyarrow as pa


def rows_where(result: Result, schema: Schema, filters: list[tuple[str, str, Any]]) -> pa.Table:
    """The rows of a table that pass every filter, given as (column, operator, value)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = result.path / f"{schema.name}.parquet"
    try:
        table = pq.read_table(path, filters=filters)
    except FileNotFoundError as exc:
        raise DataError(f"{path} is missing. The run is not finished, or the folder was changed.") from exc
    except (pa.ArrowException, OSError) as exc:
        raise DataError(
            f"{path} cannot be read ({exc}). The file is damaged; run the experiment again."
        ) from exc
    return table.cast(schema.arrow())
