"""Sentence fragments that several checks share."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.runtime.count_text import shorten

SHOWN = 3


def name_some(names: Sequence[str], most: int = SHOWN) -> str:
    """The first names, and the number of further ones."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def quote(text: str, longest: int = 60) -> str:
    """A text in quotes on one line, truncated if long."""
    return f'"{shorten(" ".join(text.split()), longest)}"'
