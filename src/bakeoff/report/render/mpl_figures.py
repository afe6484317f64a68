"""Figures that are plain values, drawn for a paper: curves with shapes of their own, bars with their parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter

from bakeoff.report.render.charts_svg import bar_text
from bakeoff.report.render.scatter_svg import middles
from bakeoff.report.sections.parts import BarChart, Chart, LineChart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PALETTE = ("#0072b2", "#d55e00", "#007a5a", "#a8487f", "#7a6a00", "#2f8fc4", "#8a4b00", "#5c6366")
"""The colours of curves on the page, by place."""
SHAPES = "os^DvPX*"
"""Curves are told apart in black and white too."""
GREY = "#c9cbc9"
WIDTH, ROW = 6.4, 0.32
UNDER = 0.6
"""Inches from an axis to the names under it."""


def draw(chart: Chart) -> Figure:
    """The figure."""
    return _lines(chart, chart.plot) if isinstance(chart.plot, LineChart) else _bars(chart, chart.plot)


def blank(rows: int, title: str) -> tuple[Figure, Axes]:
    """An empty figure for so many rows."""
    figure = Figure(figsize=(WIDTH, max(1.8, ROW * rows + 1.1)))
    axes = figure.subplots()
    axes.set_title(literal(title), loc="left", fontsize=9, wrap=True)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def set_scale(
    axes: Axes, way: Literal["x", "y"], *, log: bool, say: Callable[[float], str], ticks: Sequence[float] = ()
) -> None:
    """The scale of one direction, its ticks written as in the report."""
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
    """Names at the left, first on top."""
    axes.set_yticks([-place for place in range(len(names))], [literal(name) for name in names], fontsize=8)


def literal(text: str) -> str:
    """A text whose dollar signs are no mathematics."""
    return text.replace("$", r"\$")


def _lines(chart: Chart, plot: LineChart) -> Figure:
    """Curves by number; names are under the figure, lines beyond the colours are grey."""
    figure, axes = blank(9, chart.finding)
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


def _bars(chart: Chart, plot: BarChart) -> Figure:
    """Bars by system, their parts side by side."""
    rows = [(group, one) for group in plot.groups for one in group.bars]
    figure, axes = blank(len(rows), chart.finding)
    for place, (_, one) in enumerate(rows):
        start = 0.0
        for number, part in enumerate(one.parts):
            axes.barh(-place, part or 0.0, left=start, height=0.6, color=PALETTE[number])
            start += part or 0.0
        told = literal(bar_text(replace(one, label=""), plot))
        axes.annotate(told, (start, -place), xytext=(4, -2.5), textcoords="offset points", fontsize=7)
    names_of_rows(axes, [" · ".join(filter(None, (group.name, one.label))) for group, one in rows])
    set_scale(axes, "x", log=False, say=plot.say)
    axes.set_xlabel(literal(plot.name), fontsize=9)
    if len(plot.kinds) > 1:
        marks = [Patch(color=PALETTE[number], label=kind) for number, kind in enumerate(plot.kinds)]
        _legend(figure, axes, marks, len(marks))
    return figure


def _legend(figure: Figure, axes: Axes, handles: list[Any], columns: int) -> None:
    """Names under the axis, where they hide nothing."""
    under = -UNDER / (figure.get_size_inches()[1] * axes.get_position().height)
    axes.legend(
        handles=handles,
        fontsize=7,
        frameon=False,
        ncols=columns,
        loc="upper center",
        bbox_to_anchor=(0.5, under),
    )


def _is_round(value: float) -> bool:
    """Whether a tick begins with 2 or 5; only those are named between powers of ten."""
    return f"{value:e}"[0] in "25"
