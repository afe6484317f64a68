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

from bakeoff.errors import DataError
from bakeoff.runs import folder as results
from bakeoff.runs.analysis import open_run

if TYPE_CHECKING:
    from conftest import Ran

Cli = Callable[..., str]
DASHBOARD = Path(results.__file__).parents[1] / "report" / "dashboard" / "app.py"


@pytest.fixture
def finished(ran: Ran, tmp_path: Path) -> Path:
    """A copy of a finished run; another copy, in the folder `before`, is an earlier run."""
    before = shutil.copytree(ran.result.path, tmp_path / "before")
    edit_record(before, run="before")
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


TABLES = ("scores", "systems", "queries", "rankings", "latencies", "passages", "losses", "ties")
"""What a report is made of."""


def rewrite(run: Path, table: str) -> None:
    """The same rows in a file of other bytes, which stands for any edit."""
    path = run / f"{table}.parquet"
    pq.write_table(pq.read_table(path), path, compression="none", store_schema=False)


@pytest.mark.parametrize("table", TABLES)
def test_a_report_refuses_every_table_that_was_edited(finished: Path, cli: Cli, table: str) -> None:
    rewrite(finished, table)
    assert f"{table}.parquet" in cli("report", finished, code=2)


def test_a_report_of_edited_tables_is_written_with_trust(finished: Path, cli: Cli) -> None:
    for table in TABLES:
        rewrite(finished, table)
    cli("report", finished, "--trust")


def commands(run: Path) -> dict[str, tuple[object, ...]]:
    """Every command that reads the scores or the rankings of a run."""
    return {
        "report": ("report", run),
        "compare": ("compare", run, "dense", "bm25"),
        "diff": ("diff", run.with_name("before"), run),
        "gate": ("gate", run.with_name("before"), run, "--margin", 0.5),
        "export trec": ("export", run, "--out", run / "trec", "--format", "trec"),
        "export preset": ("export", run, "--out", run / "preset", "--preset", "lineage"),
        "review export": ("review", "export", run, "--to", run / "review"),
    }


@pytest.mark.parametrize("name", commands(Path("run")))
def test_edited_tables_are_refused_by_every_command(finished: Path, cli: Cli, name: str) -> None:
    words = commands(finished)[name]
    for table in ("scores", "rankings"):
        rewrite(finished, table)
    assert ".parquet" in cli(*words, code=2)
    if words[0] in ("report", "diff", "export"):
        assert "Read with --trust" in cli(*words, "--trust") or words[0] != "export"


@pytest.mark.parametrize("name", [*commands(Path("run")), "load"])
@pytest.mark.parametrize("status", ["running", "stopped"])
def test_a_run_that_is_not_finished_is_not_read(
    finished: Path, ran: Ran, cli: Cli, name: str, status: str
) -> None:
    edit_record(finished, status=status)
    words = commands(finished).get(name, ("load", finished, "--experiment", ran.result.path.parent))
    assert status in cli(*words, code=2)


def test_edited_scores_are_not_read_by_a_script(finished: Path) -> None:
    edit_scores(finished)
    with pytest.raises(DataError):
        _ = open_run(finished).scores


@pytest.mark.parametrize("how", ["edited", "running"])
def test_the_dashboard_shows_why_instead_of_the_numbers(
    finished: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    testing = pytest.importorskip("streamlit.testing.v1")
    from bakeoff.report.dashboard.folder import VARIABLE

    edit_scores(finished) if how == "edited" else edit_record(finished, status="running")
    monkeypatch.setenv(VARIABLE, str(finished))
    shown = testing.AppTest.from_file(str(DASHBOARD)).run(timeout=120)
    assert len(shown.error) == 1 and not shown.dataframe
    assert ("scores.parquet" if how == "edited" else "running") in shown.error[0].value


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


def test_a_run_of_version_0_1_has_no_hashes_and_is_read(finished: Path, cli: Cli) -> None:
    record = json.loads((finished / "run.json").read_bytes())
    del record["tables"]
    (finished / "run.json").write_text(json.dumps(record))
    cli("report", finished)


TWO_MODELS = """\
name: two models
corpus: {folder: corpus}
queries: queries.yaml
chunkers: [whole]
embedders: [{wordllama: {dims: 64}}, {wordllama: {dims: 128}}]
stores: [exact]
modes: [dense]
depth: 5
"""


def scored(run: Path) -> list[tuple[str, str, str, float | None]]:
    rows = open_run(run).scores.to_pylist()
    return sorted((row["system"], row["query_id"], row["measure"], row["value"]) for row in rows)


def swap(root: Path) -> int:
    """Exchange the first entry of every stage with the last one; how many stages had two."""
    swapped = 0
    for stage in [path for path in root.iterdir() if path.name not in ("aside", "locks") and path.is_dir()]:
        entries = sorted(stage.glob("??/*"))
        if len(entries) > 1:
            entries[0].rename(root / "held")
            entries[-1].rename(entries[0])
            (root / "held").rename(entries[-1])
            swapped += 1
    return swapped


@pytest.mark.parametrize("shared", [False, True], ids=["cache", "shared cache"])
def test_swapped_cache_entries_are_rebuilt_with_a_warning(
    home: Path,
    cli: Cli,
    laid_out: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    shared: bool,
) -> None:
    path, place = laid_out(Path.cwd(), TWO_MODELS), home / "cache"
    if shared:
        place = home.parent / "shared"
        place.mkdir()
        monkeypatch.setenv("BAKEOFF_CACHE", place.as_uri())
    cli("run", path, "--out", "first")
    assert swap(place) >= 1
    if shared:
        shutil.rmtree(home / "cache")
    cli("run", path, "--out", "second")
    assert scored(Path("second")) == scored(Path("first"))
    assert "rebuilding" in caplog.text
