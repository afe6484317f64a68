"""The gate: what is shown passes, what is not shown does not, and the error rate is what it says."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from bakeoff.cli.app import app
from bakeoff.errors import ComparisonError
from bakeoff.report import gate_summary, run_history
from bakeoff.runs.analysis import Result, open_run
from bakeoff.runs.gate import GateRules, _check, run_gate
from bakeoff.stats.comparison import ScoreMatrix

Make = Callable[..., Result]
PRIMARY = "nDCG@10(document)"


def changed(
    result: Result,
    name: str,
    change: Callable[[str, str, float], float],
    started: str = "2027-01-01T00:00:00",
) -> Result:
    """A copy of a run with other scores of the primary measure."""
    folder = result.path.with_name(name)
    shutil.copytree(result.path, folder)
    scores = pq.read_table(folder / "scores.parquet")
    values = [
        value if value is None or measure != PRIMARY else min(1.0, max(0.0, change(system, query, value)))
        for system, query, measure, value in zip(
            *(scores[column].to_pylist() for column in ("system", "query_id", "measure", "value")),
            strict=True,
        )
    ]
    place = scores.schema.get_field_index("value")
    pq.write_table(
        scores.set_column(place, "value", pa.array(values, pa.float64())), folder / "scores.parquet"
    )
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**record, "run": name, "started": started}))
    return open_run(folder)


def test_the_same_scores_pass(make_run: Make) -> None:
    before = make_run(systems=3)
    after = changed(before, "after", lambda _, __, value: value)
    outcome = run_gate(before, after, GateRules(0.01))
    assert outcome.passed and [one.verdict for one in outcome.systems] == ["no worse"] * 3
    assert "Passed" in gate_summary.sentence(outcome)


@pytest.mark.parametrize(("queries", "margin", "sure"), [(40, 0.02, False), (40, 0.2, True)])
def test_a_pass_that_rare_queries_could_undo_is_noted(
    make_run: Make, queries: int, margin: float, sure: bool
) -> None:
    """40 equal queries leave a loss of .07 possible."""
    before = make_run(systems=2, queries=queries)
    outcome = run_gate(before, changed(before, "after", lambda _, __, value: value), GateRules(margin))
    assert outcome.passed
    assert {one.holds_level for one in outcome.systems} == {sure}
    noted = [note for note in outcome.notes if "can miss a kind" in note]
    assert len(noted) == (not sure)
    assert all(note in gate_summary.summary(outcome) for note in noted)


def test_a_loss_beyond_the_margin_fails(make_run: Make) -> None:
    before = make_run(systems=3, queries=120)
    after = changed(before, "after", lambda _, __, value: value - 0.2)
    outcome = run_gate(before, after, GateRules(0.02))
    assert not outcome.passed and {one.verdict for one in outcome.systems} == {"worse"}
    assert outcome.systems[0].gain == pytest.approx(outcome.systems[0].after - outcome.systems[0].before)
    assert "0.02" in gate_summary.sentence(outcome)


def test_too_few_queries_do_not_pass_and_say_how_many_would(make_run: Make) -> None:
    random = np.random.default_rng(3)
    before = make_run(systems=1, queries=20)
    after = changed(before, "after", lambda _, __, value: value + float(random.normal(0.1, 0.3)))
    outcome = run_gate(before, after, GateRules(0.02))
    (check,) = outcome.systems
    assert check.verdict == "inconclusive" and not outcome.passed
    assert check.lowest is not None and check.lowest < -0.02 < check.highest
    assert check.needed is None or f"about {check.needed}" in gate_summary.sentence(outcome)


def test_one_category_may_not_be_lost(make_run: Make) -> None:
    before = changed(make_run(systems=1, queries=90, negatives=0), "flat", lambda *_: 0.5)
    random = np.random.default_rng(1)
    rows = dict(
        zip(before.queries["query_id"].to_pylist(), before.queries["category"].to_pylist(), strict=True)
    )
    shift = {"error": -0.3, "howto": 0.3, "concept": 0.3}
    after = changed(
        before,
        "after",
        lambda _, query, value: value + shift[rows[query]] + float(random.uniform(-0.05, 0.05)),
    )
    assert run_gate(before, after, GateRules(0.05)).passed
    outcome = run_gate(before, after, GateRules(0.05, category_margin=0.05))
    (check,) = outcome.systems
    assert [one.category for one in check.categories if one.regressed] == ["error"] and not outcome.passed
    assert "error" in gate_summary.summary(outcome)


def test_a_failed_or_missing_system_does_not_pass(make_run: Make) -> None:
    before = make_run("before", systems=4)
    after = make_run("after", systems=4, failed=1)
    record = json.loads((after.path / "run.json").read_text())
    (after.path / "run.json").write_text(json.dumps({**record, "run": "after"}))
    outcome = run_gate(before, open_run(after.path), GateRules(0.5))
    assert [one.passed for one in outcome.systems] == [True, True, True, False]
    assert "connection refused" in outcome.systems[-1].verdict
    assert run_gate(before, open_run(after.path), GateRules(0.5), system=before.done[0]).passed


@pytest.mark.slow
def test_at_the_margin_the_error_rate_holds() -> None:
    """A true loss of exactly the margin passes in about 5 % of runs, not more."""
    passed = 0
    for seed in range(200):
        random = np.random.default_rng(seed)
        values = np.vstack([np.full(80, 0.5), np.clip(0.45 + random.normal(0, 0.15, 80), 0, 1)])
        queries = tuple(f"q{number}" for number in range(80))
        matrix = ScoreMatrix(("s @ old", "s @ new"), queries, values, PRIMARY)
        passed += _check("s", matrix, ("old", "new"), GateRules(0.05), seed).passed
    assert passed <= 20  # binomial(200, 0.05) exceeds 20 in 0.1 % of cases


@pytest.mark.parametrize("margin", [0.0, -0.1, float("nan")])
def test_a_margin_is_above_zero(margin: float) -> None:
    with pytest.raises(ComparisonError, match="margin"):
        GateRules(margin)


def test_the_same_run_twice_is_refused(make_run: Make) -> None:
    result = make_run()
    with pytest.raises(ComparisonError, match="both baseline and new run"):
        run_gate(result, result, GateRules(0.01))


def test_lower_is_better_is_turned_round(make_run: Make) -> None:
    before = make_run(systems=1, primary="tokens@10(chunk)", measures=("tokens@10(chunk)",))
    folder = shutil.copytree(before.path, before.path.with_name("after"))
    scores = pq.read_table(folder / "scores.parquet")
    more = pc.add(scores["value"], 500.0)
    place = scores.schema.get_field_index("value")
    pq.write_table(scores.set_column(place, "value", more), folder / "scores.parquet")
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**record, "run": "after"}))
    outcome = run_gate(before, open_run(folder), GateRules(10))
    assert outcome.systems[0].gain == pytest.approx(-500) and outcome.systems[0].verdict == "worse"


def test_through_the_command(make_run: Make, tmp_path: Path) -> None:
    before = make_run(systems=2, queries=120)
    after = changed(before, "after", lambda _, __, value: value - 0.2)
    summary = tmp_path / "summary.md"
    arguments = ["gate", str(before.path), str(after.path), "--summary", str(summary)]
    worse = CliRunner().invoke(app, arguments, standalone_mode=False)
    assert worse.return_value == 1
    assert "❌" in summary.read_text() and "Not passed" in worse.output
    told = CliRunner().invoke(app, ["gate", str(before.path), str(after.path), "--json"])
    assert json.loads(told.output)["passed"] is False


def test_history_reports_what_changed(make_run: Make) -> None:
    before = make_run("runs/one", systems=2, queries=60)
    random = np.random.default_rng(5)
    changed(before, "two", lambda _, __, value: value - float(random.uniform(0.1, 0.5)))
    (before.path.with_name("broken")).mkdir()
    (before.path.with_name("broken") / "run.json").write_text("{")
    entries = run_history.list_runs(before.path.parent)
    assert entries[0].status == "unreadable"
    last = entries[-1]
    assert last.run == "two" and last.change is not None and last.change < -0.1 and last.told_apart
    assert "two" in str(run_history.table(entries))


def test_a_baseline_without_a_finished_system_passes_nothing(make_run: Make) -> None:
    before = make_run("runs/one", systems=2)
    after = changed(before, "two", lambda _, __, value: value)
    rows = pq.read_table(before.path / "systems.parquet")
    place = rows.schema.get_field_index("status")
    failed = pa.array(["failed"] * rows.num_rows, rows.schema.field(place).type)
    pq.write_table(rows.set_column(place, "status", failed), before.path / "systems.parquet")
    record = json.loads((before.path / "run.json").read_text())
    (before.path / "run.json").write_text(json.dumps({**record, "tables": {}}))
    empty = open_run(before.path)
    assert (
        CliRunner().invoke(app, ["gate", str(before.path), str(after.path)], standalone_mode=False).exception
    )
    with pytest.raises(ComparisonError, match="no system of one finished"):
        run_gate(empty, after, GateRules(0.01))
    with pytest.raises(ComparisonError, match="no system of one finished"):
        empty.system("A")


def test_history_names_the_state_of_an_unfinished_run(make_run: Make) -> None:
    before = make_run("runs/one", systems=2)
    record = json.loads((before.path / "run.json").read_text())
    for name, status in (("two", "stopped"), ("three", "running")):
        (before.path.with_name(name)).mkdir()
        (before.path.with_name(name) / "run.json").write_text(
            json.dumps({**record, "run": name, "status": status})
        )
    states = {entry.run: entry.status for entry in run_history.list_runs(before.path.parent)}
    assert (states["two"], states["three"]) == ("stopped", "running")


def test_a_long_reason_becomes_a_footnote(make_run: Make) -> None:
    before = make_run("runs/one", systems=2)
    for name in ("two", "three"):
        changed(before, name, lambda _, __, value: value)
        path = before.path.with_name(name) / "run.json"
        record = json.loads(path.read_text())
        record["conventions"]["ties"] = name
        path.write_text(json.dumps(record))
    entries = run_history.list_runs(before.path.parent)
    notes = run_history.footnotes(entries)
    assert notes and all("conventions" in note for note in notes)
    cells = [row[-1] for row in run_history.table(entries)[1]]
    assert {f"see [{number}]" for number in range(1, len(notes) + 1)} <= set(cells)
    assert max(map(len, cells)) <= run_history.SHORT


def test_history_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(ComparisonError):
        run_history.list_runs(tmp_path)
