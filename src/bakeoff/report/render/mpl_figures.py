"""Chart specifications (sections/parts.py) → figures for a paper: SVG, PNG or PDF with error bars."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter

from bakeoff.report.build import Report, charts
from bakeoff.report.render.charts_svg import bar_text
from bakeoff.report.sections import findings
from bakeoff.report.sections.cost_quality import trade_chart
from bakeoff.report.sections.pairs import lead_chart
from bakeoff.report.sections.parts import BarChart, IntervalChart, LineChart, Plot, ScatterChart, middles
from bakeoff.report.sections.systems import means_chart
from bakeoff.stats.number_format import letter

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

PALETTE = ("#0072b2", "#d55e00", "#007a5a", "#a8487f", "#7a6a00", "#2f8fc4", "#8a4b00", "#5c6366")
"""The colours of curves, as on the page."""
SHAPES = "os^DvPX*"
"""Different line styles keep curves readable in black and white."""
GREY = "#c9cbc9"
UNDATED = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
"""Files contain no dates, so the same run gives the same bytes."""
WIDTH, ROW = 6.4, 0.32
UNDER = 0.6
"""Inches between an axis and the legend below it."""


def write_figures(report: Report, folder: Path, formats: Iterable[str]) -> list[Path]:
    """Write each figure in each format and return the paths."""
    drawn = {name: draw_plot(plot, finding) for name, plot, finding in _plots(report)}
    paths = []
    with mpl.rc_context({"svg.hashsalt": "bakeoff", "svg.fonttype": "none", "pdf.fonttype": 42}):
        for kind in formats:
            for name, figure in drawn.items():
                path = folder / f"{name}.{kind}"
                figure.savefig(path, format=kind, metadata=UNDATED[kind], dpi=200, bbox_inches="tight")
                paths.append(path)
    return paths


def _plots(report: Report) -> Iterator[tuple[str, Plot, str]]:
    """The charts of a report with their names and findings."""
    yield "systems", means_chart(report.systems), findings.of_systems(report.systems)
    if report.pairs is not None:
        measure = report.systems.measures[0].label
        yield "differences", lead_chart(report.pairs, measure), findings.of_differences(report.pairs)
    for trade in report.trades:
        yield f"quality_{trade.name}", trade_chart(trade, report.systems), findings.of_trade(trade)
    for chart in charts(report):
        yield chart.name, chart.plot, chart.finding


def draw_plot(plot: Plot, title: str) -> Figure:
    """Draw a chart of any kind."""
    match plot:
        case LineChart():
            return _lines(plot, title)
        case BarChart():
            return _bars(plot, title)
        case IntervalChart():
            return _intervals(plot, title)
        case ScatterChart():
            return _scatter(plot, title)


def blank(rows: int, title: str) -> tuple[Figure, Axes]:
    """An empty figure with room for a number of rows."""
    figure = Figure(figsize=(WIDTH, max(1.8, ROW * rows + 1.1)))
    axes = figure.subplots()
    axes.set_title(literal(title), loc="left", fontsize=9, wrap=True)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def set_scale(
    axes: Axes, way: Literal["x", "y"], *, log: bool, say: Callable[[float], str], ticks: Sequence[float] = ()
) -> None:
    """Set the scale of one axis, with ticks formatted as in the report."""
    axis = axes.xaxis if way == "x" else axes.yaxis
    if log:
        (axes.set_xscale if way == "x" else axes.set_yscale)("log")
    axis.set_major_formatter(FuncFormatter(lambda value, _: say(value)))
    if ticks:
        axis.set_major_locator(FixedLocator(list(ticks)))
    between = log and not ticks
    axis.set_minor_formatter(
        FuncFormatter(lambda value, _: say(value) if between and _is_round(value) else "")
    )
    axis.set_tick_params(which="both", labelsize=8)


def names_of_rows(axes: Axes, names: Sequence[str]) -> None:
    """Put names at the left, first on top."""
    axes.set_yticks([-place for place in range(len(names))], [literal(name) for name in names], fontsize=8)


def literal(text: str) -> str:
    """Text with dollar signs escaped, so that they do not start mathematics."""
    return text.replace("$", r"\$")


def _lines(plot: LineChart, title: str) -> Figure:
    """Curves by number; names are below the figure, curves beyond the palette are grey."""
    figure, axes = blank(9, title)
    for curve in sorted(plot.curves, key=lambda one: -one.place):
        named = curve.place <= len(PALETTE)
        colour, shape = (PALETTE[curve.place - 1], SHAPES[curve.place - 1]) if named else (GREY, ".")
        x, y = zip(*curve.points, strict=True)
        name = literal(f"{curve.place}  {curve.name}") if named else None
        axes.plot(x, y, shape, color=colour, markersize=4, label=name)
        for at, low, high in curve.spread:
            axes.plot((at, at), (low, high), "_-", color=colour, linewidth=1, markersize=5)
        line = curve.fit or middles(curve)
        axes.plot(*zip(*line, strict=True), color=colour, linewidth=1, linestyle="--" if curve.fit else "-")
    set_scale(axes, "x", log=plot.x.log, say=plot.x.say, ticks=plot.x.ticks)
    set_scale(axes, "y", log=plot.y.log, say=plot.y.say)
    axes.set_xlabel(literal(plot.x.name), fontsize=9)
    axes.set_ylabel(literal(plot.y.name), fontsize=9)
    _legend(figure, axes, list(reversed(axes.get_legend_handles_labels()[0])), 2)
    return figure


def _bars(plot: BarChart, title: str) -> Figure:
    """Bars by system, their parts side by side."""
    rows = [(group, bar) for group in plot.groups for bar in group.bars]
    figure, axes = blank(len(rows), title)
    for place, (_, one) in enumerate(rows):
        start = 0.0
        for number, part in enumerate(one.parts):
            axes.barh(-place, part or 0.0, left=start, height=0.6, color=PALETTE[number])
            start += part or 0.0
        length = literal(bar_text(replace(one, label=""), plot))
        axes.annotate(length, (start, -place), xytext=(4, -2.5), textcoords="offset points", fontsize=7)
    names_of_rows(axes, [" · ".join(filter(None, (group.name, one.label))) for group, one in rows])
    set_scale(axes, "x", log=False, say=plot.say)
    axes.set_xlabel(literal(plot.name), fontsize=9)
    if len(plot.kinds) > 1:
        marks = [Patch(color=PALETTE[number], label=kind) for number, kind in enumerate(plot.kinds)]
        _legend(figure, axes, marks, len(marks))
    return figure


def _intervals(plot: IntervalChart, title: str) -> Figure:
    """Values with their intervals, first on top."""
    figure, axes = blank(len(plot.rows), title)
    for place, one in enumerate(plot.rows):
        if one.low is not None and one.high is not None:
            axes.hlines(-place, one.low, one.high, color=PALETTE[0], linewidth=1.4)
        if one.value is not None:
            axes.plot(one.value, -place, "o", color=PALETTE[0], markersize=4.5)
    if plot.zero:
        axes.axvline(0, color="#777777", linewidth=0.8)
    names_of_rows(axes, [row.name for row in plot.rows])
    axes.set_xlabel(literal(plot.axis.name))
    return figure


def _scatter(plot: ScatterChart, title: str) -> Figure:
    """Dots with the letters of systems, the intervals of y and the Pareto front; the recommended one has a ring."""
    figure, axes = blank(9, title)
    for dot in plot.dots:
        if dot.interval is not None:
            axes.vlines(dot.x, *dot.interval, color=PALETTE[0], alpha=0.35, linewidth=1)
        axes.plot(dot.x, dot.y, "o", color=PALETTE[1] if dot.on_front else PALETTE[0], markersize=5)
        if dot.chosen:
            axes.plot(dot.x, dot.y, "o", markersize=11, fillstyle="none", color="black")
        axes.annotate(
            letter(dot.place), (dot.x, dot.y), xytext=(4, 4), textcoords="offset points", fontsize=7
        )
    steps = [dot.x for dot in plot.front], [dot.y for dot in plot.front]
    axes.step(*steps, where="post", color=PALETTE[1], linewidth=1)
    set_scale(axes, "x", log=plot.x.log, say=plot.x.say)
    axes.set_xlabel(literal(plot.x.name))
    axes.set_ylabel(literal(plot.y.name))
    return figure


def _legend(figure: Figure, axes: Axes, handles: Sequence[Artist], columns: int) -> None:
    """Put the legend below the axis, where it hides nothing."""
    under = -UNDER / (figure.get_size_inches()[1] * axes.get_position().height)
    axes.legend(
        handles=list(handles),
        fontsize=7,
        frameon=False,
        ncols=columns,
        loc="upper center",
        bbox_to_anchor=(0.5, under),
    )


def _is_round(value: float) -> bool:
    """Whether a tick begins with 2 or 5; only those are labelled between powers of ten."""
    return f"{value:e}"[0] in "25"
