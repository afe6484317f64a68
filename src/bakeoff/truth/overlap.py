"""Finds overlapping spans of two sets by sorted search, without a loop over all pairs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

WHOLE = -1
"""Start and end of a range that is a whole document."""
_FAR = 1 << 32
"""Larger than any character position, so that (document, position) is one sortable number."""


@dataclass(frozen=True, slots=True)
class Ranges:
    """Ranges in documents: parallel int32 arrays of document row, start and end in characters."""

    doc: np.ndarray
    start: np.ndarray
    end: np.ndarray

    def __len__(self) -> int:
        return len(self.doc)

    @property
    def whole(self) -> np.ndarray:
        """Mask of whole documents."""
        return self.start == WHOLE

    def take(self, rows: np.ndarray) -> Ranges:
        """Some of the ranges."""
        return Ranges(self.doc[rows], self.start[rows], self.end[rows])


def ranges(doc: Iterable[int], start: Iterable[int], end: Iterable[int]) -> Ranges:
    """Build ranges from anything numpy can convert to integers."""
    return Ranges(*(np.asarray(part, dtype=np.int32) for part in (doc, start, end)))


def concatenate_ranges(parts: Iterable[Ranges]) -> Ranges:
    """Concatenate several sets of ranges."""
    every = [ranges((), (), ()), *parts]
    return Ranges(
        *(np.concatenate([getattr(part, key) for part in every]) for key in ("doc", "start", "end"))
    )


def changes(*columns: np.ndarray) -> np.ndarray:
    """Mask of rows in sorted columns that are the first of their values."""
    first = np.zeros(len(columns[0]), dtype=bool)
    first[:1] = True
    for column in columns:
        first[1:] |= column[1:] != column[:-1]
    return first


@dataclass(frozen=True, slots=True)
class OverlapPairs:
    """Row pairs of the left and right set that overlap, ordered by left, then by the right's start."""

    left: np.ndarray
    right: np.ndarray


def overlap_pairs(left: Ranges, right: Ranges, share: float = 0.0) -> OverlapPairs:
    """Pairs that share at least one character, and at least `share` of the shorter one's."""
    order, starts, reach = _sort_ranges(right)
    base = left.doc.astype(np.int64) * _FAR
    first = np.searchsorted(reach, base + np.maximum(left.start, 0), side="right")
    until = np.where(left.whole, base + _FAR - 1, base + left.end)
    past = np.searchsorted(starts, until, side="left")
    rows, places = _expand_ranges(first, np.maximum(past, first))
    others = order[places]
    shares = share_of_shorter(left.take(rows), right.take(others))
    keep = (left.doc[rows] == right.doc[others]) & (shares > 0) & (shares >= share - 1e-9)
    return OverlapPairs(rows[keep], others[keep])


def share_of_shorter(one: Ranges, other: Ranges) -> np.ndarray:
    """Shared characters divided by the shorter length; a whole document shares everything that is not empty."""
    shared = np.minimum(one.end, other.end).astype(np.int64) - np.maximum(one.start, other.start)
    shorter = np.minimum(one.end.astype(np.int64) - one.start, other.end.astype(np.int64) - other.start)
    empty = (one.start == one.end) & ~one.whole | (other.start == other.end) & ~other.whole
    part = np.maximum(shared, 0) / np.maximum(shorter, 1)
    return np.where(empty, 0.0, np.where(one.whole | other.whole, 1.0, part))


def _sort_ranges(ranges: Ranges) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Order by document and start; the starts; and the running maximum of ends."""
    base = ranges.doc.astype(np.int64) * _FAR
    begin = base + np.maximum(ranges.start, 0)
    until = np.where(ranges.whole, base + _FAR - 1, base + ranges.end)
    del base
    if (begin[1:] >= begin[:-1]).all():  # already in chunk-table order: nothing to sort or copy
        return np.arange(len(begin)), begin, np.maximum.accumulate(until, out=until)
    order = np.lexsort((ranges.end, begin))
    return order, begin[order], np.maximum.accumulate(until[order])


def _expand_ranges(first: np.ndarray, past: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(row, position) for every position from first to past of every row."""
    counts = past - first
    rows = np.repeat(np.arange(len(first)), counts)
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, first[rows] + offsets
