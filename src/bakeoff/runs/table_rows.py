"""Reads parts of large result tables: scores and rankings can exceed memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bakeoff.runs.analysis import Result
from bakeoff.runs.folder import translate_table_errors
from bakeoff.storage.parquet_io import read_parquet, read_where
from bakeoff.storage.schemas import SCORES, Schema

if TYPE_CHECKING:
    import pyarrow as pa


def rows_where(result: Result, schema: Schema, filters: list[tuple[str, str, object]]) -> pa.Table:
    """Rows of a table that pass every filter, given as (column, operator, value)."""
    path = result.table_file(schema)
    with translate_table_errors(path):
        return read_where(path, filters).cast(schema.arrow())


def row_count(result: Result, schema: Schema) -> int:
    """Number of rows in a table, from its metadata."""
    import pyarrow.parquet as pq

    path = result.table_file(schema)
    with translate_table_errors(path):
        return int(pq.read_metadata(path).num_rows)


def score_rows(result: Result) -> pa.Table:
    """All scores, dictionary-encoded so that ten million rows fit in memory."""
    names = ["system", "query_id", "measure", "unit", "source"]
    if result.rescored:
        return _dictionary_encode(result.scores, names)
    path = result.table_file(SCORES)
    with translate_table_errors(path):
        table = read_parquet(path, columns=[*names, "value"], read_dictionary=names)
        return table.unify_dictionaries().combine_chunks()


def _dictionary_encode(table: pa.Table, names: list[str]) -> pa.Table:
    """Dictionary-encode some columns."""
    for name in names:
        table = table.set_column(table.schema.get_field_index(name), name, table[name].dictionary_encode())
    return table.select([*names, "value"]).unify_dictionaries().combine_chunks()
