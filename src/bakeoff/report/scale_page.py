"""The page of `bakeoff scale`: a curve and an exponent for each figure, threads, filters, inserts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from bakeoff.cache import write_file
from bakeoff.load.fit import Fit, fit
from bakeoff.load.scale_rows import FIGURES, FILTER, SIZE, THREADS, Row, read_rows, systems, values
from bakeoff.load.scale_tables import (
    Table,
    concurrency_rows,
    filter_rows,
    fit_rows,
    medians,
    mixed_rows,
    size_rows,
)
from bakeoff.report import wording as say
from bakeoff.report.ann_data import environment_of, record_of
from bakeoff.report.ann_page import PAGE, filled, megabytes, rate
from bakeoff.report.planes import Axis, Curve, curves

SHOWN: Mapping[str, Callable[[float | None], str]] = {
    "build_s": say.seconds,
    "build_cpu_s": say.seconds,
    "p50_ms": say.milliseconds,
    "memory_mb": megabytes,
    "disk_mb": megabytes,
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing with the sentence it says and what is to be known of it."""

    finding: str
    drawing: Markup
    caption: str


@dataclass(frozen=True, slots=True)
class Section:
    """A table with its figures."""

    name: str
    title: str
    figures: tuple[Figure, ...]
    table: Table


def write_scale_page(folder: Path) -> Path:
    """Write page.html beside the rows it is made of, and return where it is."""
    target = folder / PAGE
    text = scale_page(record_of(folder, "scale"), read_rows(folder / "rows.parquet"))
    write_file(target, text.encode("utf-8", "replace"))
    return target


def scale_page(record: Mapping[str, Any], rows: Sequence[Row]) -> str:
    """The whole page; every text from outside is escaped."""
    fits = {
        (system, figure): fit([(size, value) for size, _, value in values(rows, SIZE, system, figure)])
        for system in systems(rows)
        for figure in FIGURES
    }
    data, options = record["dataset"], record["options"]
    return filled(
        "scale.html.j2",
        name=data["name"],
        summary=f"{say.some([f'{size:,}' for size in options['sizes']], 9)} vectors of {data['dims']} dimensions by "
        f"{data['metric']}, {data['queries']:,} queries, {options['runs']} runs, each build in its own process",
        answer=answer(fits),
        status=record["status"],
        failed=tuple(record["failed"].items()),
        notes=tuple(data["notes"]),
        stores=tuple(enumerate(systems(rows), start=1)),
        sections=tuple(section for section in _sections(rows, fits) if section.table.rows),
        command=options["command"],
        target=options["target"],
        environment=environment_of(record),
    )


def answer(fits: Mapping[tuple[str, str], Fit]) -> str:
    """One sentence: how latency and build time of each store grow."""
    parts = [
        f"{system}: build time grows as rows^{_power(fits[system, 'build_s'])}, "
        f"latency as rows^{_power(fits[system, 'p50_ms'])}"
        for system, figure in fits
        if figure == "build_s" and fits[system, "build_s"].exponent is not None
    ]
    return "; ".join(parts) + "." if parts else "No growth is told: three sizes or more are needed."


def _power(found: Fit) -> str:
    if found.exponent is None or found.low is None or found.high is None:
        return "unknown"
    return f"{found.exponent:.2f} [{found.low:.2f} {found.high:.2f}]"


def _sections(rows: Sequence[Row], fits: Mapping[tuple[str, str], Fit]) -> Iterator[Section]:
    places = {system: place for place, system in enumerate(systems(rows), start=1)}
    growth = tuple(_growth(rows, places, fits))
    yield Section("growth", "Growth with size", growth, fit_rows(fits))
    yield Section("sizes", "Every size: medians of the runs", (), size_rows(rows))
    threads = _varied(rows, places, THREADS, "qps", "client threads", "queries a second", rate, say.whole)
    yield Section("threads", "Client threads", threads, concurrency_rows(rows))
    shares = (
        *_varied(rows, places, FILTER, "p50_ms", "share of rows", "latency p50", say.milliseconds, _share),
        *_varied(rows, places, FILTER, "knn", "share of rows", "recall", say.score, _share, log=False),
    )
    yield Section("filters", "Search under filters", shares, filter_rows(rows))
    yield Section("inserts", "Insert while search", (), mixed_rows(rows))


def _growth(
    rows: Sequence[Row], places: Mapping[str, int], fits: Mapping[tuple[str, str], Fit]
) -> Iterator[Figure]:
    for figure, name in FIGURES.items():
        lines = []
        for system, place in places.items():
            points = [(float(size), value) for size, _, value in values(rows, SIZE, system, figure) if value]
            if points:
                lines.append(Curve(place, system, tuple(points), _ends(fits[system, figure], points)))
        if not lines:
            continue
        shown = SHOWN[figure]
        x = Axis("rows", say.whole, log=True, higher_is_better=True)
        y = Axis(name, shown, log=True, higher_is_better=False)
        finding = _growth_finding(name, [(line.name, fits[line.name, figure]) for line in lines])
        caption = (
            "Every run of every size is a dot; dashes: the fitted power law. Both scales are logarithmic."
        )
        yield Figure(finding, curves(lines, x, y, finding), caption)


def _growth_finding(name: str, found: Sequence[tuple[str, Fit]]) -> str:
    known = [(system, fit.exponent) for system, fit in found if fit.exponent is not None]
    if not known:
        return f"{name.capitalize()} by size: too few sizes for an exponent"
    if len(known) == 1:
        return f"{name.capitalize()} of {known[0][0]} grows as rows^{known[0][1]:.2f}"
    low, high = min(known, key=lambda one: one[1]), max(known, key=lambda one: one[1])
    return (
        f"{name.capitalize()} grows least with {low[0]}, as rows^{low[1]:.2f}, "
        f"and most with {high[0]}, as rows^{high[1]:.2f}"
    )


def _ends(found: Fit, points: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    ends = (min(size for size, _ in points), max(size for size, _ in points))
    return tuple((size, value) for size in ends if (value := found.at(size)) is not None)


def _varied(
    rows: Sequence[Row],
    places: Mapping[str, int],
    kind: str,
    figure: str,
    what: str,
    name: str,
    shown: Callable[[float | None], str],
    told: Callable[[float | None], str],
    *,
    log: bool = True,
) -> tuple[Figure, ...]:
    """One figure of the largest size against what was varied."""
    found = medians(rows, kind)
    largest = max((size for _, size, _ in found), default=0)
    lines = []
    for system, place in places.items():
        points = tuple(
            (float(at), value)
            for (one, size, at), figures in found.items()
            if one == system
            and size == largest
            and at is not None
            and (value := figures.get(figure)) is not None
        )
        if points:
            lines.append(Curve(place, system, points))
    if not lines:
        return ()
    best = max(lines, key=lambda line: max(line.points)[1])
    finding = (
        f"{name.capitalize()} by {what} at {largest:,} rows: {best.name} ends at {shown(max(best.points)[1])}"
    )
    x = Axis(what, told, log=True, higher_is_better=True)
    drawn = curves(lines, x, Axis(name, shown, log=log, higher_is_better=True), finding)
    return (Figure(finding, drawn, "Medians of the runs."),)


def _share(value: float | None) -> str:
    return say.ABSENT if value is None else f"{value:g}"
