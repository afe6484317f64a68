"""Patterns of paths, matched in time that grows with the path only: a foreign experiment may write any pattern."""

from __future__ import annotations

import re
from collections.abc import Callable

from bakeoff.errors import DataError

FEW_WILDCARDS = 3
"""Python's `re` tries every place for each wildcard; a pattern with more of them is matched by RE2, which does not."""


def full_match(pattern: str, expression: str, *, ignore_case: bool = False) -> Callable[[str], bool]:
    """Whether all of a path matches the regular expression of a glob, which errors name."""
    if expression.count("*") <= FEW_WILDCARDS:
        try:
            found = re.compile(expression, re.IGNORECASE if ignore_case else 0)
        except re.error as exc:
            raise _invalid_pattern(pattern) from exc
        return lambda path: found.fullmatch(path) is not None
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = f"^(?:{expression})$"

    def matches(path: str) -> bool:
        text = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return bool(pc.match_substring_regex(pa.scalar(text), whole, ignore_case=ignore_case).as_py())

    try:
        matches("")
    except pa.ArrowInvalid as exc:
        raise _invalid_pattern(pattern) from exc
    return matches


def _invalid_pattern(pattern: str) -> DataError:
    return DataError(f"{pattern!r} is not a pattern of paths. Correct the characters in its brackets.")
