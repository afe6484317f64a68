"""Figures that are plain values → inline SVG: curves, and bars by system."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from bakeoff.report.render.scatter_svg import COLOURS, curves
from bakeoff.report.render.svg import WIDTH, Scale, axis, bar, drawing, shorten, text
from bakeoff.report.sections.parts import Bar, BarChart, BarGroup, Chart, LineChart

HEAD, STEP, TALL = 20, 19, 13
LABEL = 62
ROOM = 150
"""What stands right of the longest bar: its length and what it is of."""


def draw(chart: Chart) -> Markup:
    """The figure; its label is the finding."""
    if isinstance(chart.plot, LineChart):
        return curves(chart.plot.curves, chart.plot.x, chart.plot.y, chart.finding)
    return bars(chart.plot, chart.finding)


def keys(chart: Chart) -> tuple[tuple[int, str], ...]:
    """Number and name of the curves that are told apart; none where bars name themselves."""
    if not isinstance(chart.plot, LineChart):
        return ()
    found = {one.place: one.name for one in chart.plot.curves if one.place <= COLOURS}
    return tuple(sorted(found.items()))


def bars(plot: BarChart, label: str) -> Markup:
    """Bars under their system's name, side by side parts of one length; what was not seen is said in place of a bar."""
    longest = max((sum(_seen(one)) for group in plot.groups for one in group.bars), default=0.0)
    scale = Scale(0.0, longest or 1.0, 8, WIDTH - ROOM)
    parts: list[Markup] = []
    y = 0.0
    for group in plot.groups:
        parts += _group(group, plot, scale, y)
        y += HEAD + STEP * len(group.bars)
    ticks = list(axis(scale, y + 4, 0, plot.say, 4, [tick for tick in scale.ticks(4) if tick > 0]))
    legend = list(_legend(plot.kinds, y + 42)) if len(plot.kinds) > 1 else []
    return drawing(y + (48 if legend else 24), label, [*ticks, *parts, *legend])


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
    """What stands beside a bar: the lengths of its parts, and what it is of."""
    lengths = one.text or " + ".join(plot.say(part) for part in one.parts if part is not None)
    return ", ".join(filter(None, (lengths or "not seen", one.label)))


def _seen(one: Bar) -> list[float]:
    return [part for part in one.parts if part is not None]


def _legend(names: tuple[str, ...], y: float) -> Iterator[Markup]:
    at = 8.0
    for number, name in enumerate(names, start=1):
        yield bar(at, y - 9, 10, 10, f"part c{number}")
        yield text(at + 15, y, name, "tick")
        at += 30 + 6.6 * len(name)
