"""Parts of a report that are alike: a finding, figures as plain values with their numbers, tables, notes.

How a figure looks is decided where it is drawn: inline SVG, a file for a paper, or a page of the dashboard.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bakeoff.report.render.scatter_svg import Axis, Curve


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of texts; the first `left` columns hold words, the others numbers."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1


@dataclass(frozen=True, slots=True)
class LineChart:
    """Curves over two axes."""

    curves: tuple[Curve, ...]
    x: Axis
    y: Axis


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its label, the length of each kind of part (None was not seen), and what is said instead of these."""

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
class Chart:
    """A figure with the sentence it says, what its values are, its numbers, and how to read it where it is drawn.

    `name` is its file's.
    """

    name: str
    finding: str
    caption: str
    plot: LineChart | BarChart
    grid: TextTable
    notes: tuple[str, ...] = ()
    hint: str = ""


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A part of the report: its finding, where the figures do not say it, its figures, tables and notes."""

    id: str
    title: str
    finding: str
    grids: tuple[TextTable, ...] = ()
    notes: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()
