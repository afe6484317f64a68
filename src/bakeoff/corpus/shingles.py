"""Hashes of words and word runs over many texts at once, on Arrow's bytes.

A word is a run of letters, digits and underscores, ignoring case; other scripts' letters count too, and
common punctuation beyond ASCII separates. Scripts without spaces are split by a dictionary first. Hashes are
64 bits of a polynomial, so any run's hash is a difference of two sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.corpus.segmentation import word_spans

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK = 1 << 18
"""Bytes of text hashed in one step; longer texts are split into overlapping parts."""
OVERLAP = 1 << 14
MARKS = "،؛؟۔।॥"
"""Punctuation of Arabic, Urdu and the scripts of India."""
SPACELESS = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
_BASE = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_SHIFT = np.uint64(31)


def _powers(base: int, count: int) -> np.ndarray:
    powers = np.full(count, np.uint64(base))
    powers[0] = 1
    return np.multiply.accumulate(powers)


def _table() -> np.ndarray:
    """Normalised bytes: lower case, and 0 for separators."""
    folded = np.zeros(256, np.uint8)
    for low, high in ((0x30, 0x39), (0x61, 0x7A), (0x5F, 0x5F), (0x80, 0xFF)):
        folded[low : high + 1] = np.arange(low, high + 1)
    folded[0x41:0x5B] = np.arange(0x61, 0x7B)
    return folded


_FOLDED = _table()
_UP = _powers(int(_BASE), BLOCK + 1)
_DOWN = _powers(pow(int(_BASE), -1, 1 << 64), BLOCK + 1)


@dataclass(frozen=True, slots=True)
class WordRuns:
    """The words of a block of texts: the row of each, and sums from which any run's hash follows."""

    row: np.ndarray
    sums: np.ndarray

    def __len__(self) -> int:
        return len(self.row)

    def of(self, length: int) -> tuple[np.ndarray, np.ndarray]:
        """(position, hash) of every run of that many words inside one text."""
        if len(self) < length:
            return np.empty(0, np.int64), np.empty(0, np.uint64)
        at = np.flatnonzero(self.row[: len(self) - length + 1] == self.row[length - 1 :])
        return at, self.at(at, length)

    def at(self, positions: np.ndarray, length: int) -> np.ndarray:
        """Hash of the run of that many words at each position."""
        return (self.sums[positions + length] - self.sums[positions]) * _DOWN[positions]


def word_runs(column: pa.ChunkedArray) -> Iterator[WordRuns]:
    """Yield the words of a column of texts (`large_string`, no nulls), block by block; rows count from 0."""
    first = 0
    for array in column.chunks:
        data, offsets = _buffers(array)
        for rows, starts, ends in _blocks(offsets):
            yield _words(data, rows + first, starts, ends)
        first += len(array)


def _buffers(array: pa.LargeStringArray) -> tuple[np.ndarray, np.ndarray]:
    """Bytes of all texts and their offsets; letters beyond ASCII in lower case."""
    import pyarrow.compute as pc

    data, offsets = _raw(array)
    if len(offsets) > 1 and (data[offsets[0] : offsets[-1]] >= 0x80).any():
        data, offsets = _raw(pc.utf8_lower(_with_blanks(array)))
        data = _without_punctuation(data)
    return data, offsets


def _with_blanks(array: pa.LargeStringArray) -> pa.LargeStringArray:
    """The texts with spaces between words if their script has none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    spaceless = pc.match_substring_regex(array, SPACELESS)
    if not spaceless.true_count:
        return array
    texts = [join_words(text) for text in array.filter(spaceless).to_pylist()]
    return pc.replace_with_mask(array, spaceless, pa.array(texts, pa.large_string()))


def join_words(text: str) -> str:
    """The words of a text, with blanks between them."""
    return " ".join(text[start:end] for start, end in word_spans(text))


def _raw(array: pa.LargeStringArray) -> tuple[np.ndarray, np.ndarray]:
    _, offsets, data = array.buffers()
    places = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8), places


def _without_punctuation(data: np.ndarray) -> np.ndarray:
    """Blank the signs of U+00A0–00BF, U+2000–203F and U+3000–303F and the marks of MARKS."""
    made = data.copy()
    pairs = ((0xC2, 0xA0, 0xBF, 2), (0xE2, 0x80, 0x80, 3), (0xE3, 0x80, 0x80, 3))
    for mark in MARKS:
        own = np.frombuffer(mark.encode(), np.uint8)
        at = np.flatnonzero(data[: max(len(data) - len(own) + 1, 0)] == own[0])
        for step in range(1, len(own)):
            at = at[data[at + step] == own[step]]
        for step in range(len(own)):
            made[at + step] = 0x20
    for lead, low, high, length in pairs:
        at = np.flatnonzero(data[: max(len(data) - length + 1, 0)] == lead)
        at = at[(data[at + 1] >= low) & (data[at + 1] <= high)]
        for step in range(length):
            made[at + step] = 0x20
    return made


def _blocks(offsets: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """(rows, starts, ends) of texts that together fit a block, in order."""
    row, count = 0, len(offsets) - 1
    while row < count:
        past = int(np.searchsorted(offsets, offsets[row] + BLOCK, side="right")) - 1
        if past > row:
            yield np.arange(row, past), offsets[row:past], offsets[row + 1 : past + 1]
            row = past
            continue
        for start in range(int(offsets[row]), int(offsets[row + 1]), BLOCK - OVERLAP):
            end = min(start + BLOCK, int(offsets[row + 1]))
            yield np.array([row]), np.array([start]), np.array([end])
        row += 1


def _words(data: np.ndarray, rows: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> WordRuns:
    """The words of texts that follow each other."""
    base = int(starts[0])
    folded = _FOLDED[data[base : int(ends[-1])]]
    inside = folded != 0
    fresh = np.ones(len(folded), bool)
    np.logical_not(inside[:-1], out=fresh[1:])
    fresh[starts[starts < ends] - base] = True
    begin = np.flatnonzero(inside & fresh)
    last = np.ones(len(folded), bool)
    np.logical_or(~inside[1:], fresh[1:], out=last[:-1])
    end = np.flatnonzero(inside & last) + 1
    sums = np.zeros(len(folded) + 1, np.uint64)
    np.cumsum(folded * _UP[: len(folded)], out=sums[1:])
    hashes = (sums[end] - sums[begin]) * _DOWN[begin]
    hashes = (hashes ^ (hashes >> _SHIFT)) * _MIX
    hashes ^= hashes >> _SHIFT
    total = np.zeros(len(hashes) + 1, np.uint64)
    np.cumsum(hashes * _UP[: len(hashes)], out=total[1:])
    return WordRuns(rows[np.searchsorted(ends - base, begin, side="right")], total)
