"""Truth on another reader's text: a judged span is found again by its words.

The words of a span, without case, marks and blanks, are looked for in the other text, nearest to where the span was.
Where they are not all in a row (a header between two pages, a table read otherwise), the span is the stretch that has
most of them. What a text does not have is lost: it stays in the truth, at a place where no chunk is.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.truth.resolve import Truth

if TYPE_CHECKING:
    import pyarrow as pa

LOST = 1 << 30
"""Where spans start that a text does not have: beyond every text."""
KEPT_SHARE = 0.6
"""The share of a span's words that a stretch must have to be the same span."""
GRAM = 3
"""Words in a row that count as the same place."""
STRETCH = 1.5
"""How many times as long as the span a stretch may be."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Span:
    """Characters from one place to another."""

    start: int
    end: int


def align_truth(truth: Truth, reference: pa.Table, documents: pa.Table) -> Truth:
    """The truth that was resolved on the reference, on the same documents as another reading has them."""
    import pyarrow as pa

    table = truth.judgments
    texts = _Texts(reference, documents)
    columns = [table[name].to_pylist() for name in ("doc", "start", "end")]
    found: dict[tuple[int, int, int], Span] = {}
    for row, (doc, start, end) in enumerate(zip(*columns, strict=True)):
        if start is not None and (doc, start, end) not in found:
            found[doc, start, end] = texts.find(doc, start, end) or Span(LOST + row, LOST + row + 1)
    spans = [
        None if start is None else found[doc, start, end] for doc, start, end in zip(*columns, strict=True)
    ]
    for name in ("start", "end"):
        values = pa.array([None if span is None else getattr(span, name) for span in spans], pa.int32())
        table = table.set_column(table.column_names.index(name), name, values)
    return replace(truth, judgments=table, aligned=True)


def lost_spans(judgments: pa.Table) -> np.ndarray:
    """Which judgments are of spans that the text does not have."""
    starts: np.ndarray = judgments["start"].fill_null(0).to_numpy() >= LOST
    return starts


class _Texts:
    """The texts of two readings; words of a text are found once."""

    def __init__(self, reference: pa.Table, documents: pa.Table) -> None:
        self._tables = reference, documents
        self._same = np.array(reference["version"].to_pylist()) == np.array(documents["version"].to_pylist())
        self._words: dict[tuple[int, int], Words] = {}

    def find(self, doc: int, start: int, end: int) -> Span | None:
        """Where a span of the reference is in the other text; None where it is not."""
        if self._same[doc]:
            return Span(start, end)
        own, other = self._of(0, doc), self._of(1, doc)
        first, past = own.between(start, end)
        if first == past:
            return None
        position = first / max(len(own.words), 1)
        return other.find(own.words[first:past], round(position * len(other.words)))

    def _of(self, side: int, doc: int) -> Words:
        if (side, doc) not in self._words:
            self._words[side, doc] = Words(self._tables[side]["text"][doc].as_py())
        return self._words[side, doc]


class Words:
    """The words of a text as they are compared, and where each of them is."""

    def __init__(self, text: str) -> None:
        found = list(_WORD.finditer(text))
        self.words = [unicodedata.normalize("NFKC", one[0]).casefold() for one in found]
        self.starts = [one.start() for one in found]
        self.ends = [one.end() for one in found]

    def between(self, start: int, end: int) -> tuple[int, int]:
        """The first and past the last word that lies within characters, at least in part."""
        return bisect_left(self.ends, start + 1), bisect_left(self.starts, end)

    def find(self, wanted: list[str], near: int) -> Span | None:
        """The words in a row nearest to a place; else letters in a row; else the stretch with most of them."""
        at = self._in_a_row(wanted, near)
        if at is None:
            return self._letters_in_a_row(wanted, near) or self._most(wanted)
        return Span(self.starts[at], self.ends[at + len(wanted) - 1])

    def _in_a_row(self, wanted: list[str], near: int) -> int | None:
        places = [at for at in self._places.get(wanted[0], ()) if self.words[at : at + len(wanted)] == wanted]
        return min(places, key=lambda at: abs(at - near), default=None)

    def _letters_in_a_row(self, wanted: list[str], near: int) -> Span | None:
        """The same letters, whatever is between them: words that a reader joined or split."""
        letters, ends = self._letters
        target, at, best = "".join(wanted), -1, None
        aim = ends[near - 1] if 0 < near <= len(ends) else 0
        while (at := letters.find(target, at + 1)) >= 0:
            if best is None or abs(at - aim) < abs(best - aim):
                best = at
        if best is None:
            return None
        first, last = bisect_left(ends, best + 1), bisect_left(ends, best + len(target))
        return Span(self.starts[first], self.ends[last])

    def _most(self, wanted: list[str]) -> Span | None:
        """The stretch with most of the wanted words, where it has enough of them; short spans must be whole."""
        if len(wanted) < 2 * GRAM:
            return None
        grams = {tuple(wanted[i : i + GRAM]) for i in range(len(wanted) - GRAM + 1)}
        hits = [at for at in range(len(self.words) - GRAM + 1) if tuple(self.words[at : at + GRAM]) in grams]
        first, last = _densest(hits, round(STRETCH * len(wanted)))
        covered = {tuple(self.words[at : at + GRAM]) for at in hits[first:last]}
        if len(covered) < KEPT_SHARE * len(grams):
            return None
        return Span(self.starts[hits[first]], self.ends[hits[last - 1] + GRAM - 1])

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for at, word in enumerate(self.words):
            found.setdefault(word, []).append(at)
        return found

    @cached_property
    def _letters(self) -> tuple[str, list[int]]:
        """All words without anything between them, and where each of them ends there."""
        return "".join(self.words), np.cumsum([len(word) for word in self.words]).tolist()


def _densest(hits: list[int], width: int) -> tuple[int, int]:
    """The first and past the last of the most hits that lie within a width."""
    best, first = (0, 0), 0
    for last in range(len(hits)):
        while hits[last] - hits[first] > width:
            first += 1
        if last + 1 - first > best[1] - best[0]:
            best = first, last + 1
    return best
