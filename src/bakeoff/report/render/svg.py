"""SVG shapes for figures; text is escaped, colours come from the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

WIDTH = 480
TEXT = 12


@dataclass(frozen=True, slots=True)
class Scale:
    """Values → positions; `log` scales need values above 0."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def at(self, value: float) -> float:
        """The position of a value, clamped to the scale."""
        low, high, value = (math.log10(v) if self.log else v for v in (self.low, self.high, value))
        share = 0.5 if high <= low else min(1.0, max(0.0, (value - low) / (high - low)))
        return round(self.start + share * (self.stop - self.start), 1)

    def ticks(self, most: int = 6) -> list[float]:
        """Round values on the scale."""
        return _log_ticks(self.low, self.high, most) if self.log else _linear_ticks(self.low, self.high, most)


def padded_range(values: Iterable[float], start: float, stop: float, *, log: bool = False) -> Scale:
    """A scale for all values, with a margin at both ends."""
    numbers = list(values) or [0.0, 1.0]
    low, high = min(numbers), max(numbers)
    if log:
        return Scale(low / 1.35, high * 1.35, start, stop, log=True)
    room = 0.06 * (high - low) or 0.05
    return Scale(low - room, high + room, start, stop)


def drawing(height: float, label: str, parts: Iterable[Markup], width: float = WIDTH) -> Markup:
    """An image that shrinks with the page; `label` is its text for screen readers."""
    return Markup(
        '<svg class="figure" role="img" viewBox="0 0 {} {}" style="max-width:{}px"><title>{}</title>{}</svg>'
    ).format(round(width), round(height), round(width * 1.1), label, Markup("").join(parts))


def text(x: float, y: float, content: str, kind: str = "", anchor: str = "start") -> Markup:
    """A line of text on its baseline."""
    return Markup('<text x="{}" y="{}" class="{}" text-anchor="{}">{}</text>').format(
        x, y, kind, anchor, content
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """A straight line."""
    return Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>').format(x1, y1, x2, y2, kind)


def circle(x: float, y: float, r: float, kind: str, title: str = "") -> Markup:
    """A dot with a tooltip."""
    return Markup('<circle cx="{}" cy="{}" r="{}" class="{}">{}</circle>').format(
        x, y, round(r, 1), kind, _title(title)
    )


def bar(x: float, y: float, width: float, height: float, kind: str, title: str = "") -> Markup:
    """A filled rectangle."""
    shape = Markup('<rect x="{}" y="{}" width="{}" height="{}" class="{}">{}</rect>')
    return shape.format(round(x, 1), y, round(max(0.0, width), 1), height, kind, _title(title))


def path(points: Sequence[tuple[float, float]], kind: str) -> Markup:
    """A line through points."""
    steps = " ".join(f"{'M' if i == 0 else 'L'}{x} {y}" for i, (x, y) in enumerate(points))
    return Markup('<path d="{}" class="{}"/>').format(steps, kind)


def axis(
    scale: Scale,
    y: float,
    top: float,
    say: Callable[[float], str],
    most: int = 6,
    ticks: Sequence[float] = (),
) -> Iterable[Markup]:
    """A horizontal axis at y with grid lines up to `top`; labels round values, or the given ones."""
    for value in ticks or scale.ticks(most):
        x = scale.at(value)
        yield line(x, top, x, y, "grid")
        yield text(x, y + TEXT + 3, say(value), "tick", "middle")


def vertical_text(
    scale: Scale, x: float, right: float, say: Callable[[float], str], most: int = 6
) -> Iterable[Markup]:
    """A vertical axis at x with grid lines to `right`."""
    for value in scale.ticks(most):
        y = scale.at(value)
        yield line(x, y, right, y, "grid")
        yield text(x - 6, y + 4, say(value), "tick", "end")


def legend(names: Sequence[tuple[str, str]], y: float) -> Iterator[Markup]:
    """A legend: each name next to a square in its colour."""
    at = 8.0
    for name, kind in names:
        yield bar(at, y - 9, 10, 10, kind)
        yield text(at + 15, y, name, "tick")
        at += 30 + 6.6 * len(name)


def shorten(label: str, characters: int) -> str:
    """A shortened label that keeps its end, where systems differ."""
    if len(label) <= characters:
        return label
    return f"{label[: characters // 3]}…{label[-(characters - characters // 3 - 1) :]}"


def _title(title: str) -> Markup:
    return Markup("<title>{}</title>").format(title) if title else Markup("")


def _linear_ticks(low: float, high: float, most: int) -> list[float]:
    if high <= low:
        return [low]
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough)
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 10) for i in range(first, math.floor(high / step + 1e-9) + 1)]


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        ticks = [m * 10.0**p for p in powers for m in factors if low <= m * 10.0**p <= high]
        if len(ticks) <= most:
            return ticks
    return ticks[:: math.ceil(len(ticks) / most)]
