"""The page of `bakeoff ann`: Pareto fronts, the table at equal recall, and the numbers behind each figure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from bakeoff.benchmark.results.ann_results import AnnData, PointRow, read_ann
from bakeoff.benchmark.results.records import reading
from bakeoff.benchmark.results.speeds import recall_text
from bakeoff.report.render import number_text as say
from bakeoff.report.render.charts_svg import intervals, plane
from bakeoff.report.render.html import render_page
from bakeoff.report.sections.parts import Axis, Dot, IntervalChart, IntervalRow, front
from bakeoff.storage.cache import write_file

PAGE = "page.html"
DRAWN_FROM = 0.8
"""Settings with less recall appear only in tables: on a figure they would squeeze the rest together."""


@dataclass(frozen=True, slots=True)
class AnnFigure:
    """A Pareto front: its drawing, its finding and its points."""

    finding: str
    drawing: Markup
    caption: str
    column: str
    say: Callable[[float | None], str]
    points: tuple[tuple[PointRow, float, bool], ...]


def write_ann_page(folder: Path) -> Path:
    """Write page.html next to its record and return the path."""
    target = folder / PAGE
    data = read_ann(folder)
    with reading(folder):
        text = ann_page(data)
    write_file(target, text.encode("utf-8", "replace"))
    return target


def ann_page(data: AnnData) -> str:
    """The whole page; every text from outside is escaped."""
    ranked = at_target(data)
    return render_page(
        "ann.html.j2",
        data=data,
        figures=tuple(_figures(data)),
        ranked=ranked,
        bars=_bars(data, ranked),
        percentiles=("p50", "p90", "p95", "p99"),
        missing=_missing(data),
        stores=sorted({point.store for point in data.points}, key=lambda store: store.place),
        rate=say.whole,
        ratio=ratio_text,
        recall=recall_cell,
        megabytes=say.megabytes,
    )


def at_target(data: AnnData) -> tuple[PointRow, ...]:
    """The tuned settings: compared ones first, fastest first, then those that missed the target."""
    chosen = [point for point in data.points if point.chosen]
    return tuple(sorted(chosen, key=lambda point: point.store.place))


def ratio_text(value: float | None) -> str:
    """The ratio of two speeds."""
    return say.ABSENT if value is None else f"{value:.3g}×"


def recall_cell(value: float | None, target: float | None = None) -> str:
    """A recall to four digits, or more if needed to show which side of the target it is on."""
    return say.ABSENT if value is None else recall_text(value, target).replace("0.", ".", 1)


def _figures(data: AnnData) -> Iterator[AnnFigure]:
    across = Axis(f"kNN@{data.k}", say.score, log=False, higher_is_better=True)
    threads = _with_threads(data)
    for name, column, shown, value, higher in (
        ("speed", f"queries per second{threads}", say.whole, lambda point: point.qps.value, True),
        ("memory", "memory of the index", say.megabytes, lambda point: point.store.memory.value, False),
        ("build time", "time to build", say.seconds, lambda point: point.store.build_s, False),
    ):
        figure = _figure(data, across, Axis(column, shown, log=True, higher_is_better=higher), name, value)
        if figure is not None:
            yield figure


def _figure(
    data: AnnData, x: Axis, y: Axis, name: str, value: Callable[[PointRow], float | None]
) -> AnnFigure | None:
    points = [
        (point, point.recall.value, number)
        for point in data.points
        if point.recall.value is not None and (number := value(point))
    ]
    worse = [one for one in points if one[1] < DRAWN_FROM]
    if len(points) - len(worse) >= 2:
        points = [one for one in points if one not in worse]
    if len(points) < 2:
        return None
    on = front([(one, other) for _, one, other in points], x, y)
    dots = [
        Dot(point.store.place, point.label, one, other, flag)
        for (point, one, other), flag in zip(points, on, strict=True)
    ]
    finding = _finding(
        [point for (point, _, _), flag in zip(points, on, strict=True) if flag], len(points), name
    )
    caption = (
        f"Filled dots joined by dashes are the Pareto front. Numbers refer to stores in the table. "
        f"{'Higher' if y.higher_is_better else 'Lower'} is better; log scale."
        f"{_left_out(len(points), data)}"
    )
    rows_under = tuple((point, other, flag) for (point, _, other), flag in zip(points, on, strict=True))
    return AnnFigure(finding, plane(dots, x, y, finding), caption, y.name, y.say, rows_under)  # type: ignore[arg-type]


def _finding(best: list[PointRow], total: int, name: str) -> str:
    ordered = sorted(best, key=lambda point: -(point.recall.value or 0.0))
    names = say.name_some([point.label for point in ordered], 4)
    verb = "is" if len(best) == 1 else "are"
    return f"On the front of recall and {name} {verb} {names}: {len(best)} of {total} settings"


def _left_out(drawn: int, data: AnnData) -> str:
    hidden = sum((point.recall.value or 1.0) < DRAWN_FROM for point in data.points)
    if not hidden or drawn > len(data.points) - hidden:
        return ""
    return f" {say.count(hidden, 'setting')} with a recall under {DRAWN_FROM:g} are only in the table."


def _bars(data: AnnData, ranked: tuple[PointRow, ...]) -> AnnFigure | None:
    shown = [
        IntervalRow(point.label, point.qps.value, point.qps.low, point.qps.high, bool(point.store.reason))
        for point in ranked
        if point.qps.value
    ]
    if not shown or data.target is None:
        return None
    ahead = [one for one in shown if not one.quiet]
    finding = (
        f"At a recall of {data.target:g} or more, {ahead[0].name} answers "
        f"{say.whole(ahead[0].value)} queries per second"
        f"{_with_threads(data)}, {ahead[-1].name} {say.whole(ahead[-1].value)}"
        if len(ahead) > 1
        else data.verdict
    )
    caption = (
        "Median of the runs with quartiles. Grey: missed the target, so its speed is not compared. Log scale."
    )
    chart = IntervalChart(tuple(shown), Axis("", say.whole, log=True, higher_is_better=True))
    return AnnFigure(finding, intervals(chart, finding), caption, "", say.whole, ())


def _with_threads(data: AnnData) -> str:
    return "" if data.threads == 1 else f" with {data.threads} threads"


def _missing(data: AnnData) -> tuple[str, ...]:
    """Why figures are missing."""
    values = [value for point in data.points for value in (*point.latencies, point.store.memory)]
    return tuple(dict.fromkeys(value.note for value in values if value.value is None and value.note))
