"""Builds Markdown from plain values, escaping every external text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"([\\`*_|<>~])")
_LINK = re.compile(r"\[(?=[^\]]*\][(\[:])")
_OPENING = re.compile(r"^(\s*)([#+\-=]|\d+[.)])(?=\s|$|[#\-=])")


def escape_markdown(text: object) -> str:
    """Escape a text to one line that Markdown and HTML leave as it is."""
    one_line = " ".join(str(text).split())
    escaped = _LINK.sub(r"\\[", _SPECIAL.sub(r"\\\1", one_line)).replace("&", "&amp;")
    return _OPENING.sub(lambda found: f"{found[1]}\\{found[2]}", escaped)


def table(headings: Sequence[str], rows: Iterable[Sequence[object]], left: int = 1) -> list[str]:
    """Build a table whose first `left` columns hold words and the others numbers."""
    marks = [":--" if number < left else "--:" for number in range(len(headings))]
    lines = [_row(map(escape_markdown, headings)), _row(marks)]
    return [*lines, *(_row(map(escape_markdown, row)) for row in rows), ""]


def block(text: str) -> list[str]:
    """Quote a text verbatim, inside a fence longer than any it contains."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}text", *text.rstrip("\n").split("\n"), fence, ""]


def bullets(lines: Iterable[object]) -> list[str]:
    """Build a list; empty if there are no lines."""
    items = [f"- {escape_markdown(line)}" for line in lines]
    return [*items, ""] if items else []


def omitted_rows_note(hidden: int, what: str, file: str) -> list[str]:
    """Say where to find the rows a table omits; empty if it has all."""
    return [f"{hidden:,} more {what} in {file}.", ""] if hidden else []


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
