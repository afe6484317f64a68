"""The measures of a review on the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from bakeoff.cli import console
from bakeoff.report.sections.parts import TextTable
from bakeoff.report.sections.reviewed import (
    against_grid,
    common_grid,
    figures_grid,
    leading_pairs,
    sides_grid,
)
from bakeoff.review.agreement import Coefficient
from bakeoff.review.auto_vs_human import AutoVsHuman
from bakeoff.review.measures import ReviewFigures, SystemFigures
from bakeoff.runtime.count_text import decimal_range

SHOWN = 10


def print_figures(figures: ReviewFigures) -> None:
    """Print the measures of every system, and the leader against the others."""
    _print_table(figures_grid(figures))
    console.print_line("value [possible range once every result is judged]", style="dim")
    if figures.pairs:
        _print_table(common_grid(figures))
        console.print_line(
            "common: questions judged completely for every system; all: for this system", style="dim"
        )
        _print_pairs(figures)


def _print_pairs(figures: ReviewFigures) -> None:
    """Print the leader against each other system; --json has all pairs."""
    _print_table(against_grid(figures))
    shown = leading_pairs(figures)
    first = shown[0]
    if first.left_out:
        some = "; ".join(f"{query} ({why})" for query, why in list(first.left_out.items())[:SHOWN])
        console.print_line(f"– not compared, {first.a} − {first.b}: {some}", style="dim")
    console.print_line(
        "means and intervals: questions complete for both systems; bounds: all common questions", style="dim"
    )
    if len(shown) < len(figures.pairs):
        console.print_line(
            f"the leader against each; --json has all {len(figures.pairs)} differences", style="dim"
        )


def print_sides(sides: Sequence[AutoVsHuman]) -> None:
    """Print automated, human-adjusted and combined means, if some question was judged completely."""
    shown = [side for side in sides if side.human.n or not side.category]
    if not any(one.human.n for one in shown):
        return
    _print_table(sides_grid(shown))
    console.print_line(
        f"{shown[0].measure}; combined: human judgments where every system is judged completely, else rules",
        style="dim",
    )


def _print_table(grid: TextTable) -> None:
    console.print_line()
    console.table(grid.headings, grid.rows, right=range(grid.left, len(grid.headings)))


def figures_json(figures: ReviewFigures) -> dict[str, object]:
    """The measures as JSON."""
    return {
        "k": figures.k,
        "systems": [{"system": row.system, **system_json(row)} for row in figures.systems],
        "pairs": [asdict(pair) for pair in figures.pairs],
        "common": list(figures.common),
        "on_common": {system: dict(means) for system, means in figures.on_common.items()},
    }


def system_json(one: SystemFigures) -> dict[str, object]:
    """A system's figures as JSON."""
    return {
        "queries": list(one.queries),
        "complete": list(one.complete),
        "judged": one.judged,
        "counts": {label.value or "unjudged": count for label, count in one.counts.items()},
        "measures": {name: asdict(value) for name, value in one.values.items()},
        "on_complete": dict(one.on_complete),
        "intervals": {name: asdict(value) for name, value in one.intervals.items()},
    }


def coefficient(value: Coefficient) -> str:
    """An agreement coefficient with its interval, or why there is none."""
    if value.value is None:
        return value.reason
    return f"{value.value:.3f} {decimal_range(value.low, value.high, 3)}"
