"""The parts of a report section, and the specification of charts: plain values, without any drawing.

render/charts_svg.py draws them for the page and the dashboard, render/mpl_figures.py for a paper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

COLOURS = 8
"""The number of curves with their own colour; the others are grey."""


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of texts; the first `left` columns hold words, the others numbers."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a chart: what it shows, which end is better, and ticks if round values will not do."""

    name: str
    say: Callable[[float], str]
    log: bool
    higher_is_better: bool
    ticks: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Curve:
    """One system over x; `fit` has the ends of its fitted line, if any, `spread` its (x, low, high)."""

    place: int
    name: str
    points: tuple[tuple[float, float], ...]
    fit: tuple[tuple[float, float], ...] = ()
    spread: tuple[tuple[float, float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """A named value with its interval; `quiet` rows are grey, `note` is added to the tooltip."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    quiet: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Dot:
    """One point of a scatter plot; `place` is the number of its system or store."""

    place: int
    name: str
    x: float
    y: float
    on_front: bool = False
    interval: tuple[float, float] | None = None
    """The interval of y, drawn if a figure has room for it."""
    chosen: bool = False
    """Whether it is the recommended one: drawn with a ring, which works without colour."""


@dataclass(frozen=True, slots=True)
class LineChart:
    """Curves over two axes."""

    curves: tuple[Curve, ...]
    x: Axis
    y: Axis


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its label, the length of each kind of part (None: not observed), and the text to print instead."""

    label: str
    parts: tuple[float | None, ...]
    text: str = ""


@dataclass(frozen=True, slots=True)
class BarGroup:
    """The bars of one system."""

    name: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class BarChart:
    """Bars by system, each made of parts of the same kinds; `say` writes a length with its unit."""

    kinds: tuple[str, ...]
    groups: tuple[BarGroup, ...]
    say: Callable[[float | None], str]
    name: str


@dataclass(frozen=True, slots=True)
class IntervalChart:
    """Values with intervals, one below the other."""

    rows: tuple[IntervalRow, ...]
    axis: Axis
    zero: bool = False
    """Whether a line marks 0."""


@dataclass(frozen=True, slots=True)
class ScatterChart:
    """Dots over two axes, with the Pareto front as steps; `kinds` name the places of dots that are not numbered."""

    dots: tuple[Dot, ...]
    x: Axis
    y: Axis
    diagonal: bool = False
    """Whether a line marks equal values."""
    kinds: tuple[str, ...] = ()

    @property
    def front(self) -> tuple[Dot, ...]:
        """The dots on the front, by x."""
        return tuple(sorted((dot for dot in self.dots if dot.on_front), key=lambda dot: dot.x))


Plot = LineChart | BarChart | IntervalChart | ScatterChart


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure with its finding, caption and numbers; `name` is its file name, `hint` explains how to read it."""

    name: str
    finding: str
    caption: str
    plot: LineChart | BarChart
    grid: TextTable
    notes: tuple[str, ...] = ()
    hint: str = ""


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A section of the report: figures, tables and notes, with a finding if the figures do not state it."""

    id: str
    title: str
    finding: str
    grids: tuple[TextTable, ...] = ()
    notes: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()


def front(values: Sequence[tuple[float, float]], x: Axis, y: Axis) -> list[bool]:
    """Whether no other pair is as good on both axes and better on one."""
    return pareto_front(
        [(a if x.higher_is_better else -a, b if y.higher_is_better else -b) for a, b in values]
    )


def pareto_front(values: Sequence[tuple[float, float]]) -> list[bool]:
    """Whether no other pair is as high in both values and higher in one."""
    return [
        not any(a >= value[0] and b >= value[1] and (a, b) != value for a, b in values) for value in values
    ]


def middles(one: Curve) -> list[tuple[float, float]]:
    """The median of the points at each x, in order."""
    places = []
    for a in sorted({a for a, _ in one.points}):
        at = sorted(b for other, b in one.points if other == a)
        places.append((a, at[len(at) // 2]))
    return places
