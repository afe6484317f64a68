"""Counts with their noun, texts that may be too long, and numbers that may be unknown."""

from __future__ import annotations

import re

UNKNOWN = "–"
HARD_SPACE = "\u00a0"
_NO_BREAK = re.compile(r" (?=[%×·])|(?<=\d) (?=-?[.\d]+\])")


def count(number: int, one: str, many: str = "") -> str:
    """1 document, 2 documents, 1,000 queries."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def per_second(rate: float) -> str:
    """A rate with at least one digit other than 0: "1,200/s", "3.4/s", "0.25/s"."""
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.2g}/s"


def shorten(text: str, most: int) -> str:
    """The text, cut to `most` characters with an ellipsis if it is longer."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def decimal(value: float | None, digits: int, sign: str = "") -> str:
    """A number with a fixed number of decimals, with `sign` "+" always signed; a dash if it is unknown."""
    return UNKNOWN if value is None else f"{value:{sign},.{digits}f}"


def decimal_range(low: float | None, high: float | None, digits: int, sign: str = "") -> str:
    """The two ends of an interval in brackets; a dash if it is unknown."""
    if low is None or high is None:
        return UNKNOWN
    return f"[{decimal(low, digits, sign)} {decimal(high, digits, sign)}]"


def keep_together(text: str) -> str:
    """Text with hard spaces where a line should not break: before %, × and ·, and inside an interval."""
    return _NO_BREAK.sub(HARD_SPACE, text)
