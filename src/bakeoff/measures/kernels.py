"""The hits of a block of queries as arrays, with counts that measures share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from bakeoff.measures.arrays import Flags, Floats, Ints, positions_in_groups, starts_of_groups
from bakeoff.measures.definitions import Bounds
from bakeoff.measures.hits import JudgedHits, JudgedItems
from bakeoff.measures.names import Measure
from bakeoff.measures.reference import RankedGrades


@dataclass(frozen=True, slots=True, eq=False)
class RelevantHits:
    """Relevant results in order: row, rank, and `nth` counting from 1 inside a row."""

    row: Ints
    rank: Ints
    nth: Ints


@dataclass(slots=True, eq=False)
class HitBlock:
    """Hits and truth of some queries; shared intermediate values are computed once."""

    truth: JudgedItems
    pooled: JudgedHits
    rel: int
    hits: JudgedHits = field(init=False)
    _relevant: dict[int, RelevantHits] = field(default_factory=dict)
    _ideal: dict[tuple[str, int | None], Floats] = field(default_factory=dict)

    def __post_init__(self) -> None:
        judged = self.pooled.grade >= 0
        self.hits = self.pooled if judged.all() else self.pooled.only(judged)

    @property
    def size(self) -> int:
        """Number of queries."""
        return self.truth.size

    def threshold(self, measure: Measure) -> int:
        """The lowest relevant grade for this measure."""
        return measure.definition.threshold(measure, self.rel)

    def relevant(self, measure: Measure) -> RelevantHits:
        """Results relevant for this measure, at any rank."""
        grade = self.threshold(measure)
        if grade not in self._relevant:
            keep = self.hits.grade >= grade
            row = self.hits.row[keep]
            nth = positions_in_groups(starts_of_groups(row), len(row)) + 1
            self._relevant[grade] = RelevantHits(row, self.hits.rank[keep], nth)
        return self._relevant[grade]

    def first_relevant(self, measure: Measure) -> Ints:
        """Rank of the first relevant result, 0 if there is none."""
        found = self.relevant(measure)
        first = found.nth == 1
        rank = np.zeros(self.size, dtype=np.int64)
        rank[found.row[first]] = found.rank[first]
        return rank

    def count(self, row: Ints, weights: Floats | None = None) -> Floats:
        """Sum of weights (or number of entries) per query."""
        return np.bincount(row, weights=weights, minlength=self.size).astype(np.float64, copy=False)

    def count_relevant(self, measure: Measure) -> Floats:
        """R: relevant items per query, retrieved or not."""
        return self.truth.at_least(self.threshold(measure)).astype(np.float64)

    def count_hits(self, measure: Measure) -> Floats:
        """h_k: relevant results in each query's top k."""
        found = self.relevant(measure)
        return self.count(found.row if measure.k is None else found.row[found.rank <= measure.k])

    def count_unjudged(self, k: int | None) -> Floats:
        """Unjudged results down to rank k."""
        inside = slice(None) if k is None else self.hits.rank <= k
        return self.pooled.retrieved_counts(k) - self.count(self.hits.row[inside])

    def count_unjudged_below(self, k: int | None) -> Floats:
        """Unjudged results below rank k."""
        return self.count_unjudged(None) - self.count_unjudged(k)

    def ideal_dcg(self, name: str, gain: Gain, k: int | None) -> Floats:
        """Best possible DCG of each query at depth k; `name` identifies the gain."""
        if (name, k) not in self._ideal:
            self._ideal[name, k] = ideal_dcg(self.truth, gain, k)
        return self._ideal[name, k]

    def rankings(self) -> Iterator[RankedGrades]:
        """Grades of each query in plain Python; None for a rank without a judged result."""
        rows = np.arange(self.size + 1)
        hits, truth = np.searchsorted(self.pooled.row, rows), np.searchsorted(self.truth.row, rows)
        length = self.pooled.length()
        for row in range(self.size):
            grades: list[int | None] = [None] * int(length[row])
            for at in range(hits[row], hits[row + 1]):
                grades[self.pooled.rank[at] - 1] = int(self.pooled.grade[at])
            yield RankedGrades(grades, self.truth.grade[truth[row] : truth[row + 1]].tolist(), self.rel)


Gain = Callable[[Ints], Floats]
"""Worth of items by grade."""


def bounds(block: HitBlock, measure: Measure, point: Floats) -> tuple[Floats, Floats]:
    """Lower and upper value per query over unjudged results; NaN if the measure has none."""
    definition = measure.definition
    gaps = block.pooled.every is not None and not definition.bounds_by_count
    if definition.bounds is Bounds.NONE or gaps:
        return np.full(block.size, np.nan), np.full(block.size, np.nan)
    low, high = definition.bound_values(block, measure, point)
    if definition.bounds is Bounds.RANGE:
        return np.minimum(np.minimum(point, high), low), np.maximum(point, high)
    return low, high


def ideal_dcg(
    truth: JudgedItems, gain: Gain, k: int | None, *, extra: Ints | None = None, top: Ints | None = None
) -> Floats:
    """DCG of the best order of all judged items, with `extra` items of grade `top` added first."""
    place = truth.place if extra is None else truth.place + extra[truth.row]
    keep = truth.grade > 0 if k is None else (truth.grade > 0) & (place < k)
    row, place, grade = truth.row[keep], place[keep], truth.grade[keep]
    discount = discounts(int(place.max(initial=0)) + 1)
    best = np.bincount(row, gain(grade) * discount[place], minlength=truth.size).astype(np.float64)
    if extra is not None and top is not None:
        best = best + gain(top) * discount_sum(extra if k is None else np.minimum(extra, k))
    return best


def discounts(depth: int) -> Floats:
    """1/log2(i+1) for i from 1 to depth."""
    return np.asarray(1.0 / np.log2(np.arange(depth) + 2.0))


def discount_sum(depth: Ints) -> Floats:
    """Σ 1/log2(i+1) for i from 1 to each depth."""
    table = np.concatenate(([0.0], np.cumsum(discounts(int(depth.max(initial=0))))))
    return np.asarray(table[depth])


def ratio(total: Floats, by: Floats) -> Floats:
    """total / by; 0 where `by` is 0."""
    return np.divide(total, by, out=np.zeros(len(total)), where=by > 0)


def count_before(row: Ints, marked: Flags) -> Ints:
    """Number of marked hits before each hit in its row."""
    running: Ints = np.cumsum(marked) - marked
    starts = starts_of_groups(row)
    base: Ints = np.repeat(running[starts], np.diff(np.append(starts, len(row))))
    return np.asarray(running - base)
