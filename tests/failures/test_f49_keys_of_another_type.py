"""F49: stored results read back with string keys where ints were written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bakeoff.benchmark.results.ann_results import read_ann
from bakeoff.cli import console
from bakeoff.cli.app import app
from bakeoff.errors import DataError
from bakeoff.pipeline.system_tables import CELL, CHOICES, PLACEMENTS
from bakeoff.report.pages.ann import write_ann_page
from bakeoff.report.render.markdown import write_markdown
from bakeoff.runs.analysis import open_run
from bakeoff.runs.folder import QUERIES, RunFolder, read_record, read_table
from bakeoff.storage.schemas import RANKINGS, Schema


@pytest.mark.parametrize("schema", [*CELL, QUERIES], ids=lambda schema: schema.name)
def test_f49_every_table_of_a_run_survives_a_round_trip(ran: Any, tmp_path: Any, schema: Schema) -> None:
    table = read_table(ran.result.path, schema)
    assert (table.num_rows > 0 or schema in (CHOICES, PLACEMENTS)) and table.schema.equals(schema.arrow())
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


def test_f49_figures_by_number_of_threads_are_found_again_on_the_page(home: Any, capsys: Any) -> None:
    """JSON has only strings as keys: what was written under 1 and 2 is read back, and nothing is missing."""
    words = ["ann", "synthetic:500x8", "--stores", "exact", "--runs", "1", "--threads", "2", "--out", "out"]
    assert console.run_guarded(lambda: app(words, standalone_mode=False)) == 0
    record = json.loads(Path("out/record.json").read_text())
    assert set(record["harness_us"]) == {"1", "2"}
    data = read_ann(Path("out"))
    assert data.harness_us == record["harness_us"]["1"] > 0
    page = write_ann_page(Path("out")).read_text(encoding="utf-8")
    assert f"{data.harness_us:.2f} µs per query" in page


def test_f49_a_table_with_a_column_of_another_type_is_refused(ran: Any, tmp_path: Any) -> None:
    table = read_table(ran.result.path, RANKINGS)
    place = table.schema.get_field_index("rank")
    words = pa.array([f"rank {rank}" for rank in table["rank"].to_pylist()])
    pq.write_table(table.set_column(place, "rank", words), tmp_path / "rankings.parquet")
    with pytest.raises(DataError, match=r"rankings\.parquet"):
        read_table(tmp_path, RANKINGS)


def test_f49_the_report_of_a_stored_run_is_the_one_it_was_given(ran: Any, tmp_path: Any) -> None:
    written = write_markdown(ran.result, tmp_path / "now.md").read_text(encoding="utf-8")
    again = write_markdown(open_run(ran.result.path), tmp_path / "later.md").read_text(encoding="utf-8")
    assert written == again
