"""The figures of a report as inline SVG; each is drawn from the same rows as the table under it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from markupsafe import Markup

from bakeoff.report.render import number_text as say
from bakeoff.report.render.svg import (
    WIDTH,
    Scale,
    axis,
    bar,
    circle,
    drawing,
    line,
    padded_range,
    path,
    shorten,
    text,
    vertical_text,
)
from bakeoff.report.sections.breakdown import RankTable
from bakeoff.report.sections.cost_quality import CostQualityPoint
from bakeoff.report.sections.pairs import PairTable
from bakeoff.report.sections.systems import SystemRow
from bakeoff.runs.record import ChunkingRecord
from bakeoff.stats.comparison import PairComparison

ROW = 38
LABEL = 62
STRIP = (150, 20)


def strip_scale(rows: Sequence[SystemRow]) -> Scale:
    """The scale that all intervals of a table share."""
    ends = [
        end
        for row in rows
        for end in (row.primary.value, row.primary.interval.low, row.primary.interval.high)
        if end is not None
    ]
    return padded_range(ends, 4, STRIP[0] - 4)


def strip(row: SystemRow, scale: Scale) -> Markup:
    """A mean and its interval as a dot on a line, to stand inside a table row."""
    mean, (width, height) = row.primary, STRIP
    if mean.value is None:
        return Markup("")
    middle = height / 2
    parts = [line(scale.at(tick), -14, scale.at(tick), height + 14, "grid") for tick in scale.ticks(4)]
    if mean.interval.low is not None and mean.interval.high is not None:
        parts.append(
            line(scale.at(mean.interval.low), middle, scale.at(mean.interval.high), middle, "whisker")
        )
    parts.append(circle(scale.at(mean.value), middle, 4, "dot" if row.unbeaten else "dot quiet"))
    label = f"{say.score(mean.value)} {say.interval(mean.interval.low, mean.interval.high)}"
    return _inline(label, parts, width, height)


def strip_axis(scale: Scale) -> Markup:
    """The ticks that stand above the strips."""
    width = STRIP[0]
    ticks = [text(scale.at(tick), 11, say.score(tick), "tick", "middle") for tick in scale.ticks(4)]
    return _inline("scale of the intervals below", ticks, width, 14)


def differences(pairs: PairTable, label: str) -> Markup:
    """The best system's lead over each other one with its interval; right of 0 the best is ahead."""
    leads = [lead(pair) for pair in pairs.against]
    ends = [value for one in leads for value in one if value is not None]
    scale = padded_range([0.0, *ends], 8, WIDTH - 8)
    bottom = len(leads) * ROW + 4
    parts = [*axis(scale, bottom, 0, say.format_signed), line(scale.at(0), 0, scale.at(0), bottom, "zero")]
    for number, (pair, (middle, low, high)) in enumerate(zip(pairs.against, leads, strict=True)):
        y = number * ROW + 14
        parts.append(text(8, y, shorten(pair.b, LABEL)))
        if middle is None:
            continue
        kind = "" if pair.separated else " quiet"
        if low is not None and high is not None:
            parts.append(line(scale.at(low), y + 12, scale.at(high), y + 12, "whisker" + kind))
        title = f"{pair.b}: {say.format_signed(middle)} {say.interval(low, high)}, n {pair.n}"
        parts.append(circle(scale.at(middle), y + 12, 4.5, "dot" + kind, title))
    return drawing(bottom + 22, label, parts)


def wins(pairs: PairTable, label: str) -> Markup:
    """Queries on which the best system is better, equal or worse than each other one."""
    parts: list[Markup] = []
    for number, pair in enumerate(pairs.against):
        y = number * ROW + 14
        parts.append(text(8, y, shorten(pair.b, LABEL)))
        spans = (("better", pair.wins, "win"), ("equal", pair.ties, "tie"), ("worse", pair.losses, "loss"))
        parts += _stack(spans, pair.n, y + 5, pair.b)
    legend = _legend((("better", "win"), ("equal", "tie"), ("worse", "loss")), len(pairs.against) * ROW + 18)
    return drawing(len(pairs.against) * ROW + 26, label, [*parts, *legend])


def query_by_query(pairs: PairTable, label: str) -> Markup:
    """Scores of the first two systems on each query; above the diagonal the first is better."""
    high = max([1.0, *(max(dot.x, dot.y) for dot in pairs.dots)])
    x, y = Scale(0, high, 44, 344), Scale(0, high, 330, 30)
    parts = [*axis(x, 330, 30, say.score, 5), *vertical_text(y, 44, 344, say.score, 5)]
    parts.append(line(x.at(0), y.at(0), x.at(high), y.at(high), "zero"))
    most = max((dot.count for dot in pairs.dots), default=1)
    for dot in pairs.dots:
        title = f"{say.queries(dot.count)}: {say.score(dot.y)} against {say.score(dot.x)}"
        radius = 3.5 * math.sqrt(dot.count * min(1.0, 16 / most))
        parts.append(circle(x.at(dot.x), y.at(dot.y), radius, "dot see-through", title))
    parts.append(text(344, 366, f"{shorten(pairs.against[0].b, 44)} →", "name", "end"))
    parts.append(text(8, 10, f"↑ {shorten(pairs.best, 44)}", "name"))
    return drawing(372, label, parts, 360)


