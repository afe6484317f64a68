"""Rankings and judgments as integer arrays, checked on entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bakeoff.errors import DataError

Ints = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class RankingArrays:
    """Results in served order, rows grouped by ascending query.

    `rank` counts from 1 and is set only if ranks have gaps (a unit takes the rank of its first chunk).
    `id_order` is each row's position among all ids in string order, needed if ties are broken by id.
    """

    query: Ints
    item: Ints
    score: Floats
    rank: Ints | None = None
    id_order: Ints | None = None
    checked: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        if self.checked:
            return
        _same_length("rankings", query=self.query, item=self.item, score=self.score)
        if not ascending(self.query):
            raise DataError(
                "rankings: rows are not grouped by ascending query. Use RankingArrays.from_columns."
            )
        # One sum is cheaper than testing every score; only NaN or infinity makes it NaN or infinite.
        if not np.isfinite(self.score.sum()) and np.isnan(self.score).any():
            where = int(self.query[np.flatnonzero(np.isnan(self.score))[0]])
            raise DataError(
                f"rankings: query {where} has a result whose score is NaN; a score must be a number."
            )

    def __len__(self) -> int:
        return len(self.query)

    @classmethod
    def from_columns(cls, query: Ints, rank: Ints, item: Ints, score: Floats) -> RankingArrays:
        """Build rankings from columns in any row order; a query's ranks must run from 1 (or 0) without gaps."""
        _same_length("rankings", query=query, rank=rank, item=item, score=score)
        if not (ascending(query) and _first_wrong_rank(query, rank) is None):
            order = np.lexsort((rank, query))
            query, rank, item, score = query[order], rank[order], item[order], score[order]
            _refuse_wrong_rank(query, rank)
        return cls(query, item, np.asarray(score, dtype=np.float64))

    def rows(self, start: int, stop: int) -> RankingArrays:
        """A view of consecutive rows."""
        cut = slice(start, stop)
        return RankingArrays(
            self.query[cut],
            self.item[cut],
            self.score[cut],
            None if self.rank is None else self.rank[cut],
            None if self.id_order is None else self.id_order[cut],
            checked=True,
        )

    def blocks(self, size: int) -> Iterator[RankingArrays]:
        """Yield views of about `size` rows, each with whole queries."""
        start = 0
        while start < len(self):
            stop = min(start + size, len(self))
            if stop < len(self):
                stop = int(np.searchsorted(self.query, self.query[stop - 1], side="right"))
            yield self.rows(start, stop)
            start = stop


@dataclass(frozen=True, slots=True, eq=False)
class JudgmentArrays:
    """Grades of items, sorted by query and item; a negative grade means pooled but not judged."""

    query: Ints
    item: Ints
    grade: Ints
    checked: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        if self.checked:
            return
        _same_length("judgments", query=self.query, item=self.item, grade=self.grade)
        if not ascending(self.query, self.item):
            raise DataError(
                "judgments: rows are not sorted by query and item. Use JudgmentArrays.from_columns."
            )
        twice = (self.query[1:] == self.query[:-1]) & (self.item[1:] == self.item[:-1])
        if twice.any():
            at = int(np.flatnonzero(twice)[0])
            where = f"query {int(self.query[at])}, item {int(self.item[at])}"
            raise DataError(
                f"judgments: {where} is judged twice. Keep one judgment for each item of a query."
            )

    def __len__(self) -> int:
        return len(self.query)

    @classmethod
    def from_columns(cls, query: Ints, item: Ints, grade: Ints) -> JudgmentArrays:
        """Build judgments from columns in any row order."""
        _same_length("judgments", query=query, item=item, grade=grade)
        if not ascending(query, item):
            order = np.lexsort((item, query))
            query, item, grade = query[order], item[order], grade[order]
        return cls(query, item, grade)

    def between(self, first: int, last: int) -> JudgmentArrays:
        """A view of the judgments of queries first to last, inclusive."""
        # A bound of another type would make numpy convert the whole column.
        limits = np.iinfo(self.query.dtype)
        if first > limits.max:
            return JudgmentArrays(self.query[:0], self.item[:0], self.grade[:0], checked=True)
        low, high = np.clip([first, last], limits.min, limits.max).astype(self.query.dtype)
        start = int(np.searchsorted(self.query, low, side="left"))
        stop = int(np.searchsorted(self.query, high, side="right"))
        cut = slice(start, stop)
        return JudgmentArrays(self.query[cut], self.item[cut], self.grade[cut], checked=True)


def ascending(major: Ints, minor: Ints | None = None) -> bool:
    """Whether rows are in ascending order of `major`, then of `minor`."""
    if (major[1:] < major[:-1]).any():
        return False
    return minor is None or not ((minor[1:] < minor[:-1]) & (major[1:] == major[:-1])).any()


def starts_of_groups(keys: Ints) -> Ints:
    """First position of each run of equal values."""
    if not len(keys):
        return np.zeros(0, dtype=np.int64)
    return np.concatenate(([0], np.flatnonzero(keys[1:] != keys[:-1]) + 1))


def distinct(keys: Ints) -> Ints:
    """Distinct values of an ascending column."""
    return np.asarray(keys[starts_of_groups(keys)])


def union(left: Ints, right: Ints) -> Ints:
    """Union of two ascending columns of distinct values."""
    return left if np.array_equal(left, right) else np.union1d(left, right)


def positions_in_groups(starts: Ints, total: int) -> Ints:
    """Distance of each of `total` positions from the start of its group, from 0."""
    return np.arange(total) - np.repeat(starts, np.diff(np.append(starts, total)))


def _same_length(what: str, **columns: Any) -> None:
    lengths: Mapping[str, int] = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(
            f"{what}: columns differ in length: {', '.join(f'{n} {c}' for n, c in lengths.items())}."
        )


def _first_wrong_rank(query: Ints, rank: Ints) -> int | None:
    """First row whose rank differs from its position."""
    if not len(rank):
        return None
    base = int(rank[0])
    if base not in (0, 1):
        return 0
    expected = rank[:-1] + 1
    expected[query[1:] != query[:-1]] = base
    wrong = rank[1:] != expected
    return int(np.argmax(wrong)) + 1 if wrong.any() else None


def _refuse_wrong_rank(query: Ints, rank: Ints) -> None:
    at = _first_wrong_rank(query, rank)
    if at is not None:
        raise DataError(
            f"rankings: query {int(query[at])} has rank {int(rank[at])} where another was expected; "
            "ranks must be 1, 2, 3 … (or 0, 1, 2 …) without gaps or repeats."
        )
