"""Counts with their noun."""

from __future__ import annotations


def count(number: int, one: str, many: str = "") -> str:
    """1 document, 2 documents, 1,000 queries."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