def trade(found: CostQualityPoint, label: str) -> Markup:
    """Quality against a cost on a log scale; numbers are places in the table, the line is the Pareto front."""
    points, cost = found.points, found.say
    x = padded_range([point.cost for point in points], 44, WIDTH - 16, log=True)
    y = padded_range([point.quality for point in points], 250, 22)
    parts = [*axis(x, 254, 16, cost, 5), *vertical_text(y, 44, WIDTH - 16, say.score, 5)]
    parts.append(path(_steps([(x.at(p.cost), y.at(p.quality)) for p in found.front]), "front"))
    places = [(x.at(point.cost), y.at(point.quality)) for point in points]
    labels: list[tuple[float, float]] = []
    for point, at in sorted(zip(points, places, strict=True), key=lambda pair: pair[0].on_front):
        title = f"{point.place} {point.system}: {say.score(point.quality)}, {cost(point.cost)}"
        parts.append(circle(*at, 5, "dot" if point.on_front else "dot hollow", title))
        labels.append(_free(at, [*places, *labels]))
        parts.append(text(labels[-1][0], labels[-1][1] + 4, str(point.place), "name", "middle"))
    parts.append(text(WIDTH - 16, 288, f"{found.axis} →", "name", "end"))
    return drawing(294, label, parts)


def rank_bars(table: RankTable, label: str) -> Markup:
    """Shares of queries by the rank of their first relevant result."""
    kinds = [f"step{number}" for number in range(1, len(table.spans))] + ["none"]
    parts: list[Markup] = []
    for number, row in enumerate(table.rows):
        y = number * ROW + 14
        parts.append(text(8, y, shorten(row.system, LABEL)))
        spans = [
            (f"rank {span}", n, kind) for span, n, kind in zip(table.spans, row.counts, kinds, strict=True)
        ]
        parts += _stack(spans, row.n, y + 5, row.system)
    legend = _legend(tuple(zip(table.spans, kinds, strict=True)), len(table.rows) * ROW + 18)
    return drawing(len(table.rows) * ROW + 26, label, [*parts, *legend])


def chunk_sizes(chunkings: Sequence[ChunkingRecord], label: str) -> Markup:
    """Lengths of chunks: box from first to third quartile with the median, line from shortest to longest."""
    x = padded_range([max(1, size) for one in chunkings for size in one.quantiles], 8, WIDTH - 8, log=True)
    bottom = len(chunkings) * ROW + 6
    parts = [*axis(x, bottom, 0, say.whole)]
    for number, one in enumerate(chunkings):
        y = number * ROW + 14
        low, first, median, third, high = (x.at(max(1, size)) for size in one.quantiles)
        parts.append(text(8, y, shorten(one.chunker, LABEL)))
        parts.append(line(low, y + 12, high, y + 12, "whisker"))
        parts.append(bar(first, y + 6, third - first, 12, "box"))
        parts.append(line(median, y + 5, median, y + 19, "median"))
    return drawing(bottom + 22, label, parts)


def lead(pair: PairComparison) -> tuple[float | None, float | None, float | None]:
    """How far the first of a pair is ahead, with the ends of its interval, whichever direction is better."""
    if pair.higher_is_better:
        return pair.difference, pair.interval.low, pair.interval.high
    turned = pair.interval.negated()
    return (None if pair.difference is None else 0.0 - pair.difference), turned.low, turned.high


def _steps(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Points joined by level lines: between two systems the cheaper one's quality is what can be had."""
    found: list[tuple[float, float]] = []
    for x, y in points:
        if found:
            found.append((x, found[-1][1]))
        found.append((x, y))
    return found


def _free(at: tuple[float, float], taken: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The place around a point that is farthest from other points and labels, the upper right one if all are free."""
    around_it = [
        (at[0] + dx, at[1] + dy) for dx, dy in ((12, -10), (-12, -10), (12, 10), (-12, 10), (15, 0), (-15, 0))
    ]
    room = [
        min((math.dist(place, other) for other in taken if other != at), default=99.0) for place in around_it
    ]
    return around_it[max(range(len(room)), key=lambda number: min(room[number], 13.0))]


def _stack(spans: Sequence[tuple[str, int, str]], total: int, y: float, name: str) -> Iterator[Markup]:
    at, wide = 8.0, WIDTH - 16
    for what, number, kind in spans:
        width = wide * number / total if total else 0.0
        if number:
            yield bar(
                at,
                y,
                width - 1,
                14,
                kind,
                f"{name}, {what}: {say.queries(number)}, {say.share(number, total)}",
            )
        if width > 9 * len(str(number)) + 4:
            yield text(round(at + width / 2, 1), y + 11, str(number), f"on {kind}", "middle")
        at += width


def _legend(names: Sequence[tuple[str, str]], y: float) -> Iterator[Markup]:
    at = 8.0
    for name, kind in names:
        yield bar(at, y - 9, 10, 10, kind)
        yield text(at + 15, y, name, "tick")
        at += 30 + 6.6 * len(name)


def _inline(label: str, parts: Sequence[Markup], width: int, height: int) -> Markup:
    frame = Markup(
        '<svg class="strip" role="img" viewBox="0 0 {0} {1}" width="{0}" height="{1}"><title>{2}</title>{3}</svg>'
    )
    return frame.format(width, height, label, Markup("").join(parts))
