"""Formats numbers and system names, and phrases that several sentences share."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bakeoff.stats.clusters import EffectiveQuestions
from bakeoff.stats.comparison import PairComparison
from bakeoff.stats.intervals import Interval

QUESTION = ("question", "questions")
SEPARATOR = " · "
ALL_DIFFERENCES = "all differences"
LONG = 40
"""Longer labels are shortened."""


def points(*values: float, least: int = 2) -> tuple[str, ...]:
    """Format points of a measure with a common number of decimals, at least `least`, without the leading
    zero: .05, 41.3."""
    sizes = [abs(value) for value in values if abs(value) > 1e-9]
    if sizes and max(sizes) > 1:
        return tuple(f"{value:.1f}" for value in values)
    smallest = min(sizes, default=1.0)
    decimals = max(least, 2 if smallest >= 0.01 else 3 if smallest >= 0.001 else 4)
    return tuple(_no_leading_zero(f"{value + 0.0:.{decimals}f}") for value in values)


def points_to_three(value: float) -> str:
    """Format points of a measure as in the report's tables: .054, 41.3."""
    return points(value)[0] if abs(value) > 1 else _no_leading_zero(f"{value + 0.0:.3f}")


def undetected(difference: float, bounds: tuple[float, float] | None) -> str:
    """Differences below the smallest detectable one; all of them if none that large is possible."""
    if bounds is not None and difference >= bounds[1] - bounds[0]:
        return ALL_DIFFERENCES
    return f"differences below {points_to_three(difference)}"


def probability(p: float) -> str:
    """Format a p-value to three digits: .021, or <.001; never 0."""
    return "<.001" if p < 0.001 else _no_leading_zero(f"{p:.3f}")


def questions(count: int) -> str:
    """Format a count of questions."""
    return f"{count:,} {QUESTION[count != 1]}"


def join_names(names: tuple[str, ...], last: str = "and") -> str:
    """Join names into a list for a sentence."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"


def capital(text: str) -> str:
    """Capitalise the first letter of a sentence."""
    return text[:1].upper() + text[1:]


def shorten_names(names: tuple[str, ...]) -> str:
    """At most five names."""
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")


def with_interval(value: float, interval: Interval, measure: str) -> str:
    """Format a difference with its interval: .052 nDCG@10 [.010 .094]."""
    if interval.low is None or interval.high is None:
        return f"{points(value)[0]} {measure} (no interval: {interval.reason})"
    middle, low, high = points(value, interval.low, interval.high, least=3)
    return f"{middle} {measure} [{low} {high}]"


def advantage(pair: PairComparison, measure: str) -> str:
    """How far a is ahead of b, whichever direction of the measure is better."""
    interval = pair.interval if pair.higher_is_better else pair.interval.negate()
    difference = pair.difference or 0.0
    return with_interval(difference if pair.higher_is_better else 0.0 - difference, interval, measure)


def win_loss_text(pair: PairComparison, correction: str) -> str:
    """Wins, losses and ties of a, with the corrected p-value."""
    name = {"holm": "Holm p", "max-t": "max-T p"}[correction]
    return (
        f"better on {questions(pair.wins)}, worse on {pair.losses}, equal on {pair.ties} "
        f"({name} {probability(pair.p_corrected)})"
    )


def settles_text(pair: PairComparison, least: float, of: str = "") -> str | None:
    """How many questions would settle the observed difference, or the smallest difference of interest."""
    size = max(abs(pair.difference or 0.0), least)
    needed = pair.queries_for(size)
    if needed is None or needed <= pair.n:
        return None
    return f"about {round_count(needed):,} {of}would settle a difference of {points(size)[0]}"


def describe_clusters(found: EffectiveQuestions) -> str:
    """Number of questions in clusters, and the equivalent number of independent ones."""
    text = (
        f"{questions(found.questions)} in {found.clusters:,} clusters (up to {found.largest} about the same "
        f"documents) are worth {found.effective:.0f} independent ones"
    )
    if found.icc is None:
        return text
    icc, effect = points_to_three(found.icc), f"{found.design_effect:.2f}"
    return f"{text} (correlation within a cluster {icc}, design effect {effect})"


def equality_needs(margin: float, alpha: float, cluster_size: float) -> str | None:
    """How many questions with equal scores, in clusters of this mean size, would show a difference below the
    margin."""
    if not 0 < margin < 1:
        return None
    needed = math.ceil(cluster_size * math.log(alpha) / math.log(1 - margin))
    below = points(margin)[0]
    return f"About {round_count(needed):,} questions with equal scores would show a difference below {below}."


def bytes_text(size: float) -> str:
    """Format a size in bytes with a decimal unit."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size:.0f} bytes"


def round_count(count: int) -> int:
    """Round a count to two significant digits, because it rests on an estimated spread."""
    digits = len(str(count)) - 2
    return count if digits <= 0 else -(-count // 10**digits) * 10**digits


def short_names(labels: Sequence[str]) -> dict[str, str]:
    """Shorten long labels by dropping the parts they all share, keeping them distinct."""
    parts = {label: label.split(SEPARATOR) for label in labels}
    if len(parts) < 2 or max(map(len, labels)) <= LONG:
        return {label: label for label in labels}
    shared = set.intersection(*(set(one) for one in parts.values()))
    short = {
        label: SEPARATOR.join(part for part in one if part not in shared) or label
        for label, one in parts.items()
    }
    return short if len(set(short.values())) == len(short) else {label: label for label in labels}


def letter(place: int) -> str:
    """Letter of a place counted from 1: A, B, … Z, AA, AB, …"""
    text = ""
    while place > 0:
        place, rest = divmod(place - 1, 26)
        text = chr(ord("A") + rest) + text
    return text


def _no_leading_zero(text: str) -> str:
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def ratio_text(ratio: float) -> str:
    """Format a ratio as a plain number."""
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"
