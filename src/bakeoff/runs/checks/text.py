"""Sentence fragments that several checks share."""

from __future__ import annotations

from collections.abc import Sequence

SHOWN = 3


def name_some(names: Sequence[str], most: int = SHOWN) -> str:
    """The first names, and the number of further ones."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def quote(text: str, longest: int = 60) -> str:
    """A text in quotes on one line, truncated if long."""
    line = " ".join(text.split())
    return f'"{line if len(line) <= longest else line[: longest - 1] + "…"}"'


def number(count: int, one: str, many: str = "") -> str:
    """A count with its noun: 1 query, 2 queries."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
