"""Spans of text: trims them, and splits long ones without losing a character."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import ceil

from bakeoff.corpus.segmentation import boundary_before, stop_words

Span = tuple[int, int]

PARAGRAPH = ("\n\n", "\n\r\n")
LINE = ("\n",)
SENTENCE = (". ", "! ", "? ", ".\t", *stop_words())
WORD = (" ", "\t")

PROSE = (PARAGRAPH, LINE, SENTENCE, WORD)
"""Best separators of prose, best first."""

SOURCE = (PARAGRAPH, LINE, WORD)
"""Best separators of source code, best first."""

_BACK = 64  # characters a forced cut may move back to keep a character sequence or word whole


def trim(text: str, start: int, end: int) -> Span | None:
    """Strip a span's trailing whitespace and blank first lines; None if nothing is left."""
    body = text[start:end].rstrip()
    if not body:
        return None
    end = start + len(body)
    if not body[0].isspace():
        return start, end
    blank = len(body) - len(body.lstrip())
    return start + body.rfind("\n", 0, blank) + 1, end


def split(text: str, start: int, end: int, max_chars: int, levels: Sequence[Sequence[str]]) -> Iterator[Span]:
    """Yield contiguous spans of at most `max_chars` characters and similar length, cut at the best nearby
    separator."""
    while end - start > max_chars:
        even = (end - start) / ceil((end - start) / max_chars)
        at = find_cut(text, start, start + min(max_chars, ceil(even * 1.2)), levels)
        yield start, at
        start = at
    yield start, end


def split_lines(
    text: str, start: int, end: int, max_lines: int, levels: Sequence[Sequence[str]]
) -> Iterator[Span]:
    """Yield contiguous spans of at most `max_lines` lines and similar length, cut at the best nearby separator."""
    while (lines := text.count("\n", start, end) + 1) > max_lines:
        even = ceil(lines / ceil(lines / max_lines) * 1.2)
        at = find_cut(text, start, _after_lines(text, start, end, min(max_lines, even)), levels)
        yield start, at
        start = at
    yield start, end


def _after_lines(text: str, start: int, end: int, count: int) -> int:
    """The offset after `count` lines."""
    for _ in range(count):
        start = text.find("\n", start, end) + 1
    return start


def find_cut(text: str, start: int, limit: int, levels: Sequence[Sequence[str]]) -> int:
    """Last good cut in the later two thirds of a window, or its end if there is none."""
    floor = start + (limit - start) // 3
    for separators in _ascii_only(tuple(levels)) if text.isascii() else levels:
        at = max(_last(text, separator, floor, limit) for separator in separators)
        if at > start:
            return at
    return boundary_before(text, max(floor, limit - _BACK), limit)


@lru_cache
def _ascii_only(levels: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    """The separators that can occur in ASCII text."""
    return [[separator for separator in separators if separator.isascii()] for separators in levels]


def _last(text: str, separator: str, floor: int, limit: int) -> int:
    at = text.rfind(separator, floor, limit)
    return at + len(separator) if at >= 0 else -1
