"""Headings and titles → queries answered by the section below, or the document."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from bakeoff.corpus.document_kinds import DOCS
from bakeoff.corpus.headings import MARKED, HeadingSection, normalise_title, sections
from bakeoff.corpus.segmentation import word_spans
from bakeoff.truth.corpus import line_starts
from bakeoff.truth.drafting.draft import QueryDraft
from bakeoff.truth.leaked_sentences import LEAK

WORDS_ALONE = 4
"""Shorter headings are combined with the title above."""
SHORTEST_BODY = 60
_MARKUP = re.compile(r"`+|\*\*|__|!?\[([^\]]*)\]\([^)]*\)|:[a-z:]+:(?=`)")
_NUMBER = re.compile(r"^(?:[0-9]+[.)]?)+\s+")
_GENERIC = frozenset(
    {
        *("background", "changelog", "conclusion", "contents", "contributing", "example", "examples", "faq"),
        *("installation", "introduction", "license", "notes", "overview", "references", "summary", "usage"),
        *(
            "further reading",
            "getting started",
            "quick start",
            "release notes",
            "see also",
            "table of contents",
        ),
    }
)
"""Headings that occur in every second document."""


_LOOKS = frozenset({"theme", "themes", "_themes", "template", "templates", "_templates", "static", "_static"})
"""Folders about a site's appearance, not its content."""


def is_presentation(document: str, text: str, kind: str) -> bool:
    """Whether a document is a style sheet, or belongs to a theme or its templates."""
    parts = document.lower().split("/")[:-1]
    return kind == "css" or not _LOOKS.isdisjoint(parts) or (kind == "html" and "{%" in text)


def from_title(document: str, title: str, kind: str) -> Iterator[QueryDraft]:
    """A draft from the title, for a document without headings, such as a table row."""
    question = _plain(title)
    if kind not in DOCS or normalise_title(question) in _GENERIC or len(question.split()) < WORDS_ALONE:
        return
    yield QueryDraft(
        text=question,
        category="title",
        difficulty="easy",
        truth={"documents": [document], "match": "exact"},
        document=document,
        tags={LEAK: title},
    )


def from_headings(document: str, text: str, kind: str) -> Iterator[QueryDraft]:
    """One draft per informative heading with enough text below it."""
    if kind not in MARKED:
        return
    starts = line_starts(text)
    above: list[HeadingSection] = []
    for part in sections(text, kind):
        above = [each for each in above if each.level < part.level]
        question = _question(part, above)
        if question and _body(text, part) >= SHORTEST_BODY:
            first, last = _lines(text, part, starts)
            yield QueryDraft(
                text=question,
                category="section",
                difficulty="easy",
                truth={"lines": {"document": document, "from": first, "to": last}},
                document=document,
                tags={LEAK: part.title},
            )
        above.append(part)


def _question(part: HeadingSection, above: list[HeadingSection]) -> str:
    """The heading in plain words, with the title above if it is short; '' if it says nothing."""
    title = _plain(part.title)
    if not title or normalise_title(title) in _GENERIC:
        return ""
    if max(len(title.split()), 0 if title.isascii() else len(word_spans(title))) >= WORDS_ALONE:
        return title
    return f"{_plain(above[-1].title)}: {title}" if above else ""


def _plain(title: str) -> str:
    return _NUMBER.sub("", " ".join(_MARKUP.sub(lambda found: found[1] or "", title).split()))


def _body(text: str, part: HeadingSection) -> int:
    """Characters below a heading, up to the next one."""
    return len(text[part.start : part.end].partition("\n")[2].strip())


def _lines(text: str, part: HeadingSection, starts: list[int]) -> tuple[int, int]:
    """First and last line of a section with its subsections, without trailing blank lines."""
    end = part.start + len(text[part.start : part.deep_end].rstrip())
    return bisect_right(starts, part.start), bisect_right(starts, max(end - 1, part.start))
