"""Latency curves: percentiles only where samples allow, the stored statistics again, nothing made up for the rest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bakeoff.benchmark.results.histogram import Histogram
from bakeoff.report.build import build_report
from bakeoff.report.sections import percentiles
from bakeoff.report.sections.parts import LineChart
from bakeoff.report.sections.percentiles import (
    PERCENTS,
    finding,
    of_histogram,
    of_samples,
    run_quantiles,
    samples_needed,
)
from bakeoff.runs.analysis import Result

Make = Callable[..., Result]


def test_how_many_samples_a_percentile_needs() -> None:
    assert [samples_needed(percent) for percent in PERCENTS] == [10, 20, 50, 100, 500, 5000]


@pytest.mark.parametrize("count", [0, 9, 10, 99, 100, 499, 500, 5000])
def test_a_percentile_is_there_exactly_where_samples_allow(count: int) -> None:
    found = of_samples("a", np.linspace(1, 2, count))
    assert [value is not None for value in found.values] == [
        count >= samples_needed(percent) for percent in PERCENTS
    ]


def test_a_histogram_tells_what_its_samples_tell() -> None:
    nanoseconds = np.random.default_rng(1).gamma(3, 1e6, 6000).astype(np.int64)
    samples, buckets = of_samples("a", nanoseconds / 1e6), of_histogram("a", Histogram.of(nanoseconds))
    assert buckets.values == pytest.approx(samples.values, rel=1e-3)


def test_what_never_came_back_makes_the_tail_unknown() -> None:
    found = of_histogram("a", Histogram.of(np.full(5400, 10**6), missing=600))
    assert found.values[:3] == pytest.approx([1.0, 1.0, 1.0], rel=1e-3) or found.values[2] is None
    assert found.values[3:] == (None, None, None) and found.samples == 6000


def test_the_curve_holds_the_stored_statistics(make_run: Make) -> None:
    result = make_run(systems=3)
    rows = {row.system: row for row in run_quantiles(result, result.done)}
    for system in result.done:
        for percent in (50, 90, 95):
            stored = result.timing(system, "total", f"p{percent}_ms")
            assert rows[system].values[PERCENTS.index(percent)] == pytest.approx(stored, rel=1e-12)
        assert rows[system].values[4] is None and rows[system].samples == 150


def test_the_title_names_the_fastest_and_the_slowest(make_run: Make) -> None:
    result = make_run(systems=4)
    chart = build_report(result).curves
    assert chart is not None and isinstance(chart.plot, LineChart)
    known = sorted((result.timing(system, "total", "p95_ms"), system) for system in result.done)
    assert chart.finding.startswith(f"{known[0][1]} answers 95\u00a0% of questions within")
    assert f"{known[-1][1]} needs" in chart.finding
    assert [curve.name for curve in chart.plot.curves] == [row[0] for row in chart.grid.rows]


def test_one_system_and_too_few_samples() -> None:
    assert (
        finding([of_samples("a", np.full(20, 3.0))]) == "a answers 75\u00a0% of questions within 3.00\u00a0ms"
    )
    few = of_samples("a", np.full(9, 3.0))
    assert percentiles.chart("x", [few], {"a": 1}, "") is None
    assert "Too few samples" in finding([few])


def test_zero_times_and_twenty_five_systems_are_drawn(make_run: Make) -> None:
    rows = [of_samples(f"s{place}", np.full(100, float(place))) for place in range(25)]
    chart = percentiles.chart("x", rows, {row.system: n for n, row in enumerate(rows, 1)}, "Made up.")
    assert chart is not None and isinstance(chart.plot, LineChart)
    assert len(chart.plot.curves) == 24 and len(chart.grid.rows) == 25  # 0 ms has no place on a log scale
    assert "17" in chart.hint
