"""Charts of the dashboard show the report's numbers, drawn by the report's own drawing."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bakeoff.report.build import build_report
from bakeoff.report.render.charts_svg import draw_plot
from bakeoff.report.run_history import HistoryEntry
from bakeoff.report.sections import dashboard_charts as charts
from bakeoff.report.sections.explorer import query_overview, query_scores
from bakeoff.report.sections.reviewed import lift_means
from bakeoff.runs.analysis import Result
from bakeoff.runs.score_grid import read_grid

_place = Path(__file__).resolve().parents[2] / "report" / "conftest.py"
_spec = importlib.util.spec_from_file_location("report_run_charts", _place)
assert _spec
assert _spec.loader
made_up = sys.modules[_spec.name] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(made_up)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Result:
    made = made_up.Made(systems=7, queries=40)
    found: Result = made_up.write_run(tmp_path_factory.mktemp("charts") / "run", made)
    return found


def test_the_overview_has_every_system_with_its_interval_and_latency(run: Result) -> None:
    quick = query_overview(run)
    means, trade = charts.overview_means(quick), charts.overview_trade(quick)
    assert [(row.name, row.value, row.low) for row in means.rows] == [
        (row.system, row.mean, row.low) for row in quick.rows
    ]
    assert [(dot.place, dot.x, dot.y) for dot in trade.dots] == [
        (place, row.p50_ms, row.mean) for place, row in enumerate(quick.rows, 1)
    ]
    assert trade.front and str(draw_plot(trade, "x")).count("<circle") == 7


def test_groups_are_the_breakdown_of_the_first_systems(run: Result) -> None:
    part = build_report(run).breakdowns[0]
    for measure in charts.group_measures(part):
        found = {row.name: row for row in charts.group_means(part, measure).rows}
        others = [(system, means) for name, system, means in part.others if name == measure] or part.rows
        assert len(found) == charts.SYSTEMS * len(part.groups)
        for system, means in list(others)[: charts.SYSTEMS]:
            for group, mean in zip(part.groups, means, strict=True):
                row = found[f"{group} · {system}"]
                assert (row.value, row.low, row.high) == (mean.value, mean.interval.low, mean.interval.high)


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
    assert [row.name for row in charts.lift_chart(lifts).rows] == list(run.done)


def test_questions_have_the_colour_of_their_category(run: Result) -> None:
    a, b = run.done[:2]
    rows = query_scores(run, run.record.primary, [a, b])
    plot = charts.question_scatter(rows, a, b)
    assert plot.kinds == tuple(dict.fromkeys(row.category for row in rows))
    assert [(plot.kinds[dot.place - 1], dot.y, dot.x) for dot in plot.dots] == [
        (row.category, *row.values) for row in rows if None not in row.values
    ]
    drawn = str(draw_plot(plot, "x"))
    assert all(f'class="part c{place}"' in drawn for place in range(1, len(plot.kinds) + 1))
    plain = charts.question_scatter([replace(row, category="") for row in rows], a, b)
    assert plain.kinds == () and 'class="mark' not in str(draw_plot(plain, "x"))


def test_only_comparable_runs_are_joined() -> None:
    blank = {
        "started": "",
        "status": "done",
        "measure": "R@5",
        "system": "a",
        "told_apart": False,
        "note": "",
    }
    means = [(0.4, None), (0.5, 0.1), (None, None), (0.6, None)]
    entries = [
        HistoryEntry(run=f"r{i}", mean=mean, change=gap, **blank) for i, (mean, gap) in enumerate(means)
    ]
    plot = charts.history_chart(entries)
    assert [curve.points for curve in plot.curves] == [((0.0, 0.4), (1.0, 0.5)), ((2.0, 0.6),)]
    assert [plot.x.say(tick) for tick in plot.x.ticks] == ["r0", "r1", "r3"]
