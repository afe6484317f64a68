"""Bars of the dashboard show the report's numbers."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("altair", reason="altair is not installed: pip install 'bakeoff[dashboard]'")

from bakeoff.report.build import build_report
from bakeoff.report.dashboard import bars, frames
from bakeoff.report.sections.explorer import query_scores
from bakeoff.report.sections.lift import lift_means
from bakeoff.runs.analysis import Result
from bakeoff.runs.score_grid import read_grid

_place = Path(__file__).resolve().parents[2] / "report" / "conftest.py"
_spec = importlib.util.spec_from_file_location("report_run_bars", _place)
assert _spec
assert _spec.loader
made_up = sys.modules[_spec.name] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(made_up)


@pytest.fixture
def run(tmp_path: Path) -> Result:
    found: Result = made_up.write_run(tmp_path / "run", made_up.Made(systems=7, queries=40))
    return found


def rows(chart: Any) -> list[dict[str, Any]]:
    """The rows of the first layer's data."""
    drawn = chart.to_dict()
    layer = drawn.get("layer", [drawn])[0]
    found: list[dict[str, Any]] = drawn["datasets"][(layer.get("data") or drawn["data"])["name"]]
    return found


def test_group_bars_are_the_breakdown_of_the_first_systems(run: Result) -> None:
    report = build_report(run)
    part = report.breakdowns[0]
    for measure in bars.measures(part):
        found = {(row["system"], row["group"]): row for row in rows(bars.group_bars(part, measure))}
        shown = bars.group_rows(part, measure)
        assert len(shown) == bars.SYSTEMS
        for system, means in shown:
            for group, mean in zip(part.groups, means, strict=True):
                assert mean.measure == measure
                row = found[system, group]
                assert (row["mean"], row["low"], row["n"]) == (mean.value, mean.interval.low, mean.n)


def test_the_win_bar_counts_every_question_once(run: Result) -> None:
    pairs = build_report(run).pairs
    assert pairs is not None
    pair = pairs.against[0]
    assert {pair.a, pair.b} == set(run.comparison.ranking[:2])
    counts = [row["questions"] for row in rows(bars.win_bar(pair))]
    assert counts == [pair.wins, pair.ties, pair.losses] and sum(counts) == pair.n


def test_lift_is_on_the_questions_that_all_systems_have(run: Result) -> None:
    grid = read_grid(run)
    assert lift_means(run, grid, run.done) == {}
    values = np.full((len(run.done), len(grid.queries)), np.nan)
    values[:, :4] = np.arange(len(run.done))[:, None] / 10 + np.array([0.0, 0.1, 0.2, 0.3])
    values[0, 4] = 1.0  # judged for one system only
    judged = replace(grid, values={**grid.values, "SemLift@10(chunk)": values})
    lifts = lift_means(run, judged, run.done)
    assert [mean.n for mean in lifts.values()] == [4] * len(run.done)
    assert lifts[run.done[0]].value == pytest.approx(0.15)
    assert [row["system"] for row in rows(bars.lift_bars(lifts))] == list(run.done)


def test_questions_have_the_colour_of_their_category(run: Result) -> None:
    a, b = run.done[:2]
    frame = frames.queries(query_scores(run, run.record.primary, [a, b]), [a, b])
    colour = frames.scatter(frame, a, b).to_dict()["layer"][0]["encoding"]["color"]
    assert colour["field"] == "category"
    assert colour["scale"]["domain"] == list(dict.fromkeys(frame["category"]))
    plain = frames.scatter(frame.assign(category=""), a, b).to_dict()["layer"][0]["encoding"]
    assert "color" not in plain
