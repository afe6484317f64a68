"""Query texts that occur in the corpus, whole or eight words in a row, found in one pass over all texts (F10)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.corpus.shingles import WordRuns, word_runs

if TYPE_CHECKING:
    import pyarrow as pa

RUN = 8
"""Consecutive words that can't be coincidence; a shorter query may occur in a document by chance."""
SHORTEST = 4
"""A shorter query is a term search, and finding that term in the corpus is not a leak."""
_BITS = 22


@dataclass(frozen=True, slots=True)
class Leak:
    """A query that occurs in documents (rows): whole, or a run that starts at word `at` of the query."""

    query: int
    whole: bool
    at: int
    documents: tuple[int, ...]


def leaks(texts: Sequence[str], documents: pa.ChunkedArray) -> list[Leak]:
    """Every query of which the whole text or a run of words occurs in a document."""
    search = _Search(texts)
    for block in word_runs(documents):
        search.scan(block)
    return search.all_leaks()


@dataclass(frozen=True, slots=True)
class _Query:
    """Word count of a query, and the hash of all its words."""

    place: int
    length: int
    whole: np.uint64


@dataclass(slots=True)
class _Anchors:
    """Word runs of one length to search for, with the queries they come from and their positions."""

    length: int
    entries: dict[int, list[tuple[_Query, int]]] = field(default_factory=lambda: defaultdict(list))
    keys: np.ndarray = field(default_factory=lambda: np.empty(0, np.uint64))
    likely: np.ndarray = field(default_factory=lambda: np.zeros(1 << _BITS, bool))

    def finish(self) -> None:
        """Sort the anchors for searching."""
        self.keys = np.array(sorted(self.entries), np.uint64)
        self.likely[_low(self.keys)] = True

    def hits(self, block: WordRuns) -> tuple[np.ndarray, np.ndarray]:
        """Positions and hashes of the runs in a block that match an anchor."""
        at, hashes = block.of(self.length)
        maybe = np.flatnonzero(self.likely[_low(hashes)])
        place = np.searchsorted(self.keys, hashes[maybe])
        sure = maybe[self.keys[np.minimum(place, len(self.keys) - 1)] == hashes[maybe]]
        return at[sure], hashes[sure]


class _Search:
    """What to search for, and what was found so far."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._whole: dict[int, dict[int, None]] = defaultdict(dict)
        self._part: dict[int, dict[int, None]] = defaultdict(dict)
        self._at: dict[int, int] = {}
        anchors = [_Anchors(SHORTEST), _Anchors(RUN)]
        for query, keys in _queries(texts):
            for start, key in enumerate(keys):
                anchors[query.length >= RUN].entries[key].append((query, start))
        self._anchors = [each for each in anchors if each.entries]
        for each in self._anchors:
            each.finish()

    def scan(self, block: WordRuns) -> None:
        """Record which parts of the queries occur in a block."""
        for anchors in self._anchors:
            at, hashes = anchors.hits(block)
            for position, key in zip(at.tolist(), hashes.tolist(), strict=True):
                for query, start in anchors.entries[key]:
                    self._note(block, query, position, start)

    def all_leaks(self) -> list[Leak]:
        """All leaks in query order; a query found whole is not listed for its parts."""
        copies = [Leak(query, True, 0, tuple(rows)) for query, rows in self._whole.items()]
        parts = [
            Leak(query, False, self._at[query], tuple(rows))
            for query, rows in self._part.items()
            if query not in self._whole
        ]
        return sorted([*copies, *parts], key=lambda leak: leak.query)

    def _note(self, block: WordRuns, query: _Query, position: int, start: int) -> None:
        row = int(block.row[position])
        first = position - start
        if (
            first >= 0
            and first + query.length <= len(block)
            and block.row[first] == row == block.row[first + query.length - 1]
            and block.at(np.array([first]), query.length)[0] == query.whole
        ):
            self._whole[query.place][row] = None
        elif query.length >= RUN:
            self._part[query.place][row] = None
            self._at.setdefault(query.place, start)


def _queries(texts: Sequence[str]) -> Iterator[tuple[_Query, list[int]]]:
    """Each query that is long enough, with the hashes of its anchors: every run, or its beginning if it is short."""
    import pyarrow as pa

    for block in word_runs(pa.chunked_array([pa.array(texts, pa.large_string())])):
        rows, firsts, lengths = np.unique(block.row, return_index=True, return_counts=True)
        for row, first, length in zip(rows.tolist(), firsts.tolist(), lengths.tolist(), strict=True):
            if length < SHORTEST:
                continue
            starts = np.arange(length - RUN + 1) if length >= RUN else np.zeros(1, np.int64)
            keys = block.at(starts + first, RUN if length >= RUN else SHORTEST)
            yield _Query(row, length, block.at(np.array([first]), length)[0]), keys.tolist()


def _low(hashes: np.ndarray) -> np.ndarray:
    """Low bits of hashes, as positions in a bitmap."""
    return (hashes & np.uint64((1 << _BITS) - 1)).astype(np.int64)
