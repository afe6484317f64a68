"""Figures of vector stores: a plane of two figures with its Pareto front, curves over sizes, rows with spread."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from bakeoff.report.render.svg import (
    WIDTH,
    axis,
    circle,
    drawing,
    line,
    padded_range,
    path,
    shorten,
    text,
    vertical_text,
)

COLOURS = 8
LEFT, TOP, BOTTOM = 64, 26, 280
ROW, LABEL = 38, 62


@dataclass(frozen=True, slots=True)
class Axis:
    """What one direction of a plane shows, which way is better, and its ticks where round values will not do."""

    name: str
    say: Callable[[float], str]
    log: bool
    higher_is_better: bool
    ticks: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Dot:
    """One measured setting; `place` is its store's number, by which it is named in the figure."""

    place: int
    name: str
    x: float
    y: float
    on_front: bool = False


@dataclass(frozen=True, slots=True)
class Curve:
    """One system over x; `fit` are the ends of its fitted line, where there is one, `spread` its (x, low, high)."""

    place: int
    name: str
    points: tuple[tuple[float, float], ...]
    fit: tuple[tuple[float, float], ...] = ()
    spread: tuple[tuple[float, float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Whiskered:
    """A named figure with its spread."""

    name: str
    value: float
    low: float | None
    high: float | None
    quiet: bool = False


def front(values: Sequence[tuple[float, float]], x: Axis, y: Axis) -> list[bool]:
    """Whether no other pair is as good in both figures and better in one."""
    signed = [(a if x.higher_is_better else -a, b if y.higher_is_better else -b) for a, b in values]
    return [not any(a >= one[0] and b >= one[1] and (a, b) != one for a, b in signed) for one in signed]


def plane(dots: Sequence[Dot], x: Axis, y: Axis, label: str) -> Markup:
    """Every setting as a dot, a store's settings joined, and the front; numbers name the stores."""
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
    """A curve a system, with its measured points and its fitted line; those beyond the colours are grey."""
    known = [point for one in lines for point in one.points]
    across = padded_range([a for a, _ in known], LEFT, WIDTH - 30, log=x.log)
    ends_of_bars = [end for one in lines for _, *ends in one.spread for end in ends]
    up = padded_range([*(b for _, b in known), *ends_of_bars], BOTTOM, TOP, log=y.log)
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
    named = [one for one in lines if one.place <= COLOURS]
    ends = [middles(one)[-1] for one in named]
    for one, end, height in zip(named, ends, spread_labels([up.at(b) for _, b in ends]), strict=True):
        number = f"name key {_kind(one.place)}"
        parts.append(text(round(across.at(end[0]) + 14, 1), height + 4, str(one.place), number, "middle"))
    parts.append(text(WIDTH - 16, BOTTOM + 38, f"{x.name} →", "name", "end"))
    parts.append(text(4, 10, f"↑ {y.name}", "name"))
    return drawing(BOTTOM + 44, label, parts)


def rows(shown: Sequence[Whiskered], say: Callable[[float], str], label: str) -> Markup:
    """Figures one under the other on a log scale, each with its spread."""
    ends = [end for one in shown for end in (one.value, one.low, one.high) if end]
    scale = padded_range(ends, 8, WIDTH - 8, log=True)
    bottom = len(shown) * ROW + 4
    parts = [*axis(scale, bottom, 0, say)]
    for number, one in enumerate(shown):
        y, kind = number * ROW + 14, " quiet" if one.quiet else ""
        parts.append(text(8, y, shorten(one.name, LABEL)))
        if one.low and one.high:
            parts.append(line(scale.at(one.low), y + 12, scale.at(one.high), y + 12, "whisker" + kind))
        parts.append(circle(scale.at(one.value), y + 12, 4.5, "dot" + kind, f"{one.name}: {say(one.value)}"))
    return drawing(bottom + 22, label, parts)


def middles(one: Curve) -> list[tuple[float, float]]:
    """The median of the points at each x, in order."""
    found = []
    for a in sorted({a for a, _ in one.points}):
        at = sorted(b for other, b in one.points if other == a)
        found.append((a, at[len(at) // 2]))
    return found


def spread_labels(heights: Sequence[float], room: float = 12.0) -> list[float]:
    """Heights for labels, in the order of the given ones and as near to them as labels of this height allow."""
    order = sorted(range(len(heights)), key=lambda number: heights[number])
    found = [heights[number] for number in order]
    for _ in range(100):
        for lower, upper in zip(range(len(found)), range(1, len(found)), strict=False):
            lack = room - (found[upper] - found[lower])
            if lack > 0.1:
                found[lower], found[upper] = found[lower] - lack / 2, found[upper] + lack / 2
    placed = dict(zip(order, found, strict=True))
    return [round(placed[number], 1) for number in range(len(heights))]


def _kind(place: int) -> str:
    """The class of a curve's colour."""
    return f"c{place}" if place <= COLOURS else "rest"


def _arrow(x: Axis) -> str:
    return f"{x.name} →" if x.higher_is_better else f"{x.name} → (lower is better)"


def _colour(place: int) -> int:
    return (place - 1) % COLOURS + 1


def _free(own: Sequence[tuple[float, float]], taken: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """A place beside one of a store's own dots that is far from everything else."""
    steps = ((11, -7), (-11, -7), (11, 14), (-11, 14), (14, 4), (-14, 4))
    around_it = [(x + dx, y + dy) for x, y in own for dx, dy in steps]

    def room(place: tuple[float, float]) -> float:
        return min((math.dist((place[0], place[1] - 4), other) for other in taken), default=99.0)

    return max(around_it, key=lambda place: min(room(place), 11.0))
