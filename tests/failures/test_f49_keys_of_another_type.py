"""F49: stored results read back with string keys where ints were written."""

from __future__ import annotations

from typing import Any

import pytest

from bakeoff.analysis import open_run
from bakeoff.results import CELL, CHOICES, QUERIES, RunFolder, read_record, read_table
from bakeoff.types import Schema


@pytest.mark.parametrize("schema", [*CELL, QUERIES], ids=lambda schema: schema.name)
def test_f49_every_table_of_a_run_survives_a_round_trip(ran: Any, tmp_path: Any, schema: Schema) -> None:
    table = read_table(ran.result.path, schema)
    assert (table.num_rows > 0 or schema is CHOICES) and table.schema.equals(schema.arrow())
    RunFolder(tmp_path).table(schema, [table])
    assert read_table(tmp_path, schema).equals(table)
    assert (tmp_path / f"{schema.name}.parquet").read_bytes() == (
        ran.result.path / f"{schema.name}.parquet"
    ).read_bytes()


def test_f49_the_record_survives_a_round_trip_with_its_types(ran: Any, tmp_path: Any) -> None:
    RunFolder(tmp_path).record(ran.result.record)
    again = read_record(tmp_path)
    assert again == ran.result.record
    assert (tmp_path / "run.json").read_bytes() == (ran.result.path / "run.json").read_bytes()
    assert isinstance(again.depth, int) and isinstance(again.chunkings[0].quantiles[0], int)
    assert all(isinstance(hit.hits, int) for hit in again.truth_hits)


def test_f49_what_follows_from_the_rows_is_the_same_after_reading(ran: Any) -> None:
    again = open_run(ran.result.path)
    assert again.comparison == ran.result.comparison and again.verdict == ran.result.verdict
