"""The page of `bakeoff scale`: a curve and an exponent for each figure, threads, filters, inserts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from bakeoff.benchmark.results.records import environment_of, read_record, reading
from bakeoff.benchmark.results.scale_results import (
    DOCUMENTS,
    FILTER,
    THREADS,
    PowerLaw,
    ScaleRow,
    ScaleTable,
    concurrency_rows,
    document_rows,
    filter_rows,
    fit_rows,
    fits_of,
    medians,
    mixed_rows,
    read_rows,
    size_rows,
    systems,
)
from bakeoff.report.pages.ann import PAGE
from bakeoff.report.render import number_text as say
from bakeoff.report.render.charts_svg import curves, draw
from bakeoff.report.render.html import render_page
from bakeoff.report.sections.parts import Axis, Curve
from bakeoff.report.sections.scaling import answer, growth, unit_of
from bakeoff.stats.number_format import capital
from bakeoff.storage.cache import write_file
from bakeoff.types import Json


@dataclass(frozen=True, slots=True)
class ScaleFigure:
    """A drawing with its finding and notes."""

    finding: str
    drawing: Markup
    caption: str


@dataclass(frozen=True, slots=True)
class ScaleSection:
    """A table with its figures."""

    name: str
    title: str
    figures: tuple[ScaleFigure, ...]
    table: ScaleTable


def write_scale_page(folder: Path) -> Path:
    """Write page.html next to its rows and return the path."""
    target = folder / PAGE
    record, rows = read_record(folder, "scale"), read_rows(folder / "rows.parquet")
    with reading(folder):
        text = scale_page(record, rows)
    write_file(target, text.encode("utf-8", "replace"))
    return target


def scale_page(record: Mapping[str, Json], rows: Sequence[ScaleRow]) -> str:
    """The whole page; every text from outside is escaped."""
    fits = fits_of(rows)
    data, options = record["dataset"], record["options"]
    return render_page(
        "scale.html.j2",
        name=data["name"],
        summary=f"{say.name_some([f'{size:,}' for size in options['sizes']], 9)} {_what(record)}, "
        f"{data['queries']:,} queries, {options['runs']} runs, each build in a separate process",
        unit=unit_of(record),
        answer=answer(fits, unit_of(record)),
        status=record["status"],
        failed=tuple(record["failed"].items()),
        notes=tuple(data["notes"]),
        stores=tuple(enumerate(systems(rows), start=1)),
        sections=tuple(section for section in _sections(rows, fits, unit_of(record)) if section.table.rows),
        command=options["command"],
        target=options["target"],
        environment=environment_of(record),
    )


def _what(record: Mapping[str, Json]) -> str:
    data = record["dataset"]
    if unit_of(record) == DOCUMENTS:
        return f"of {data['documents']:,} documents"
    return f"vectors of {data['dims']} dimensions by {data['metric']}"


def _sections(
    rows: Sequence[ScaleRow], fits: Mapping[tuple[str, str], PowerLaw], unit: str
) -> Iterator[ScaleSection]:
    places = {system: place for place, system in enumerate(systems(rows), start=1)}
    grown = tuple(
        ScaleFigure(chart.finding, draw(chart), chart.hint) for chart in growth(rows, fits, unit=unit)
    )
    yield ScaleSection("growth", "Growth with size", grown, fit_rows(fits))
    sizes = document_rows(rows) if unit == DOCUMENTS else size_rows(rows)
    yield ScaleSection("sizes", "Every size: medians of the runs", (), sizes)
    threads = _varied_figures(
        rows=rows,
        places=places,
        kind=THREADS,
        figure="qps",
        what="client threads",
        name="queries per second",
        y_text=say.whole,
        x_text=say.whole,
    )
    yield ScaleSection("threads", "Client threads", threads, concurrency_rows(rows))
    shares = (
        *_varied_figures(
            rows=rows,
            places=places,
            kind=FILTER,
            figure="p50_ms",
            what="share of rows",
            name="latency p50",
            y_text=say.milliseconds,
            x_text=_share,
        ),
        *_varied_figures(
            rows=rows,
            places=places,
            kind=FILTER,
            figure="knn",
            what="share of rows",
            name="recall",
            y_text=say.score,
            x_text=_share,
            log=False,
        ),
    )
    yield ScaleSection("filters", "Search under filters", shares, filter_rows(rows))
    yield ScaleSection("inserts", "Insert while search", (), mixed_rows(rows))


def _varied_figures(
    rows: Sequence[ScaleRow],
    places: Mapping[str, int],
    kind: str,
    figure: str,
    what: str,
    name: str,
    y_text: Callable[[float | None], str],
    x_text: Callable[[float | None], str],
    *,
    log: bool = True,
) -> tuple[ScaleFigure, ...]:
    """One figure: the largest size against what was varied."""
    values = medians(rows, kind)
    largest = max((size for _, size, _ in values), default=0)
    lines = []
    for system, place in places.items():
        points = tuple(
            (float(at), value)
            for (one, size, at), figures in values.items()
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
        f"{capital(name)} by {what} at {largest:,} rows: {best.name} ends at {y_text(max(best.points)[1])}"
    )
    x = Axis(what, x_text, log=True, higher_is_better=True)
    drawn = curves(lines, x, Axis(name, y_text, log=log, higher_is_better=True), finding)
    return (ScaleFigure(finding, drawn, "Medians of the runs."),)


def _share(value: float | None) -> str:
    return say.ABSENT if value is None else f"{value:g}"
