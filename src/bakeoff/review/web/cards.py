"""What the page shows of an item: its text with the matched words marked, and on demand the text around it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bakeoff.corpus.document_kinds import CODE, DATA, KIND_OF_SUFFIX
from bakeoff.corpus.segmentation import has_spaceless_script, word_spans
from bakeoff.review.choices import LabelScheme, describe_vote
from bakeoff.review.outcomes import Vote
from bakeoff.review.pool import ReviewItem

REACH = 600
"""Characters shown before and after a passage as its context."""
SHORTEST = 4
"""Shorter words of a query are mostly function words and are not marked."""
_GRAMMAR = re.compile(
    "about|after|also|been|before|being|between|both|could|does|doing|during|each|from|have|having|here|into|just|like|"
    "more|most|much|only|other|over|same|should|some|such|than|that|their|them|then|there|these|they|this|those|through|"
    "under|until|very|were|what|when|where|which|while|whom|will|with|would|your",
    re.IGNORECASE,
)

Part = tuple[str, bool]
"""A piece of text and whether it is marked."""
Span = tuple[int, int, str]
"""Start, end and text of a stored piece of a document."""


@dataclass(frozen=True, slots=True)
class EarlierVote:
    """A vote on an item in the words of the page; shown only for adjudication."""

    who: str
    judgment: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """An item as sent to the page, without the systems, ranks and scores behind it."""

    key: str
    query_id: str
    query: str
    category: str
    document: str
    section: str
    start: int
    end: int
    text: tuple[Part, ...]
    before: str
    after: str
    code: bool
    """Whether the document is code or data, shown in a fixed-width font."""
    said: tuple[EarlierVote, ...] = ()


class ContextWindow:
    """The stored pieces of documents, from which the text around a passage is put together."""

    def __init__(self, pieces: Iterable[tuple[str, int, int, str]]) -> None:
        self._pieces: dict[str, list[Span]] = {}
        for document, start, end, text in pieces:
            if len(text) == end - start:  # otherwise its offsets are unknown
                self._pieces.setdefault(document, []).append((start, end, text))
        for spans in self._pieces.values():
            spans.sort()
        self._longest = {name: max(b - a for a, b, _ in spans) for name, spans in self._pieces.items()}

    def before(self, document: str, start: int) -> str:
        """Up to REACH characters before a place, as far as they are stored without a gap."""
        text, at = "", start
        while len(text) < REACH:
            spans = [one for one in self._near(document, at) if one[0] < at <= one[1]]
            if not spans:
                break
            piece = min(spans)
            text, at = piece[2][: at - piece[0]] + text, piece[0]
        return text[-REACH:]

    def after(self, document: str, end: int) -> str:
        """Up to REACH characters from a place on, as far as they are stored without a gap."""
        text, at = "", end
        while len(text) < REACH:
            spans = [one for one in self._near(document, at) if one[0] <= at < one[1]]
            if not spans:
                break
            piece = max(spans, key=lambda one: one[1])
            text, at = text + piece[2][at - piece[0] :], piece[1]
        return text[:REACH]

    def _near(self, document: str, at: int) -> Sequence[Span]:
        """The pieces that could reach a place."""
        spans = self._pieces.get(document, [])
        reach = self._longest.get(document, 0)
        return spans[bisect_left(spans, (at - reach, 0, "")) : bisect_left(spans, (at + 1, 0, ""))]


def card(
    key: str,
    item: ReviewItem,
    around: ContextWindow,
    opinions: Iterable[Vote] = (),
    labels: LabelScheme = LabelScheme.GRADES,
) -> Card:
    """The card of an item."""
    return Card(
        key=key,
        query_id=item.query_id,
        query=item.query_text,
        category=item.category,
        document=item.document_id,
        section=item.section,
        start=item.start,
        end=item.end,
        text=mark_words(item.text, item.words, item.query_text),
        before=around.before(item.document_id, item.start),
        after=around.after(item.document_id, item.end),
        code=_is_code(item.document_id),
        said=tuple(_earlier_vote(one, labels) for one in opinions),
    )


def mark_words(text: str, words: Sequence[str], query: str) -> tuple[Part, ...]:
    """The text in parts, with words of the query's rules and of the query marked."""
    pattern = _pattern(words, query)
    if pattern is None:
        return ((text, False),) if text else ()
    parts: list[Part] = []
    at = 0
    for match in pattern.finditer(text):
        parts += [(text[at : match.start()], False), (match[0], True)]
        at = match.end()
    return tuple(part for part in (*parts, (text[at:], False)) if part[0])


def _pattern(words: Sequence[str], query: str) -> re.Pattern[str] | None:
    spoken = [query[start:end] for start, end in word_spans(query)]
    own = [word for word in spoken if _tells(word) and not has_spaceless_script(word)]
    choices = [re.escape(word.strip()) for word in words if word.strip()]
    choices += [rf"\b{re.escape(_stem(word))}\w*" for word in own]
    choices += [re.escape(word) for word in spoken if has_spaceless_script(word) and len(word) > 1]
    # the longest first, so that a phrase is marked whole
    return (
        re.compile("|".join(sorted(set(choices), key=len, reverse=True)), re.IGNORECASE) if choices else None
    )


def _tells(word: str) -> bool:
    return len(word) >= SHORTEST and not _GRAMMAR.fullmatch(word)


def _stem(word: str) -> str:
    return word[:-1] if word.lower().endswith("s") and len(word) > SHORTEST else word


def _is_code(document: str) -> bool:
    kind = KIND_OF_SUFFIX.get(document.rpartition(".")[2].lower(), "text")
    return kind in CODE or kind in DATA


def _earlier_vote(one: Vote, labels: LabelScheme) -> EarlierVote:
    who = f"rule {one.where}" if one.auto else one.reviewer
    return EarlierVote(who, describe_vote(labels, one.label, one.grade) or "Can’t judge", one.note)
