"""The measures of a review on the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from bakeoff.cli import console
from bakeoff.measures.labels import Bounded
from bakeoff.review.agreement import Coefficient
from bakeoff.review.measures import ReviewFigures, SystemFigures
from bakeoff.review.sides import Mean, Side
from bakeoff.stats.intervals import Interval

SHOWN = 10


def say_figures(figures: ReviewFigures) -> None:
    """The measures of every system, and the leader against the others."""
    k = figures.k
    console.say()
    headers = [
        "system",
        "queries",
        "complete",
        f"Judged@{k}",
        f"SemPrec@{k}",
        f"SemLift@{k}",
        f"FalsePos@{k}",
    ]
    rows = [
        [
            one.system,
            str(len(one.queries)),
            str(len(one.complete)),
            f"{one.judged:.3f}",
            *(_bounded(one.values[name]) for name in ("SemPrec", "SemLift", "FalsePos")),
        ]
        for one in figures.systems
    ]
    console.table(headers, rows, right=tuple(range(1, 7)))
    console.say("value, and in brackets what it could be once every result is judged", style="dim")
    if figures.pairs:
        _say_pairs(figures)


def _say_pairs(figures: ReviewFigures) -> None:
    """The leader against each other system; all pairs are in the JSON."""
    best = max(figures.systems, key=lambda one: one.values["SemPrec"].value).system
    shown = [one for one in figures.pairs if best in (one.a, one.b)]
    console.say()
    rows = [
        [
            f"{one.a} − {one.b}",
            f"{one.measure}@{figures.k}",
            str(len(one.queries)),
            number(one.difference, signed=True),
            interval(one.interval),
            _range(one.bounds),
            str(one.common),
        ]
        for one in shown
    ]
    headers = ["difference", "measure", "n", "mean", "95 % interval", "bounds over the unjudged", "n"]
    console.table(headers, rows, right=(2, 3, 4, 5, 6))
    first = shown[0]
    if first.left_out:
        some = "; ".join(f"{query} ({why})" for query, why in list(first.left_out.items())[:SHOWN])
        console.say(f"– not compared, {first.a} − {first.b}: {some}", style="dim")
    console.say(
        "means and intervals are over queries complete for both, bounds over all common queries", style="dim"
    )
    if len(shown) < len(figures.pairs):
        console.say(f"{best} against each; --json has all {len(figures.pairs)} differences", style="dim")


def figures_json(figures: ReviewFigures) -> dict[str, Any]:
    """The measures for scripts."""
    return {
        "k": figures.k,
        "systems": [{"system": one.system, **system_json(one)} for one in figures.systems],
        "pairs": [asdict(one) for one in figures.pairs],
    }


def system_json(one: SystemFigures) -> dict[str, Any]:
    """A system's figures for scripts."""
    return {
        "queries": list(one.queries),
        "complete": list(one.complete),
        "judged": one.judged,
        "counts": {label.value or "unjudged": count for label, count in one.counts.items()},
        "measures": {name: asdict(value) for name, value in one.values.items()},
        "on_complete": dict(one.on_complete),
        "intervals": {name: asdict(value) for name, value in one.intervals.items()},
    }


def say_sides(found: Sequence[Side]) -> None:
    """Automated, human-adjusted and combined means; nothing where no query was judged completely."""
    shown = [one for one in found if one.human.n or not one.category]
    if not any(one.human.n for one in shown):
        return
    console.say()
    headers = [f"{shown[0].measure}", "category", "automated", "same queries", "human-adjusted", "combined"]
    rows = [
        [
            one.system,
            one.category or "all",
            *map(_mean, (one.automated, one.automated_same, one.human, one.combined)),
        ]
        for one in shown
    ]
    console.table(headers, rows, right=(2, 3, 4, 5))
    console.say(
        "combined: by people where every system is judged completely, else by rules; n in brackets",
        style="dim",
    )


def number(value: float | None, *, signed: bool = False) -> str:
    """Three decimals, or a dash for what is not known."""
    return "–" if value is None else f"{value:+.3f}" if signed else f"{value:.3f}"


def _bounded(value: Bounded) -> str:
    return (
        f"{value.value:.3f}"
        if value.low == value.high
        else f"{value.value:.3f} [{value.low:.3f} {value.high:.3f}]"
    )


def _range(value: Bounded | None) -> str:
    return "–" if value is None else f"[{value.low:+.3f} {value.high:+.3f}]"


def interval(value: Interval) -> str:
    """The ends of a difference's interval, with their signs."""
    return (
        f"[{value.low:+.3f} {value.high:+.3f}]" if value.low is not None and value.high is not None else "–"
    )


def coefficient(value: Coefficient) -> str:
    """An agreement with its interval, or why there is none."""
    return value.reason if value.value is None else f"{value.value:.3f} {ends(value.low, value.high)}"


def ends(low: float | None, high: float | None) -> str:
    """The ends of an interval, or a dash."""
    return "–" if low is None or high is None else f"[{low:.3f} {high:.3f}]"


def _mean(value: Mean) -> str:
    return f"{number(value.value)} ({value.n})"
