"""Chart specifications (sections/parts.py) → inline SVG: curves, bars, intervals, scatter plots."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from markupsafe import Markup

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
    path,
    shorten,
    text,
    vertical_text,
)
from bakeoff.report.sections.parts import (
    COLOURS,
    Axis,
    Bar,
    BarChart,
    BarGroup,
    Chart,
    Curve,
    Dot,
    IntervalChart,
    IntervalRow,
    LineChart,
    Plot,
    ScatterChart,
    middles,
)
from bakeoff.stats.number_format import letter

HEAD, STEP, TALL = 20, 19, 13
LABEL, ROW = 62, 38
ROOM = 150
"""Space to the right of the longest bar for its length and label."""
LEFT, TOP, BOTTOM = 64, 26, 280


def draw(chart: Chart) -> Markup:
    """Draw a figure; its label is the finding."""
    return draw_plot(chart.plot, chart.finding)


def draw_plot(plot: Plot, label: str) -> Markup:
    """Draw a chart of any kind."""
    match plot:
        case LineChart():
            return curves(plot.curves, plot.x, plot.y, label)
        case BarChart():
            return bars(plot, label)
        case IntervalChart():
            return intervals(plot, label)
        case ScatterChart(diagonal=True):
            return diagonal_scatter(plot, label)
        case ScatterChart():
            return scatter(plot, label)


def keys(chart: Chart) -> tuple[tuple[int, str], ...]:
    """Number and name of the coloured curves; empty if bars carry their names."""
    if not isinstance(chart.plot, LineChart):
        return ()
    names = {curve.place: curve.name for curve in chart.plot.curves if curve.place <= COLOURS}
    return tuple(sorted(names.items()))


def bars(plot: BarChart, label: str) -> Markup:
    """Bars grouped by system, split into parts; a text replaces values that were not observed."""
    longest = max((sum(_seen(bar)) for group in plot.groups for bar in group.bars), default=0.0)
    scale = Scale(0.0, longest or 1.0, 8, WIDTH - ROOM)
    parts: list[Markup] = []
    y = 0.0
    for group in plot.groups:
        parts += _group(group, plot, scale, y)
        y += HEAD + STEP * len(group.bars)
    ticks = list(axis(scale, y + 4, 0, plot.say, 4, [tick for tick in scale.ticks(4) if tick > 0]))
    kinds = [(kind, f"part c{number}") for number, kind in enumerate(plot.kinds, start=1)]
    names = list(legend(kinds, y + 42)) if len(kinds) > 1 else []
    return drawing(y + (48 if names else 24), label, [*ticks, *parts, *names])


def _group(group: BarGroup, plot: BarChart, scale: Scale, top: float) -> Iterator[Markup]:
    yield text(8, top + 14, shorten(group.name, LABEL))
    for number, one in enumerate(group.bars):
        yield from _bar(one, plot, scale, top + HEAD + STEP * number, group.name)


def _bar(one: Bar, plot: BarChart, scale: Scale, y: float, name: str) -> Iterator[Markup]:
    at = scale.start
    for number, (length, shown) in enumerate(zip(one.parts, plot.kinds, strict=True), start=1):
        if length:
            wide = scale.at(length) - scale.start
            title = f"{', '.join(filter(None, (name, one.label, shown)))}: {plot.say(length)}"
            yield bar(at, y, wide - 1, TALL, f"part c{number}", title)
            at += wide
    yield text(round(at + 5, 1), y + 11, bar_text(one, plot), "tick")


def bar_text(one: Bar, plot: BarChart) -> str:
    """The text next to a bar: the lengths of its parts, and its label."""
    lengths = one.text or " + ".join(plot.say(part) for part in one.parts if part is not None)
    return ", ".join(filter(None, (lengths or "unknown", one.label)))


def _seen(one: Bar) -> list[float]:
    return [part for part in one.parts if part is not None]


def plane(dots: Sequence[Dot], x: Axis, y: Axis, label: str) -> Markup:
    """Every setting as a dot, each store's settings joined, and the Pareto front; numbers refer to stores."""
    across = padded_range([dot.x for dot in dots], LEFT, WIDTH - 16, log=x.log)
    up = padded_range([dot.y for dot in dots], BOTTOM, TOP, log=y.log)
    places = [(across.at(dot.x), up.at(dot.y)) for dot in dots]
    parts = [*axis(across, BOTTOM + 4, TOP - 6, x.say, 5), *vertical_text(up, LEFT, WIDTH - 16, y.say, 6)]
    for place in dict.fromkeys(dot.place for dot in dots):
        own = sorted(at for dot, at in zip(dots, places, strict=True) if dot.place == place)
        parts.append(path(own, f"curve c{_colour(place)}"))
    best = [(across.at(dot.x), up.at(dot.y)) for dot in dots if dot.on_front]
    parts.append(path(sorted(best), "front"))
    labels: list[tuple[float, float]] = []
    for dot, at in sorted(zip(dots, places, strict=True), key=lambda pair: pair[0].on_front):
        title = f"{dot.place} {dot.name}: {x.say(dot.x)}, {y.say(dot.y)}"
        parts.append(
            circle(*at, 4.5, f"mark c{_colour(dot.place)}{'' if dot.on_front else ' hollow'}", title)
        )
    for place in dict.fromkeys(dot.place for dot in dots):
        own = [at for dot, at in zip(dots, places, strict=True) if dot.place == place]
        labels.append(_free(own, [*places, *labels]))
        parts.append(text(*labels[-1], str(place), "name", "middle"))
    parts.append(text(WIDTH - 16, BOTTOM + 38, f"{_arrow(x)}", "name", "end"))
    parts.append(text(4, 10, f"↑ {y.name}{'' if y.higher_is_better else ' (lower is better)'}", "name"))
    return drawing(BOTTOM + 44, label, parts)


