"""The words of a text, and where another reader's words occur in it.

The search ignores case, punctuation and whitespace, and prefers the nearest match. If the letters are not
contiguous (a header between two pages, a letter misread by OCR), the stretch with most of them is used.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

KEPT_SHARE = 0.7
"""Share of a span's letter n-grams that a stretch must have to count as the same span."""
GRAM = 5
"""Length of the letter n-grams."""
WHOLE_WORDS = 5
"""Spans of at most this many words must match whole."""
WHOLE_LETTERS = 8
"""Spans of at most this many letters must match at word boundaries: 913 is not in 2913."""
STRETCH = 1.5
"""Maximum length of a stretch, as a multiple of the span's."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Span:
    """A range of characters."""

    start: int
    end: int


class Words:
    """Normalised words of a text, and their positions."""

    def __init__(self, text: str) -> None:
        matches = list(_WORD.finditer(text))
        self.words = [unicodedata.normalize("NFKC", one[0]).casefold() for one in matches]
        self.starts = [one.start() for one in matches]
        self.ends = [one.end() for one in matches]

    def between(self, start: int, end: int) -> tuple[int, int]:
        """First and past-the-last word within characters, at least in part."""
        return bisect_left(self.ends, start + 1), bisect_left(self.starts, end)

    def find(self, words: list[str], near: int) -> Span | None:
        """The nearest contiguous words; else contiguous letters; else the stretch with most of them."""
        at = self._in_a_row(words, near)
        if at is None:
            target = "".join(words)
            return self._letters_in_a_row(target, near) or (
                self._most(target) if len(words) > WHOLE_WORDS else None
            )
        return Span(self.starts[at], self.ends[at + len(words) - 1])

    def places(self, words: list[str]) -> list[Span]:
        """All spans with the same contiguous letters."""
        target = "".join(words)
        return [self._words_around(at, at + len(target)) for at in self._same_letters(target)]

    def _in_a_row(self, words: list[str], near: int) -> int | None:
        places = [at for at in self._places.get(words[0], ()) if self.words[at : at + len(words)] == words]
        return min(places, key=lambda at: abs(at - near), default=None)

    def _letters_in_a_row(self, target: str, near: int) -> Span | None:
        """The same letters, whatever is between them: words that a reader joined or split."""
        _, ends = self._letters
        aim = ends[near - 1] if 0 < near <= len(ends) else 0
        best = min(self._same_letters(target), key=lambda at: abs(at - aim), default=None)
        return None if best is None else self._words_around(best, best + len(target))

    def _same_letters(self, target: str) -> list[int]:
        letters, ends = self._letters
        positions = _occurrences(letters, target) if target else []
        if len(target) > WHOLE_LETTERS:
            return positions
        edges = {0, *ends}
        return [at for at in positions if at in edges and at + len(target) in edges]

    def _most(self, target: str) -> Span | None:
        """The stretch with most of the wanted letters, if it has enough of them."""
        letters, _ = self._letters
        grams = {target[i : i + GRAM] for i in range(len(target) - GRAM + 1)}
        hits = sorted(at for gram in grams for at in _occurrences(letters, gram))
        first, last = _densest(hits, round(STRETCH * len(target)))
        covered = {letters[at : at + GRAM] for at in hits[first:last]}
        if not covered or len(covered) < KEPT_SHARE * len(grams):
            return None
        return self._words_around(hits[first], hits[last - 1] + GRAM)

    def _words_around(self, start: int, end: int) -> Span:
        """The words that hold a range of letters."""
        _, ends = self._letters
        return Span(self.starts[bisect_left(ends, start + 1)], self.ends[bisect_left(ends, end)])

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        positions: dict[str, list[int]] = {}
        for at, word in enumerate(self.words):
            positions.setdefault(word, []).append(at)
        return positions

    @cached_property
    def _letters(self) -> tuple[str, list[int]]:
        """All words without separators, and where each ends."""
        return "".join(self.words), list(accumulate(map(len, self.words)))


def _occurrences(text: str, words: str) -> list[int]:
    """Positions of a text in another, overlapping or not."""
    positions, at = [], text.find(words)
    while at >= 0:
        positions.append(at)
        at = text.find(words, at + 1)
    return positions


def _densest(hits: list[int], width: int) -> tuple[int, int]:
    """First and past-the-last of the most hits within a width."""
    best, first = (0, 0), 0
    for last in range(len(hits)):
        while hits[last] - hits[first] > width:
            first += 1
        if last + 1 - first > best[1] - best[0]:
            best = first, last + 1
    return best
