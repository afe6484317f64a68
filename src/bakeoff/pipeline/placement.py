"""place: locates what a retriever returned in the corpus; text is searched for, never guessed.

First the exact text; then ignoring whitespace and case, with and without HTML markup; then by word shingles
shared with a document. Text found in no document is not placed.
"""

from __future__ import annotations

import bisect
import html
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal

from bakeoff.corpus.segmentation import word_spans
from bakeoff.corpus.shingles import word_runs
from bakeoff.types import RetrievedRow

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

RUN = 5
"""Words per shingle."""
THRESHOLD = 0.6
"""Share of a text's shingles a document must hold, close together, for the text to be placed there."""
CANDIDATES = 8
"""Number of candidate documents to examine, those sharing most shingles first."""
KEPT_RUNS = 4_000_000
"""Most shingles in an index; a larger corpus keeps an even sample."""
KEPT_TEXTS = 256

Place = Literal["given", "document", "exact", "folded", "overlap", "unlocated", "unknown id", "not placed"]
"""How a row was placed. `unlocated`: the document is known, the characters are not."""
PLACES: dict[Place, str] = {
    "given": "given",
    "document": "document",
    "exact": "exact",
    "folded": "folded",
    "overlap": "overlap",
    "unlocated": "unlocated",
    "unknown id": "unknown_id",
    "not placed": "not_placed",
}
"""Each method of placing, with its column."""
OUTSIDE: tuple[Place, ...] = ("unknown id", "not placed")
"""Methods that mean "not in the corpus"."""
_BLOCK_TAGS = re.compile(
    r"</?(?:p|div|br|li|ul|ol|tr|td|th|table|h[1-6]|section|article|pre)\b[^<>]{0,500}>", re.I
)
_TAGS = re.compile(r"</?[a-zA-Z!][^<>]{0,500}>")


@dataclass(frozen=True, slots=True)
class Placement:
    """Position of a row: document number and characters; `several` if other documents hold the same text."""

    how: Place
    doc: int = -1
    start: int = 0
    end: int = 0
    several: bool = False


class Placer:
    """Places rows in the documents of one corpus."""

    def __init__(self, documents: pa.Table) -> None:
        self._texts = documents["text"]
        self._numbers = {name: number for number, name in enumerate(documents["id"].to_pylist())}
        self.text = lru_cache(maxsize=KEPT_TEXTS)(self._text)
        self._folded = lru_cache(maxsize=KEPT_TEXTS)(lambda doc: FoldedText(self.text(doc)))

    def place(self, row: RetrievedRow) -> Placement:
        """Locate a row in the corpus; a row with neither an id nor a text is not placed."""
        doc = self._numbers.get(row.document) if row.document is not None else None
        if doc is not None:
            return self._inside(doc, row)
        if row.text and row.text.strip():
            return self._anywhere(row.text)
        return Placement("not placed" if row.document is None else "unknown id")

    def _text(self, doc: int) -> str:
        text: str = self._texts[doc].as_py()
        return text

    def _inside(self, doc: int, row: RetrievedRow) -> Placement:
        """Locate a row inside its known document."""
        length = len(self.text(doc))
        if row.start is not None and row.end is not None:
            inside = 0 <= row.start < row.end <= length
            if inside:
                return Placement("given", doc, row.start, row.end)
        elif not row.text or not row.text.strip():
            return Placement("document", doc, 0, length)
        return (self._locate_text(doc, row.text) if row.text else None) or Placement("unlocated", doc)

    def _locate_text(self, doc: int, text: str) -> Placement | None:
        for how in (self._exact, self._fold, self._overlap):
            if (place := how(doc, text)) is not None:
                return place
        return None

    def _anywhere(self, text: str) -> Placement:
        """Return the first document that holds a text, else the one that shares most shingles."""
        candidates = sorted(self._candidates(text))
        for how in (self._exact, self._fold):
            places = [place for doc in candidates if (place := how(doc, text)) is not None]
            if places:
                first = places[0]
                return Placement(first.how, first.doc, first.start, first.end, several=len(places) > 1)
        shares = [(self._share(doc, text), -doc) for doc in candidates]
        best = max(shares, default=(0.0, 0))
        return (self._overlap(-best[1], text) if best[0] >= THRESHOLD else None) or Placement("not placed")

    def _exact(self, doc: int, text: str) -> Placement | None:
        stripped = text.strip()
        at = self.text(doc).find(stripped)
        return Placement("exact", doc, at, at + len(stripped)) if at >= 0 else None

    def _fold(self, doc: int, text: str) -> Placement | None:
        body = self._folded(doc)
        for folded in dict.fromkeys((fold(text), fold(without_markup(text)))):
            if folded and (span := body.find(folded)) is not None:
                return Placement("folded", doc, *span)
        return None

    def _overlap(self, doc: int, text: str) -> Placement | None:
        span = self._folded(doc).near(without_markup(text))
        return Placement("overlap", doc, span.start, span.end) if span and span.share >= THRESHOLD else None

    def _share(self, doc: int, text: str) -> float:
        span = self._folded(doc).near(without_markup(text))
        return span.share if span else 0.0

    def _candidates(self, text: str) -> list[int]:
        """Documents that may hold a text: by shared shingles or, for a short text, by its first words."""
        runs = self._runs.documents(without_markup(text))
        return runs if runs else list(self._scan(text))

    def _scan(self, text: str) -> Iterator[int]:
        """Yield documents that hold a short text, ignoring whitespace and case; reads every document."""
        import pyarrow.compute as pc

        words = fold(without_markup(text)).split()
        if not words or len(words) > 4 * RUN:
            return
        pattern = r"\s+".join(re.escape(word) for word in words)
        there = pc.match_substring_regex(self._texts, pattern, ignore_case=True)
        yield from (int(doc) for doc in there.to_numpy(zero_copy_only=False).nonzero()[0][:CANDIDATES])

    @cached_property
    def _runs(self) -> RunIndex:
        return RunIndex.build(self._texts)


