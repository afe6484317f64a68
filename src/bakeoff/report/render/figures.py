"""Special figures of the report: interval strips in a table, stacked counts, scatter by question, box plots."""

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
    legend,
    line,
    padded_range,
    shorten,
    text,
    vertical_text,
)
from bakeoff.report.sections.breakdown import RankTable
from bakeoff.report.sections.pairs import PairTable
from bakeoff.report.sections.systems import SystemRow
from bakeoff.runs.record import ChunkingRecord

ROW = 38
LABEL = 62
STRIP = (150, 20)


def strip_scale(rows: Sequence[SystemRow]) -> Scale:
    """The common scale of a table's intervals."""
    ends = [
        end
        for row in rows
        for end in (row.primary.value, row.primary.interval.low, row.primary.interval.high)
        if end is not None
    ]
    return padded_range(ends, 4, STRIP[0] - 4)


def strip(row: SystemRow, scale: Scale) -> Markup:
    """A mean and its interval as a dot on a line, for a table row."""
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
    """The ticks above the strips."""
    width = STRIP[0]
    ticks = [text(scale.at(tick), 11, say.score(tick), "tick", "middle") for tick in scale.ticks(4)]
    return _inline("scale of the intervals below", ticks, width, 14)


def wins(pairs: PairTable, label: str) -> Markup:
    """How often the best system is better than, equal to or worse than each other one."""
    parts: list[Markup] = []
    for number, pair in enumerate(pairs.against):
        y = number * ROW + 14
        parts.append(text(8, y, shorten(pair.b, LABEL)))
        spans = (("better", pair.wins, "win"), ("equal", pair.ties, "tie"), ("worse", pair.losses, "loss"))
        parts += _stack(spans, pair.n, y + 5, pair.b)
    names = legend((("better", "win"), ("equal", "tie"), ("worse", "loss")), len(pairs.against) * ROW + 18)
    return drawing(len(pairs.against) * ROW + 26, label, [*parts, *names])


def query_by_query(pairs: PairTable, label: str) -> Markup:
    """Scores of the first two systems on each query; above the diagonal the first is better."""
    high = max([1.0, *(max(dot.x, dot.y) for dot in pairs.dots)])
    x, y = Scale(0, high, 44, 344), Scale(0, high, 330, 30)
    parts = [*axis(x, 330, 30, say.score, 5), *vertical_text(y, 44, 344, say.score, 5)]
    parts.append(line(x.at(0), y.at(0), x.at(high), y.at(high), "zero"))
    most = max((dot.count for dot in pairs.dots), default=1)
    for dot in pairs.dots:
        title = f"{say.questions(dot.count)}: {say.score(dot.y)} against {say.score(dot.x)}"
        radius = 3.5 * math.sqrt(dot.count * min(1.0, 16 / most))
        parts.append(circle(x.at(dot.x), y.at(dot.y), radius, "dot see-through", title))
    parts.append(text(344, 366, f"{shorten(pairs.against[0].b, 44)} →", "name", "end"))
    parts.append(text(8, 10, f"↑ {shorten(pairs.best, 44)}", "name"))
    return drawing(372, label, parts, 360)


def rank_bars(table: RankTable, label: str) -> Markup:
    """Shares of queries by rank of the first relevant result."""
    kinds = [f"step{number}" for number in range(1, len(table.spans))] + ["none"]
    parts: list[Markup] = []
    for number, row in enumerate(table.rows):
        y = number * ROW + 14
        parts.append(text(8, y, shorten(row.system, LABEL)))
        spans = [
            (f"rank {span}", n, kind) for span, n, kind in zip(table.spans, row.counts, kinds, strict=True)
        ]
        parts += _stack(spans, row.n, y + 5, row.system)
    names = legend(tuple(zip(table.spans, kinds, strict=True)), len(table.rows) * ROW + 18)
    return drawing(len(table.rows) * ROW + 26, label, [*parts, *names])


def chunk_sizes(chunkings: Sequence[ChunkingRecord], label: str) -> Markup:
    """Lengths of chunks: box from first to third quartile with the median, line from shortest to longest."""
    x = padded_range(
        [max(1, size) for chunking in chunkings for size in chunking.quantiles], 8, WIDTH - 8, log=True
    )
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
                f"{name}, {what}: {say.questions(number)}, {say.share(number, total)}",
            )
        if width > 9 * len(str(number)) + 4:
            yield text(round(at + width / 2, 1), y + 11, str(number), f"on {kind}", "middle")
        at += width


def _inline(label: str, parts: Sequence[Markup], width: int, height: int) -> Markup:
    frame = Markup(
        '<svg class="strip" role="img" viewBox="0 0 {0} {1}" width="{0}" height="{1}"><title>{2}</title>{3}</svg>'
    )
    return frame.format(width, height, label, Markup("").join(parts))
