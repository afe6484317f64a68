"""Formats numbers, counts and names for the report; an unmeasured value is a dash, never 0."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.runtime import count_text
from bakeoff.stats.number_format import bytes_text, probability

count = count_text.count
ABSENT = "–"
MINUS = "\u2212"
TIED = count_text.HARD_SPACE
"""A no-break space between a number and its unit."""


def score(value: float | None) -> str:
    """A value of a measure: .812 below one, 1.000, 1,234 above ten."""
    if value is None:
        return ABSENT
    if abs(value) >= 10:
        return _minus(f"{value:,.0f}")
    text = f"{value + 0.0:.3f}"
    return _minus(text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text)


def format_signed(value: float | None) -> str:
    """A difference with its sign: +.050, −.012, .000."""
    if value is None:
        return ABSENT
    text = score(value)
    return text if text.startswith(MINUS) or not text.strip(".0") else f"+{text}"


def interval(low: float | None, high: float | None) -> str:
    """The two ends in brackets; nothing without an interval."""
    return "" if low is None or high is None else f"[{score(low)} {score(high)}]"


def p_value(p: float | None) -> str:
    """A p-value to three digits; never 0."""
    return ABSENT if p is None else probability(p)


def milliseconds(value: float | None) -> str:
    """Milliseconds to three digits, with the unit."""
    return ABSENT if value is None else f"{_three(value)}{TIED}ms"


def seconds(value: float | None) -> str:
    """Seconds to three digits, with the unit; less than a tenth as milliseconds or microseconds."""
    if value is None:
        return ABSENT
    if value >= 0.1 or value <= 0:
        return f"{_three(value)}{TIED}s"
    return milliseconds(value * 1e3) if value >= 1e-4 else f"{_three(value * 1e6)}{TIED}µs"


def size(value: float | None) -> str:
    """Bytes with a decimal unit."""
    return ABSENT if value is None else bytes_text(value).replace(" ", TIED)


def megabytes(value: float | None) -> str:
    """Megabytes with the unit that fits."""
    return size(None if value is None else value * 1e6)


def percent(value: float | None) -> str:
    """A whole number of percent."""
    return ABSENT if value is None else f"{value:,.0f}{TIED}%"


def whole(value: float | None) -> str:
    """A whole number with thousands separators."""
    return ABSENT if value is None else f"{value:,.0f}"


def share(part: int, total: int) -> str:
    """A part of a total in percent."""
    return ABSENT if not total else f"{100 * part / total:.0f}{TIED}%"


def questions(number: int) -> str:
    """A number of questions, the word readers see for queries."""
    return count(number, "question")


def describe_counts(n: int, excluded: int, incomplete: int = 0) -> str:
    """How many queries a mean counts and excludes (F48), and how many have truth in unread files."""
    missing = f", {unread(incomplete)}" if incomplete else ""
    return f"n {n:,}, {excluded:,} excluded{missing}"


def unread(queries: int) -> str:
    """How many queries have truth in unread files."""
    return f"{queries:,} with unread truth"


def format_incomplete(value: float | None, incomplete: int) -> str:
    """A mean, marked if some queries have truth in unread files (F55)."""
    return score(value) + ("*" if incomplete and value is not None else "")


def name_some(names: Sequence[str], most: int = 5) -> str:
    """Names as a list in a sentence; beyond `most` the rest is counted."""
    if not names:
        return "none"
    shown = list(names[:most]) + ([f"{len(names) - most:,} more"] if len(names) > most else [])
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _three(value: float) -> str:
    if value >= 100 or value == 0:
        return f"{value:,.0f}"
    return (
        f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 or value <= 0 else f"{value:#.2g}"
    )


def _minus(text: str) -> str:
    return text.replace("-", MINUS)
