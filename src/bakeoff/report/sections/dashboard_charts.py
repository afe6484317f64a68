"""Chart specifications of the dashboard: means, costs, groups of questions, lift, two systems, runs over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bakeoff.report.render import number_text as say
from bakeoff.report.run_history import HistoryEntry
from bakeoff.report.sections.breakdown import Breakdown
from bakeoff.report.sections.explorer import ExploredQuery, QueryOverview
from bakeoff.report.sections.parts import (
    Axis,
    Curve,
    Dot,
    IntervalChart,
    IntervalRow,
    LineChart,
    ScatterChart,
    front,
)
from bakeoff.runs.score_grid import GridMean

SYSTEMS = 5
"""The number of systems shown per group."""
ROWS = 25
NAMED_RUNS = 5
"""The number of runs whose names fit under a chart; more are numbered."""


def overview_means(table: QueryOverview) -> IntervalChart:
    """Means of the first systems with their intervals."""
    rows = (IntervalRow(row.system, row.mean, row.low, row.high) for row in table.rows[:ROWS])
    return IntervalChart(tuple(row for row in rows if row.value is not None), _score_axis(table.primary))


def overview_trade(table: QueryOverview) -> ScatterChart:
    """Quality against latency; letters are those of the table."""
    x = Axis("p50 in ms", say.milliseconds, log=True, higher_is_better=False)
    return _scatter(table, x, [row.p50_ms for row in table.rows])


def vector_trade(table: QueryOverview) -> ScatterChart | None:
    """Quality against bytes per vector; None if all systems have the same."""
    counts = [row.vector_bytes for row in table.rows]
    if len({count for count in counts if count}) < 2:
        return None
    return _scatter(table, Axis("bytes per vector", say.whole, log=True, higher_is_better=False), counts)


def _scatter(table: QueryOverview, x: Axis, costs: Sequence[float | None]) -> ScatterChart:
    y = _score_axis(table.primary)
    found = [
        (place, row.system, float(cost), row.mean)
        for place, (row, cost) in enumerate(zip(table.rows, costs, strict=True), start=1)
        if cost and row.mean is not None
    ]
    best = front([(cost, mean) for _, _, cost, mean in found], x, y)
    dots = (Dot(*one, on_front) for one, on_front in zip(found, best, strict=True))
    return ScatterChart(tuple(dots), x, y)


def group_measures(part: Breakdown) -> tuple[str, ...]:
    """The measures of a breakdown, the primary one first."""
    primary = part.rows[0][1][0].measure
    return (primary, *dict.fromkeys(measure for measure, _, _ in part.others))


def group_means(part: Breakdown, measure: str) -> IntervalChart:
    """Means of the first systems by group of questions, with their intervals."""
    others = [(system, means) for name, system, means in part.others if name == measure]
    shown = list(others or part.rows)[:SYSTEMS]
    rows = (
        _mean_row(f"{group} · {system}", means[place])
        for place, group in enumerate(part.groups)
        for system, means in shown
    )
    return IntervalChart(tuple(row for row in rows if row.value is not None), _score_axis(measure))


def lift_chart(lifts: Mapping[str, GridMean]) -> IntervalChart:
    """Semantic lift of every system, with its interval."""
    rows = tuple(_mean_row(system, mean) for system, mean in lifts.items())
    axis = Axis(next(iter(lifts.values())).measure, say.format_signed, log=False, higher_is_better=True)
    return IntervalChart(rows, axis, zero=True)


def question_scatter(rows: Sequence[ExploredQuery], first: str, second: str) -> ScatterChart:
    """Each question by its scores in two systems, coloured by category; above the line the first is better."""
    kinds = tuple(dict.fromkeys(row.category for row in rows if row.category))
    dots = (
        Dot(kinds.index(row.category) + 1 if row.category else 0, f"{row.id} {row.text}", b, a)
        for row in rows
        for a, b in [row.values]
        if a is not None and b is not None
    )
    x, y = (Axis(name, say.score, log=False, higher_is_better=True) for name in (second, first))
    return ScatterChart(tuple(dots), x, y, diagonal=True, kinds=kinds)


def history_chart(entries: Sequence[HistoryEntry]) -> LineChart:
    """The leader's mean in each run; a line joins only runs that were compared question by question."""
    scored = [(entry, entry.mean) for entry in entries if entry.mean is not None]
    stretches: list[list[tuple[float, float]]] = []
    for place, (entry, mean) in enumerate(scored):
        if place == 0 or entry.change is None:
            stretches.append([])
        stretches[-1].append((float(place), mean))
    names = [
        entry.run if len(scored) <= NAMED_RUNS else str(place) for place, (entry, _) in enumerate(scored, 1)
    ]
    x = Axis(
        "run",
        lambda value: names[round(value)],
        log=False,
        higher_is_better=True,
        ticks=tuple(range(len(scored))),
    )
    curves = (
        Curve(place, scored[int(points[0][0])][0].system or "", tuple(points))
        for place, points in enumerate(stretches, 1)
    )
    measures = " and ".join(dict.fromkeys(entry.measure for entry, _ in scored))
    return LineChart(tuple(curves), x, _score_axis(measures))


def _score_axis(name: str) -> Axis:
    return Axis(name, say.score, log=False, higher_is_better=True)


def _mean_row(name: str, mean: GridMean) -> IntervalRow:
    return IntervalRow(name, mean.value, mean.interval.low, mean.interval.high, note=f", n {mean.n}")
