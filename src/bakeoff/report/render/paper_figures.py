"""A report's figures for a paper: SVG, PNG or PDF with error bars, from the same rows as the report's own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure

from bakeoff.report.build import Report, charts
from bakeoff.report.render.mpl_figures import blank, draw, literal, names_of_rows, set_scale
from bakeoff.report.sections import findings
from bakeoff.report.sections.cost_quality import CostQualityPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, FRONT = "#0072B2", "#D55E00"
"""Two colours that people with any kind of colour vision tell apart (Okabe and Ito)."""
STILL = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
"""No dates in the files: the same run gives the same bytes."""


def write_figures(report: Report, folder: Path, formats: Iterable[str]) -> list[Path]:
    """Write each figure in each format and return where they are."""
    made = {"systems": _systems(report)}
    if report.pairs is not None:
        made["differences"] = _differences(report)
    made |= {f"quality_{trade.name}": _trade(trade, report) for trade in report.trades}
    made |= {chart.name: draw(chart) for chart in charts(report)}
    paths = []
    with mpl.rc_context({"svg.hashsalt": "bakeoff", "svg.fonttype": "none", "pdf.fonttype": 42}):
        for kind in formats:
            for name, figure in made.items():
                path = folder / f"{name}.{kind}"
                figure.savefig(path, format=kind, metadata=STILL[kind], dpi=200, bbox_inches="tight")
                paths.append(path)
    return paths


def _systems(report: Report) -> Figure:
    """Means with intervals, best on top."""
    rows = [row for row in report.systems.rows if row.primary.value is not None]
    figure, axes = blank(len(rows), findings.of_systems(report.systems))
    for place, row in enumerate(rows):
        _whisker(axes, place, row.primary.value, row.primary.interval.low, row.primary.interval.high)
    names_of_rows(axes, [row.system for row in rows])
    axes.set_xlabel(literal(report.systems.measures[0].label))
    return figure


def _differences(report: Report) -> Figure:
    """The best system's lead over each other one; right of 0 it is ahead."""
    pairs = report.pairs
    assert pairs is not None
    figure, axes = blank(len(pairs.against), findings.of_differences(pairs))
    for place, pair in enumerate(pairs.against):
        _whisker(axes, place, pair.difference, pair.interval.low, pair.interval.high)
    axes.axvline(0, color="#777777", linewidth=0.8)
    names_of_rows(axes, [pair.b for pair in pairs.against])
    axes.set_xlabel(literal(f"difference in {report.systems.measures[0].label}"))
    return figure


def _trade(trade: CostQualityPoint, report: Report) -> Figure:
    """Quality against a cost on a log scale, with the intervals of the means and the Pareto front."""
    points = trade.points
    figure, axes = blank(9, findings.of_trade(trade))
    means = {row.place: row.primary for row in report.systems.rows}
    for point in points:
        interval = means[point.place].interval
        if interval.low is not None and interval.high is not None:
            axes.vlines(point.cost, interval.low, interval.high, color=INK, alpha=0.35, linewidth=1)
        axes.plot(point.cost, point.quality, "o", color=FRONT if point.on_front else INK, markersize=5)
        axes.annotate(
            str(point.place),
            (point.cost, point.quality),
            xytext=(4, 4),
            textcoords="offset points",
            fontsize=7,
        )
    front = sorted((point.cost, point.quality) for point in points if point.on_front)
    axes.step([x for x, _ in front], [y for _, y in front], where="post", color=FRONT, linewidth=1)
    set_scale(axes, "x", log=True, say=trade.say)
    axes.set_xlabel(literal(trade.axis))
    axes.set_ylabel(literal(report.systems.measures[0].label))
    return figure


def _whisker(axes: Axes, place: int, value: float | None, low: float | None, high: float | None) -> None:
    if low is not None and high is not None:
        axes.hlines(-place, low, high, color=INK, linewidth=1.4)
    if value is not None:
        axes.plot(value, -place, "o", color=INK, markersize=4.5)
