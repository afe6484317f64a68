"""Sections of a document by its own headings, so that truth about sections does not depend on a chunking."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

UNIVERSAL_SECTIONS = (
    *("SYNOPSIS", "EXECUTIVE SUMMARY", "SUMMARY", "ABSTRACT", "BRIEF", "OVERVIEW"),
    *("APPENDIX", "APPENDICES"),
)
"""S4-15's list of sections that are valid for every query; a file that wants it writes it down (F11)."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HASHES = re.compile(r" {0,3}(#{1,6})[ \t]+(.+?)[ \t]*#*\s*")
_UNDERLINE = re.compile(r" {0,3}(=+|-+|~+|\^+|\"+)[ \t]*")
_NUMBER = re.compile(r"((?:\d+\.)*\d+)\.?[ \t]+(?=\D)")
_LABEL = re.compile(r"\(?[a-zA-Z0-9]{1,3}[.)][ \t]+")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with what follows it, up to the next (`end`) and with subsections (`deep_end`)."""

    title: str
    level: int
    start: int
    end: int
    deep_end: int


def normalised(title: str) -> str:
    """A title as compared: case folded, one space between words."""
    return " ".join(title.casefold().split())


def matches(title: str, wanted: str) -> bool:
    """Whether a section's title contains a wanted title (S4-16)."""
    return normalised(wanted) in normalised(title)


def sections(text: str, kind: str) -> list[Section]:
    """The sections of a document in order; what stands before the first heading belongs to none."""
    marks = list(_marked(text)) if kind in ("markdown", "rst", "html") else list(_typed(text))
    result = []
    for place, (start, level, title) in enumerate(marks):
        after = marks[place + 1 :]
        end = after[0][0] if after else len(text)
        deep_end = next((at for at, other, _ in after if other <= level), len(text))
        result.append(Section(title, level, start, end, deep_end))
    return result


def _lines(text: str) -> Iterator[tuple[int, str]]:
    at = 0
    for line in text.split("\n"):
        yield at, line
        at += len(line) + 1


def _marked(text: str) -> Iterator[tuple[int, int, str]]:
    """(start, level, title) of headings with hashes or underlines, outside fenced code."""
    fence = ""
    before = (0, "")
    styles: list[str] = []
    for at, line in _lines(text):
        if found := _FENCE.match(line):
            fence = "" if fence and found[1].startswith(fence) else fence or found[1][:3]
        elif not fence and (found := _HASHES.fullmatch(line)):
            yield at, len(found[1]), found[2]
        elif not fence and (found := _UNDERLINE.fullmatch(line)) and _titles(before[1], found[1]):
            if found[1][0] not in styles:
                styles.append(found[1][0])
            yield before[0], styles.index(found[1][0]) + 1, before[1].strip()
        before = (at, line)


def _titles(line: str, underline: str) -> bool:
    words = line.strip()
    return bool(words) and len(underline) >= 3 and words[0] not in "#>|-=+*`~" and len(words) <= 100


def _typed(text: str) -> Iterator[tuple[int, int, str]]:
    """(start, level, title) of lines of a plain text that stand out as headings: short and in capitals."""
    for at, line in _lines(text):
        words = line.strip()
        number = _NUMBER.match(words)
        bare = _LABEL.sub("", words[number.end() :] if number else words, count=1)
        letters = [c for c in bare if c.isalpha()]
        if len(words) <= 80 and len(letters) >= 4 and bare.upper() == bare and bare[-1:] not in ".,;":
            yield at, number[1].count(".") + 1 if number else 1, words
