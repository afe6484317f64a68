"""Parts of large result tables, read without the rest: scores and rankings can be larger than memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.analysis import Result
from bakeoff.errors import DataError
from bakeoff.types import SCORES, Schema

if TYPE_CHECKING:
    import pyarrow as pa


def rows_where(result: Result, schema: Schema, filters: list[tuple[str, str, Any]]) -> pa.Table:
    """The rows of a table that pass every filter, given as (column, operator, value)."""
    import pyarrow.parquet as pq

    path = result.path / f"{schema.name}.parquet"
    with _translated(path):
        return pq.read_table(path, filters=filters).cast(schema.arrow())


def row_count(result: Result, schema: Schema) -> int:
    """How many rows a table has, without reading them."""
    import pyarrow.parquet as pq

    path = result.path / f"{schema.name}.parquet"
    with _translated(path):
        return int(pq.read_metadata(path).num_rows)


def score_rows(result: Result) -> pa.Table:
    """All scores; names are kept once each, which makes ten million rows fit where strings would not."""
    import pyarrow.parquet as pq

    path = result.path / f"{SCORES.name}.parquet"
    names = ["system", "query_id", "measure", "unit", "source"]
    with _translated(path):
        table = pq.read_table(path, columns=[*names, "value"], read_dictionary=names)
        return table.unify_dictionaries().combine_chunks()


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError as exc:
        raise DataError(f"{path} is missing. The run is not finished, or the folder was changed.") from exc
    except (pa.ArrowException, OSError) as exc:
        raise DataError(
            f"{path} cannot be read ({exc}). The file is damaged; run the experiment again."
        ) from exc
