"""The key measure of each category, on the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from bakeoff.cli import console
from bakeoff.report.render.number_text import ABSENT, interval, score
from bakeoff.report.sections.preset_sections import missing_notes
from bakeoff.runs.analysis import Result
from bakeoff.runs.key_measures import key_measures
from bakeoff.runs.score_grid import GridMean, read_grid
from bakeoff.stats.number_format import letter

HEADERS = ["category", "key measure", "n"]
GAP = 2


class SystemMean(TypedDict):
    """A system's mean over the queries of a category."""

    mean: float | None
    interval: list[float | None]
    n: int


class CategoryMeans(TypedDict):
    """The key measure of a category, with the mean of every system."""

    category: str
    measure: str
    systems: dict[str, SystemMean]


def print_key_measures(result: Result, systems: Sequence[str]) -> None:
    """Print a row per category and a column per system, lettered as in the table of systems."""
    measures = key_measures(result, read_grid(result), systems)
    if not measures:
        return
    console.print_line()
    heads = [[one.category, one.measure, _count(list(one.means.values()))] for one in measures]
    full = [[_text(one.means.get(system)) for system in systems] for one in measures]
    short = [[cell.partition(" ")[0] for cell in cells] for cells in full]
    room = console.out.width - _width([HEADERS, *heads])
    cells = full if _width(full) <= room else short
    shown = max(
        (n for n in range(1, len(systems) + 1) if _width([row[:n] for row in cells]) <= room), default=1
    )
    headers = [*HEADERS, *(letter(place) for place in range(1, shown + 1))]
    rows = [[*head, *row[:shown]] for head, row in zip(heads, cells, strict=True)]
    console.table(headers, rows, right=tuple(range(2, 3 + shown)))
    if shown < len(systems) or cells is not full:
        left = f"{len(systems) - shown} more systems and " if shown < len(systems) else ""
        console.print_line(f"… {left}intervals in the report", style="dim")
    for note in missing_notes(measures):
        console.print_line(f"{ABSENT} {note}", style="dim")
    console.print_line()


def key_measures_json(result: Result) -> list[CategoryMeans]:
    """The key measure of each category; empty if the preset names none."""
    return [
        {
            "category": row.category,
            "measure": row.measure,
            "systems": {
                system: {
                    "mean": mean.value,
                    "interval": [mean.interval.low, mean.interval.high],
                    "n": mean.n,
                }
                for system, mean in row.means.items()
            },
        }
        for row in key_measures(result, read_grid(result), result.done)
    ]


def _width(rows: Sequence[Sequence[str]]) -> int:
    """Characters that columns take on the screen, each with the gap after it."""
    return sum(max(map(len, column)) + GAP for column in zip(*rows, strict=True))


def _count(means: Sequence[GridMean]) -> str:
    counts = {mean.n for mean in means}
    return " to ".join(f"{n:,}" for n in sorted({min(counts), max(counts)})) if counts else ABSENT


def _text(mean: GridMean | None) -> str:
    if mean is None or mean.value is None:
        return ABSENT
    return f"{score(mean.value)} {interval(mean.interval.low, mean.interval.high)}".rstrip()
