"""Joins rankings and judgments: only judged results are kept, so the cost depends on what was judged."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

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
class JudgedItems:
    """Judgments by row (the position of a query in `queries`), grades descending within a row."""

    queries: Ints
    row: Ints
    grade: Ints
    place: Ints
    _at_least: dict[int, Ints] = field(default_factory=dict, init=False, repr=False)

    @property
    def size(self) -> int:
        """Number of queries."""
        return len(self.queries)

    def at_least(self, grade: int) -> Ints:
        """Number of items per query with at least that grade."""
        if grade not in self._at_least:
            self._at_least[grade] = np.bincount(self.row[self.grade >= grade], minlength=self.size)
        return self._at_least[grade]

    def top_grade(self) -> Ints:
        """Highest grade of each query, at least 1."""
        top = np.ones(self.size, dtype=np.int64)
        first = self.place == 0
        top[self.row[first]] = np.maximum(self.grade[first], 1)
        return top


@dataclass(frozen=True, slots=True, eq=False)
class JudgedHits:
    """Retrieved items with a judgment: row, rank from 1, grade; ordered by row and rank.

    `depth` is the number of results per row; `every` holds row and rank of all results if ranks have gaps.
    """

    row: Ints
    rank: Ints
    grade: Ints
    depth: Ints
    every: tuple[Ints, Ints] | None = None

    def retrieved_counts(self, k: int | None) -> Ints:
        """Number of results per row down to rank k."""
        if k is None:
            return self.depth
        if self.every is None:
            return np.minimum(self.depth, k)
        row, rank = self.every
        return np.bincount(row[rank <= k], minlength=len(self.depth))

    def length(self) -> Ints:
        """Last rank of each row."""
        if self.every is None:
            return self.depth
        last = np.zeros(len(self.depth), dtype=np.int64)
        np.maximum.at(last, *self.every)
        return last

    def only(self, keep: Flags) -> JudgedHits:
        """The hits marked by `keep`."""
        return replace(self, row=self.row[keep], rank=self.rank[keep], grade=self.grade[keep])


def truth_of(judgments: JudgmentArrays, queries: Ints) -> JudgedItems:
    """Judgments of these queries (ascending), grades descending."""
    groups = groups_of(judgments.query, queries)
    grade = judgments.grade if groups.every is None else judgments.grade[groups.every]
    return truth_from(np.repeat(groups.row, groups.counts), grade.astype(np.int64), queries)


def truth_from(row: Ints, grade: Ints, queries: Ints) -> JudgedItems:
    """Build judged items from rows (ascending) and grades."""
    # Sorting one combined integer is several times faster than sorting by two keys.
    top, bottom = (int(grade.max()), int(grade.min())) if len(grade) else (0, 0)
    combined = np.sort(row * (top - bottom + 1) + (top - grade))
    row, below = np.divmod(combined, top - bottom + 1)
    return JudgedItems(queries, row, top - below, positions_in_groups(starts_of_groups(row), len(row)))


def hits_of(rankings: RankingArrays, judgments: JudgmentArrays, queries: Ints) -> JudgedHits:
    """Judged results of these queries (ascending); a repeated item is an error."""
    groups = groups_of(rankings.query, queries)
    item = rankings.item if groups.every is None else rankings.item[groups.every]
    at, grade = _look_up(groups, item, judgments, queries)
    group = np.searchsorted(groups.starts, at, side="right") - 1
    row = groups.row[group]
    depth = np.zeros(len(queries), dtype=np.int64)
    depth[groups.row] = groups.counts
    if rankings.rank is None:
        return JudgedHits(row, at - groups.starts[group] + 1, grade, depth)
    rank = rankings.rank if groups.every is None else rankings.rank[groups.every]
    return JudgedHits(row, rank[at], grade, depth, (np.repeat(groups.row, groups.counts), rank))


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Runs of equal queries in a column, for the requested queries: row, first position and length.

    `every` marks their positions, and is None if all belong.
    """

    row: Ints
    starts: Ints
    counts: Ints
    every: Flags | None


def groups_of(query: Ints, queries: Ints) -> Groups:
    """Groups of an ascending column; positions count only what belongs to `queries`."""
    starts = starts_of_groups(query)
    counts = np.diff(np.append(starts, len(query)))
    present = query[starts]
    row = np.searchsorted(queries, present)
    known = np.zeros(len(present), dtype=bool)
    inside = row < len(queries)
    known[inside] = queries[row[inside]] == present[inside]
    if known.all():
        return Groups(row, starts, counts, None)
    kept = counts[known]
    return Groups(row[known], np.cumsum(kept) - kept, kept, np.repeat(known, counts))


def _look_up(groups: Groups, item: Ints, judgments: JudgmentArrays, queries: Ints) -> tuple[Ints, Ints]:
    """Positions and grades of the results that are judged."""
    truth = groups_of(judgments.query, queries)
    keep: slice | Flags = slice(None) if truth.every is None else truth.every
    wanted, judged = _keys(groups, item, truth, judgments.item[keep])
    _refuse_repeats(wanted, groups, item, queries)
    if not len(judged):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    maybe = np.flatnonzero(_filter(wanted, judged))
    likely = wanted[maybe]
    place = np.minimum(np.searchsorted(judged, likely), len(judged) - 1)
    found = judged[place] == likely
    return maybe[found], judgments.grade[keep][place[found]].astype(np.int64)


def _keys(groups: Groups, item: Ints, truth: Groups, judged: Ints) -> tuple[Ints, Ints]:
    """One integer per (row, item), ascending like the judgments."""
    low = min((int(column.min()) for column in (item, judged) if len(column)), default=0)
    high = max((int(column.max()) for column in (item, judged) if len(column)), default=0)
    rows = max((int(part.row[-1]) for part in (groups, truth) if len(part.row)), default=0) + 1
    span = high - low + 1
    if rows * span >= 2**63:
        _, codes = np.unique(np.concatenate((item, judged)), return_inverse=True)
        return _keys(groups, codes[: len(item)], truth, codes[len(item) :])
    return (
        np.repeat(groups.row * span - low, groups.counts) + item,
        np.repeat(truth.row * span - low, truth.counts) + judged,
    )


def _refuse_repeats(keys: Ints, groups: Groups, item: Ints, queries: Ints) -> None:
    even = len(groups.counts) > 0 and (groups.counts == groups.counts[0]).all()
    # Many short sorts are cheaper than a long one, and rows of one length allow that.
    ordered = np.sort(keys.reshape(len(groups.counts), -1), axis=1).ravel() if even else np.sort(keys)
    repeated = ordered[1:] == ordered[:-1]
    if repeated.any():
        at = int(np.flatnonzero(keys == ordered[:-1][repeated][0])[0])
        row = groups.row[np.searchsorted(groups.starts, at, side="right") - 1]
        raise DataError(
            f"rankings: query {int(queries[row])} has item {int(item[at])} more than once. "
            "A ranking holds each unit once: collapse chunks to units first."
        )


def _filter(wanted: Ints, judged: Ints) -> Flags:
    """Mask of keys that may be judged: a one-hash filter, so that few keys need the exact search."""
    bits = max(10, int(len(judged) * 16).bit_length())
    shift = np.uint64(64 - bits)
    table = np.zeros(1 << bits, dtype=bool)
    table[(judged.view(np.uint64) * _MIX) >> shift] = True
    flags: Flags = table[(wanted.view(np.uint64) * _MIX) >> shift]
    return flags
