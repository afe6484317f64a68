"""The join of rankings and judgments: only judged results are kept, so measures cost what was judged."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bakeoff.errors import DataError
from bakeoff.measures.arrays import (
    Flags,
    Ints,
    JudgmentArrays,
    RankingArrays,
    positions_in_groups,
    starts_of_groups,
)

UNJUDGED = -1
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """Judgments by row (the position of a query in `queries`), grades descending inside a row."""

    queries: Ints
    row: Ints
    grade: Ints
    place: Ints

    @property
    def size(self) -> int:
        """Number of queries."""
        return len(self.queries)

    def at_least(self, grade: int) -> Ints:
        """For each query, how many items have that grade or a higher one."""
        return np.bincount(self.row[self.grade >= grade], minlength=self.size)

    def top_grade(self) -> Ints:
        """For each query, its highest grade, at least 1."""
        top = np.ones(self.size, dtype=np.int64)
        first = self.place == 0
        top[self.row[first]] = np.maximum(self.grade[first], 1)
        return top


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """Retrieved items that are in the judgments: row, rank from 1, grade; ordered by row and rank.

    `depth` is the number of results of a row; `every` holds row and rank of all results if ranks have gaps.
    """

    row: Ints
    rank: Ints
    grade: Ints
    depth: Ints
    every: tuple[Ints, Ints] | None = None

    def retrieved(self, k: int | None) -> Ints:
        """For each row, how many results stand at rank k or above."""
        if k is None:
            return self.depth
        if self.every is None:
            return np.minimum(self.depth, k)
        row, rank = self.every
        return np.bincount(row[rank <= k], minlength=len(self.depth))

    def only(self, keep: Flags) -> Hits:
        """The hits for which `keep` is true."""
        return replace(self, row=self.row[keep], rank=self.rank[keep], grade=self.grade[keep])


def truth_of(judgments: JudgmentArrays, queries: Ints) -> Truth:
    """The judgments of these queries (ascending), grades descending."""
    row, known = rows_of(judgments.query, queries)
    return truth_from(row[known], judgments.grade[known].astype(np.int64), queries)


def truth_from(row: Ints, grade: Ints, queries: Ints) -> Truth:
    """The truth from rows (ascending) and grades."""
    # A sort of one combined integer is several times faster than a sort by two keys.
    top, bottom = (int(grade.max()), int(grade.min())) if len(grade) else (0, 0)
    combined = np.sort(row * (top - bottom + 1) + (top - grade))
    row, below = np.divmod(combined, top - bottom + 1)
    return Truth(queries, row, top - below, positions_in_groups(starts_of_groups(row), len(row)))


def hits_of(rankings: RankingArrays, judgments: JudgmentArrays, queries: Ints) -> Hits:
    """The judged results of these queries (ascending); a repeated item is an error."""
    row, known = rows_of(rankings.query, queries)
    starts = starts_of_groups(rankings.query)
    rank = positions_in_groups(starts, len(rankings)) + 1 if rankings.rank is None else rankings.rank
    item = rankings.item
    if not known.all():
        row, rank, item = row[known], rank[known], item[known]
    grade, at = _look_up(row, item, judgments, queries)
    depth = np.bincount(row, minlength=len(queries))
    every = None if rankings.rank is None else (row, rank)
    return Hits(row[at], rank[at], grade, depth, every)


def rows_of(query: Ints, queries: Ints) -> tuple[Ints, Flags]:
    """For each entry of an ascending column, its position in `queries` and whether it is there at all."""
    starts = starts_of_groups(query)
    present = query[starts]
    place = np.searchsorted(queries, present)
    known = np.zeros(len(present), dtype=bool)
    inside = place < len(queries)
    known[inside] = queries[place[inside]] == present[inside]
    counts = np.diff(np.append(starts, len(query)))
    return np.repeat(place, counts), np.repeat(known, counts)


def _look_up(row: Ints, item: Ints, judgments: JudgmentArrays, queries: Ints) -> tuple[Ints, Ints]:
    judged_row, known = rows_of(judgments.query, queries)
    judged_row, judged_item = judged_row[known], judgments.item[known]
    wanted, judged = _keys(row, item, judged_row, judged_item)
    _refuse_repeats(wanted, row, item, queries)
    maybe = np.flatnonzero(_filter(wanted, judged))
    if not len(judged):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    place = np.minimum(np.searchsorted(judged, wanted[maybe]), len(judged) - 1)
    found = judged[place] == wanted[maybe]
    return judgments.grade[known][place[found]].astype(np.int64), maybe[found]


def _keys(row: Ints, item: Ints, judged_row: Ints, judged_item: Ints) -> tuple[Ints, Ints]:
    """One integer for each (row, item), ascending where the judgments are."""
    low = min((int(column.min()) for column in (item, judged_item) if len(column)), default=0)
    high = max((int(column.max()) for column in (item, judged_item) if len(column)), default=0)
    rows = max((int(column.max()) for column in (row, judged_row) if len(column)), default=0) + 1
    span = high - low + 1
    if rows * span >= 2**63:
        _, codes = np.unique(np.concatenate((item, judged_item)), return_inverse=True)
        return _keys(row, codes[: len(item)], judged_row, codes[len(item) :])
    return row * span + (item.astype(np.int64) - low), judged_row * span + (
        judged_item.astype(np.int64) - low
    )


def _refuse_repeats(keys: Ints, row: Ints, item: Ints, queries: Ints) -> None:
    ordered = np.sort(keys)
    repeated = ordered[1:] == ordered[:-1]
    if repeated.any():
        at = int(np.flatnonzero(keys == ordered[:-1][repeated][0])[0])
        raise DataError(
            f"rankings: query {int(queries[row[at]])} has item {int(item[at])} more than once. "
            "A ranking holds each unit once: collapse chunks to units first."
        )


def _filter(wanted: Ints, judged: Ints) -> Flags:
    """Which keys may be among the judged ones: a one-hash filter, so that few keys need the exact search."""
    bits = max(10, int(len(judged) * 16).bit_length())
    shift = np.uint64(64 - bits)
    table = np.zeros(1 << bits, dtype=bool)
    table[(judged.view(np.uint64) * _MIX) >> shift] = True
    flags: Flags = table[(wanted.view(np.uint64) * _MIX) >> shift]
    return flags
