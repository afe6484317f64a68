"""A report's figures for a paper: SVG, PNG or PDF with error bars, from the same rows as the report's own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from bakeoff.report import findings
from bakeoff.report.tables import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, FRONT = "#0072B2", "#D55E00"
"""Two colours that people with any kind of colour vision tell apart (Okabe and Ito)."""
WIDTH, ROW = 6.4, 0.32
STILL = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
"""No dates in the files: the same run gives the same bytes."""


def write_figures(report: Report, folder: Path, formats: Iterable[str]) -> list[Path]:
    """Write each figure in each format and return where they are."""
    made = {"systems": _systems(report)}
    if report.pairs is not None:
        made["differences"] = _differences(report)
    if report.by_latency:
        made["quality_latency"] = _trade(report)
    paths = []
    with mpl.rc_context({"svg.hashsalt": "bakeoff", "svg.fonttype": "none", "pdf.fonttype": 42}):
        for kind in formats:
            for name, figure in made.items():
                path = folder / f"{name}.{kind}"
                figure.savefig(path, format=kind, metadata=STILL[kind], dpi=200, bbox_inches="tight")
                paths.append(path)
    return paths


def _figure(rows: int, title: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(WIDTH, max(1.8, ROW * rows + 1.1)))
    axes = figure.subplots()
    axes.set_title(_literal(title), loc="left", fontsize=9, wrap=True)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _systems(report: Report) -> Figure:
    """Means with intervals, best on top."""
    rows = [row for row in report.systems.rows if row.primary.value is not None]
    figure, axes = _figure(len(rows), findings.of_systems(report.systems))
    for place, row in enumerate(rows):
        _whisker(axes, place, row.primary.value, row.primary.interval.low, row.primary.interval.high)
    _names(axes, [row.system for row in rows])
    axes.set_xlabel(_literal(report.systems.measures[0].label))
    return figure


def _differences(report: Report) -> Figure:
    """The best system's lead over each other one; right of 0 it is ahead."""
    pairs = report.pairs
    assert pairs is not None
    figure, axes = _figure(len(pairs.against), findings.of_differences(pairs))
    for place, pair in enumerate(pairs.against):
        _whisker(axes, place, pair.difference, pair.interval.low, pair.interval.high)
    axes.axvline(0, color="#777777", linewidth=0.8)
    _names(axes, [pair.b for pair in pairs.against])
    axes.set_xlabel(_literal(f"difference in {report.systems.measures[0].label}"))
    return figure


def _trade(report: Report) -> Figure:
    """Quality against latency on a log scale, with the intervals of the means and the Pareto front."""
    points = report.by_latency
    figure, axes = _figure(9, findings.of_trade(points, "fastest"))
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
    axes.set_xscale("log")
    for axis_format in (axes.xaxis.set_major_formatter, axes.xaxis.set_minor_formatter):
        axis_format(FuncFormatter(_round_number))
    axes.set_xlabel("p50 in ms")
    axes.set_ylabel(_literal(report.systems.measures[0].label))
    return figure


def _whisker(axes: Axes, place: int, value: float | None, low: float | None, high: float | None) -> None:
    if low is not None and high is not None:
        axes.hlines(-place, low, high, color=INK, linewidth=1.4)
    if value is not None:
        axes.plot(value, -place, "o", color=INK, markersize=4.5)


def _names(axes: Axes, names: list[str]) -> None:
    axes.set_yticks([-place for place in range(len(names))], [_literal(name) for name in names], fontsize=8)


def _round_number(value: float, _place: int | None) -> str:
    """A tick as people write it; only those beginning with 1, 2 or 5 are named."""
    return f"{value:g}" if f"{value:e}"[0] in "125" else ""


def _literal(text: str) -> str:
    """A text whose dollar signs are no mathematics."""
    return text.replace("$", r"\$")