def curves(lines: Sequence[Curve], x: Axis, y: Axis, label: str) -> Markup:
    """One curve per system, with measured points and fitted line; curves beyond the palette are grey."""
    points = [point for line in lines for point in line.points]
    across = padded_range([a for a, _ in points], LEFT, WIDTH - 30, log=x.log)
    ends_of_bars = [end for line in lines for _, *ends in line.spread for end in ends]
    up = padded_range([*(b for _, b in points), *ends_of_bars], BOTTOM, TOP, log=y.log)
    parts = [
        *axis(across, BOTTOM + 4, TOP - 6, x.say, 5, x.ticks),
        *vertical_text(up, LEFT, WIDTH - 16, y.say, 6),
    ]
    for one in sorted(lines, key=lambda one: -one.place):
        kind = _kind(one.place)
        if one.fit:
            parts.append(path([(across.at(a), up.at(b)) for a, b in one.fit], f"curve fit {kind}"))
        for a, low, high in one.spread:
            parts.append(line(across.at(a), up.at(low), across.at(a), up.at(high), f"curve {kind}"))
        for a, b in one.points:
            title = f"{one.place} {one.name}: {x.say(a)}, {y.say(b)}"
            parts.append(circle(across.at(a), up.at(b), 3.5, f"mark {kind}", title))
        if not one.fit:
            parts.append(path([(across.at(a), up.at(b)) for a, b in middles(one)], f"curve {kind}"))
    named = [line for line in lines if line.place <= COLOURS]
    ends = [middles(one)[-1] for one in named]
    for one, end, height in zip(named, ends, spread_labels([up.at(b) for _, b in ends]), strict=True):
        number = f"name key {_kind(one.place)}"
        parts.append(text(round(across.at(end[0]) + 14, 1), height + 4, str(one.place), number, "middle"))
    parts.append(text(WIDTH - 16, BOTTOM + 38, f"{x.name} →", "name", "end"))
    parts.append(text(4, 10, f"↑ {y.name}", "name"))
    return drawing(BOTTOM + 44, label, parts)


def intervals(plot: IntervalChart, label: str) -> Markup:
    """Values with intervals, one per row."""
    ends = [end for row in plot.rows for end in (row.value, row.low, row.high) if end is not None]
    drawn = [end for end in ends if end > 0] if plot.axis.log else ends
    scale = padded_range([0.0, *drawn] if plot.zero else drawn, 8, WIDTH - 8, log=plot.axis.log)
    bottom = len(plot.rows) * ROW + 4
    parts = [*axis(scale, bottom, 0, plot.axis.say)]
    if plot.zero:
        parts.append(line(scale.at(0), 0, scale.at(0), bottom, "zero"))
    for number, one in enumerate(plot.rows):
        parts += _interval_row(one, scale, number * ROW + 14, plot.axis.say)
    return drawing(bottom + 22, label, parts)


def _interval_row(one: IntervalRow, scale: Scale, y: float, say: Callable[[float], str]) -> Iterator[Markup]:
    kind = " quiet" if one.quiet else ""
    yield text(8, y, shorten(one.name, LABEL))
    if one.value is None:
        return
    if one.low is not None and one.high is not None and (one.low > 0 or not scale.log):
        yield line(scale.at(one.low), y + 12, scale.at(one.high), y + 12, "whisker" + kind)
    yield circle(scale.at(one.value), y + 12, 4.5, "dot" + kind, f"{one.name}: {say(one.value)}{one.note}")


