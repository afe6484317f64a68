"""What was written must be what is read: result tables, cache entries, unfinished runs, folders inside each other."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bakeoff.analysis import open_run
from bakeoff.errors import DataError

if TYPE_CHECKING:
    from conftest import Ran

Cli = Callable[..., str]


@pytest.fixture
def finished(ran: Ran, tmp_path: Path) -> Path:
    """A copy of a finished run."""
    return shutil.copytree(ran.result.path, tmp_path / "finished")


def edit_scores(run: Path) -> None:
    """Give every system a perfect score, as somebody with an editor could."""
    path = run / "scores.parquet"
    table = pq.read_table(path)
    ones = pa.array([1.0] * table.num_rows, pa.float64())
    pq.write_table(table.set_column(table.schema.get_field_index("value"), "value", ones), path)


def edit_record(folder: Path, **changes: object) -> None:
    path = folder / "run.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | changes))


def test_the_record_has_the_hash_of_every_table(finished: Path) -> None:
    tables = json.loads((finished / "run.json").read_bytes())["tables"]
    assert sorted(tables) == sorted(path.stem for path in finished.glob("*.parquet"))


def test_edited_scores_are_refused(finished: Path, cli: Cli) -> None:
    systems = open_run(finished).done
    edit_scores(finished)
    for command in (("report", finished), ("compare", finished, *systems[:2]), ("diff", finished, finished)):
        assert "scores.parquet" in cli(*command, code=2)
    with pytest.raises(DataError):
        _ = open_run(finished).scores


def test_trusted_scores_are_read_and_named(finished: Path, cli: Cli) -> None:
    edit_scores(finished)
    cli("report", finished, "--trust")
    assert "scores.parquet" in (finished / "report.md").read_text(encoding="utf-8")
    assert open_run(finished, trust=True).scores["value"].to_pylist()[0] == 1.0


def test_the_gate_refuses_edited_tables_whatever_is_said(finished: Path, cli: Cli, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(finished, other)
    edit_record(other, run="other")
    cli("gate", finished, other, "--margin", 0.5)
    edit_scores(other)
    assert "scores.parquet" in cli("gate", finished, other, "--margin", 0.5, code=2)


@pytest.mark.parametrize("status", ["running", "stopped"])
def test_a_run_that_is_not_finished_is_not_read(finished: Path, cli: Cli, status: str) -> None:
    edit_record(finished, status=status)
    assert status in cli("report", finished, code=2)


def test_a_run_of_version_0_1_has_no_hashes_and_is_read(finished: Path, cli: Cli) -> None:
    record = json.loads((finished / "run.json").read_bytes())
    del record["tables"]
    (finished / "run.json").write_text(json.dumps(record))
    cli("report", finished)