@dataclass(frozen=True, slots=True)
class RunIndex:
    """Inverted index from shingle hashes to documents; keeps `keep` of every 2^16 hashes."""

    hashes: np.ndarray
    docs: np.ndarray
    keep: int

    @staticmethod
    def build(texts: pa.ChunkedArray) -> RunIndex:
        """Index all documents."""
        import numpy as np

        keep = max(1, min(1 << 16, (1 << 16) * KEPT_RUNS * 6 // max(texts.nbytes, 1)))
        parts = []
        for block in word_runs(texts):
            at, hashes = block.of(RUN)
            chosen = (hashes & np.uint64(0xFFFF)) < keep
            parts.append((hashes[chosen], block.row[at[chosen]].astype(np.int32)))
        hashes = np.concatenate([np.zeros(0, np.uint64), *(part[0] for part in parts)])
        docs = np.concatenate([np.zeros(0, np.int32), *(part[1] for part in parts)])
        order = np.argsort(hashes, kind="stable")
        return RunIndex(hashes[order], docs[order], keep)

    def documents(self, text: str) -> list[int]:
        """Documents that share shingles with a text, most shared first."""
        import numpy as np
        import pyarrow as pa

        own = [
            block.of(RUN)[1] for block in word_runs(pa.chunked_array([pa.array([text], pa.large_string())]))
        ]
        hashes = np.unique(np.concatenate(own)) if own else np.zeros(0, np.uint64)
        first = np.searchsorted(self.hashes, hashes, side="left")
        past = np.searchsorted(self.hashes, hashes, side="right")
        votes: Counter[int] = Counter()
        for begin, end in zip(first.tolist(), past.tolist(), strict=True):
            votes.update(np.unique(self.docs[begin:end]).tolist())
        ranked = sorted(votes.items(), key=lambda one: (-one[1], one[0]))
        return [doc for doc, _ in ranked[:CANDIDATES]]


@dataclass(frozen=True, slots=True)
class NearSpan:
    """The characters where a document shares most shingles with a text, and the share of the text's shingles
    there."""

    start: int
    end: int
    share: float


class FoldedText:
    """A text in lower case with single spaces, and the position of each word in the original."""

    def __init__(self, text: str) -> None:
        self._text = text
        spans = [(match.start(), match.end()) for match in re.finditer(r"\S+", text)]
        self._words = spans
        folded = [text[start:end].lower() for start, end in spans]
        self._joined = " ".join(folded)
        self._begins = [0]
        for word in folded:
            self._begins.append(self._begins[-1] + len(word) + 1)

    def find(self, words: str) -> tuple[int, int] | None:
        """Return the characters of the original that hold a folded text."""
        at = self._joined.find(words)
        return (self._place(at), self._place(at + len(words) - 1) + 1) if at >= 0 else None

    def _place(self, at: int) -> int:
        """Original position of a folded character; a letter that folds to two has one position."""
        word = bisect.bisect_right(self._begins, at) - 1
        start, end = self._words[word]
        return min(start + at - self._begins[word], end - 1)

    def near(self, text: str) -> NearSpan | None:
        """Where the document shares most shingles with a text, within about that text's length."""
        words = [text[start:end].lower() for start, end in word_spans(text)]
        size = min(RUN, len(words))
        if not size:
            return None
        shingles: dict[tuple[str, ...], int] = {}
        for place in range(len(words) - size + 1):
            shingles.setdefault(tuple(words[place : place + size]), place)
        own = self._own_words
        names = [word for _, _, word in own]
        met = [
            (place, shingles[run])
            for place in range(len(names) - size + 1)
            if (run := tuple(names[place : place + size])) in shingles
        ]
        if not met:
            return None
        return self._densest(met, len(words), len(shingles), size)

    def _densest(self, met: list[tuple[int, int]], length: int, runs: int, size: int) -> NearSpan:
        """The window, one and a half times the text's length, that holds most of its shingles."""
        best, first, distinct = (0, 0, 0), 0, 0
        seen: Counter[int] = Counter()
        for last, (place, run) in enumerate(met):
            distinct += not seen[run]
            seen[run] += 1
            while place - met[first][0] > 1.5 * length:
                seen[met[first][1]] -= 1
                distinct -= not seen[met[first][1]]
                first += 1
            if distinct > best[0]:
                best = (distinct, first, last)
        count, first, last = best
        own = self._own_words
        return NearSpan(own[met[first][0]][0], own[met[last][0] + size - 1][1], count / runs)

    @cached_property
    def _own_words(self) -> list[tuple[int, int, str]]:
        return [(start, end, self._text[start:end].lower()) for start, end in word_spans(self._text)]


def fold(text: str) -> str:
    """Lower-case a text and collapse whitespace."""
    return " ".join(text.lower().split())


def without_markup(text: str) -> str:
    """Remove HTML tags and decode entities."""
    if "<" not in text and "&" not in text:
        return text
    return html.unescape(_TAGS.sub("", _BLOCK_TAGS.sub(" ", text)))