def scatter(plot: ScatterChart, label: str) -> Markup:
    """Dots with the letters of their systems and the Pareto front as steps; dots on the front are filled."""
    x = padded_range([dot.x for dot in plot.dots], 44, WIDTH - 16, log=plot.x.log)
    y = padded_range([dot.y for dot in plot.dots], 250, 22, log=plot.y.log)
    parts = [*axis(x, 254, 16, plot.x.say, 5), *vertical_text(y, 44, WIDTH - 16, plot.y.say, 5)]
    parts.append(path(_steps([(x.at(dot.x), y.at(dot.y)) for dot in plot.front]), "front"))
    places = [(x.at(dot.x), y.at(dot.y)) for dot in plot.dots]
    labels: list[tuple[float, float]] = []
    for dot, at in sorted(zip(plot.dots, places, strict=True), key=lambda pair: pair[0].on_front):
        title = f"{letter(dot.place)} {dot.name}: {plot.y.say(dot.y)}, {plot.x.say(dot.x)}"
        parts += [circle(*at, 9, "ring", title)] if dot.chosen else []
        parts.append(circle(*at, 5, "dot" if dot.on_front else "dot hollow", title))
        labels.append(_free_around(at, [*places, *labels]))
        parts.append(text(labels[-1][0], labels[-1][1] + 4, letter(dot.place), "name", "middle"))
    parts.append(text(WIDTH - 16, 288, f"{plot.x.name} →", "name", "end"))
    return drawing(294, label, parts)


def diagonal_scatter(plot: ScatterChart, label: str) -> Markup:
    """Dots around the line of equal values, in the colours of their kinds."""
    high = max([1.0, *(max(dot.x, dot.y) for dot in plot.dots)])
    low = min([0.0, *(min(dot.x, dot.y) for dot in plot.dots)])
    x, y = Scale(low, high, LEFT, 384), Scale(low, high, 350, 30)
    parts = [*axis(x, 350, 30, plot.x.say, 5), *vertical_text(y, LEFT, 384, plot.y.say, 5)]
    parts.append(line(x.at(low), y.at(low), x.at(high), y.at(high), "zero"))
    for dot in plot.dots:
        kind = f"mark {_kind(dot.place)}" if dot.place else "dot see-through"
        title = f"{dot.name}: {plot.y.say(dot.y)} against {plot.x.say(dot.x)}"
        parts.append(circle(x.at(dot.x), y.at(dot.y), 4, kind, title))
    parts.append(text(384, 386, f"{shorten(plot.x.name, 44)} →", "name", "end"))
    parts.append(text(8, 10, f"↑ {shorten(plot.y.name, 44)}", "name"))
    kinds = [
        (shorten(kind, 20), f"part c{place}") for place, kind in enumerate(plot.kinds[:COLOURS], start=1)
    ]
    rows = [kinds[start : start + 3] for start in range(0, len(kinds), 3)]
    parts += [name for number, row in enumerate(rows) for name in legend(row, 410 + 18 * number)]
    return drawing(400 + 18 * len(rows), label, parts, 400)


def spread_labels(heights: Sequence[float], room: float = 12.0) -> list[float]:
    """Heights for labels without overlap, in the given order and as near as possible to the given heights."""
    order = sorted(range(len(heights)), key=lambda number: heights[number])
    spread = [heights[number] for number in order]
    for _ in range(100):
        for lower, upper in zip(range(len(spread)), range(1, len(spread)), strict=False):
            lack = room - (spread[upper] - spread[lower])
            if lack > 0.1:
                spread[lower], spread[upper] = spread[lower] - lack / 2, spread[upper] + lack / 2
    placed = dict(zip(order, spread, strict=True))
    return [round(placed[number], 1) for number in range(len(heights))]


def _kind(place: int) -> str:
    """The class of a curve's colour."""
    return f"c{place}" if place <= COLOURS else "rest"


def _arrow(x: Axis) -> str:
    return f"{x.name} →" if x.higher_is_better else f"{x.name} → (lower is better)"


def _colour(place: int) -> int:
    return (place - 1) % COLOURS + 1


def _free(own: Sequence[tuple[float, float]], occupied: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """A free position next to one of a store's dots."""
    steps = ((11, -7), (-11, -7), (11, 14), (-11, 14), (14, 4), (-14, 4))
    around_it = [(x + dx, y + dy) for x, y in own for dx, dy in steps]

    def room(place: tuple[float, float]) -> float:
        return min((math.dist((place[0], place[1] - 4), other) for other in occupied), default=99.0)

    return max(around_it, key=lambda place: min(room(place), 11.0))


def _steps(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """A step line through points: between two systems, only the cheaper one's quality is available."""
    steps: list[tuple[float, float]] = []
    for x, y in points:
        if steps:
            steps.append((x, steps[-1][1]))
        steps.append((x, y))
    return steps


def _free_around(at: tuple[float, float], occupied: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The position around a point that is farthest from other points and labels; upper right if all are free."""
    around_it = [
        (at[0] + dx, at[1] + dy) for dx, dy in ((12, -10), (-12, -10), (12, 10), (-12, 10), (15, 0), (-15, 0))
    ]
    room = [
        min((math.dist(place, other) for other in occupied if other != at), default=99.0)
        for place in around_it
    ]
    return around_it[max(range(len(room)), key=lambda number: min(room[number], 13.0))]
