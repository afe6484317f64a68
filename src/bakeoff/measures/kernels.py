"""Measure values from hits: one vector over queries for each measure, all from the same sparse table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from bakeoff.measures.arrays import Flags, Floats, Ints, positions_in_groups, starts_of_groups
from bakeoff.measures.hits import JudgedHits, JudgedItems
from bakeoff.measures.names import Measure

GRADED = frozenset({"nDCG", "nDCG_exp"})
LINEAR = frozenset({"P", "P_unique", "R", "R_cap", "nDCG", "nDCG_exp", "RBP", "Rprec", "Judged"})
_INFAP_EPSILON = 1e-5


@dataclass(frozen=True, slots=True, eq=False)
class RelevantCounts:
    """Relevant hits in order, `nth` counting from 1 inside a row, and `total` relevant items of each row."""

    row: Ints
    rank: Ints
    nth: Ints
    total: Ints


@dataclass(slots=True, eq=False)
class HitBlock:
    """The hits and truth of some queries, with what several measures share computed once."""

    truth: JudgedItems
    pooled: JudgedHits
    rel: int
    hits: JudgedHits = field(init=False)
    _relevant: dict[int, RelevantCounts] = field(default_factory=dict)
    _ideal: dict[tuple[str, int | None], Floats] = field(default_factory=dict)

    def __post_init__(self) -> None:
        judged = self.pooled.grade >= 0
        self.hits = self.pooled if judged.all() else self.pooled.only(judged)

    @property
    def size(self) -> int:
        """Number of queries."""
        return self.truth.size

    def threshold(self, measure: Measure) -> int:
        """The lowest relevant grade for this measure; graded measures count every positive grade."""
        if measure.name in GRADED:
            return 1
        return self.rel if measure.rel is None else measure.rel

    def relevant(self, grade: int) -> RelevantCounts:
        """The hits of that grade or a higher one."""
        if grade not in self._relevant:
            keep = self.hits.grade >= grade
            row = self.hits.row[keep]
            nth = positions_in_groups(starts_of_groups(row), len(row)) + 1
            self._relevant[grade] = RelevantCounts(row, self.hits.rank[keep], nth, self.truth.at_least(grade))
        return self._relevant[grade]

    def ideal(self, name: str, k: int | None) -> Floats:
        """The best possible DCG of each query at depth k."""
        if (name, k) not in self._ideal:
            self._ideal[name, k] = ideal_dcg(self.truth, name, k)
        return self._ideal[name, k]

    def count(self, row: Ints, weights: Floats | None = None) -> Floats:
        """Sum of weights (or number of entries) for each query."""
        return np.bincount(row, weights=weights, minlength=self.size).astype(np.float64, copy=False)


def measure_value(block: HitBlock, measure: Measure) -> Floats:
    """The measure for each query; queries that must be excluded hold 0 here."""
    if measure.name in LINEAR:
        hits = block.hits
        keep = counts_for(block, measure, hits.grade)
        weight = weight_at(block, measure, hits.row, hits.rank) * keep
        total = block.count(hits.row, gain_of(measure, hits.grade) * weight)
        return ratio(total, ideal_norm(block, measure))
    return _OTHERS[measure.name](block, measure)


# --- measures that are a weighted sum over ranks ----------------------------------------------------


def counts_for(block: HitBlock, measure: Measure, grade: Ints) -> Flags:
    """Whether an item of that grade adds to the measure."""
    return grade >= (0 if measure.name == "Judged" else block.threshold(measure))


def gain_of(measure: Measure, grade: Ints) -> Floats:
    """What an item of that grade is worth once it counts."""
    if measure.name == "nDCG":
        return np.maximum(grade, 0).astype(np.float64)
    if measure.name == "nDCG_exp":
        return np.exp2(np.maximum(grade, 0)) - 1.0
    return np.ones(len(grade))


def weight_at(block: HitBlock, measure: Measure, row: Ints, rank: Ints) -> Floats:
    """What a rank is worth, 0 below the cut-off."""
    if measure.name == "Rprec":
        return (rank <= block.relevant(block.threshold(measure)).total[row]).astype(np.float64)
    inside = np.ones(len(rank)) if measure.k is None else (rank <= measure.k).astype(np.float64)
    if measure.name in GRADED:
        return inside / np.log2(rank + 1.0)
    if measure.name == "RBP":
        p = measure.p or 0.0
        return inside * (1 - p) * np.power(p, rank - 1.0)
    return inside


def ideal_norm(block: HitBlock, measure: Measure) -> Floats:
    """What the sum is divided by."""
    if measure.name in GRADED:
        return block.ideal(measure.name, measure.k)
    if measure.name in ("P", "Judged"):
        return np.full(block.size, float(measure.k or 0))
    if measure.name == "P_unique":
        return block.pooled.retrieved(measure.k).astype(np.float64)
    if measure.name == "RBP":
        return np.ones(block.size)
    total = block.relevant(block.threshold(measure)).total.astype(np.float64)
    return np.minimum(total, float(measure.k or 0)) if measure.name == "R_cap" else total


def ideal_dcg(
    truth: JudgedItems, name: str, k: int | None, extra: Ints | None = None, top: Ints | None = None
) -> Floats:
    """DCG of the best order of all judged items, `extra` items of grade `top` being added before them."""
    measure = Measure(name, k)
    place = truth.place if extra is None else truth.place + extra[truth.row]
    keep = truth.grade > 0 if k is None else (truth.grade > 0) & (place < k)
    row, place, grade = truth.row[keep], place[keep], truth.grade[keep]
    discount = discounts(int(place.max(initial=0)) + 1)
    best = np.bincount(row, gain_of(measure, grade) * discount[place], minlength=truth.size).astype(
        np.float64
    )
    if extra is not None and top is not None:
        best = best + gain_of(measure, top) * discount_sum(extra if k is None else np.minimum(extra, k))
    return best


def discounts(depth: int) -> Floats:
    """1/log2(i+1) for i from 1 to depth."""
    return np.asarray(1.0 / np.log2(np.arange(depth) + 2.0))


def discount_sum(depth: Ints) -> Floats:
    """Σ 1/log2(i+1) for i from 1 to each depth."""
    table = np.concatenate(([0.0], np.cumsum(discounts(int(depth.max(initial=0))))))
    return np.asarray(table[depth])


def ratio(total: Floats, by: Floats) -> Floats:
    """total / by, 0 where `by` is 0."""
    return np.divide(total, by, out=np.zeros(len(total)), where=by > 0)


# --- measures that are not --------------------------------------------------------------------------


def first_relevant(block: HitBlock, measure: Measure) -> Ints:
    """Rank of the first relevant result, 0 where there is none."""
    found = block.relevant(block.threshold(measure))
    first = found.nth == 1
    rank = np.zeros(block.size, dtype=np.int64)
    rank[found.row[first]] = found.rank[first]
    return rank


def _hit(block: HitBlock, measure: Measure) -> Floats:
    rank = first_relevant(block, measure)
    return ((rank > 0) & (rank <= (measure.k or 0))).astype(np.float64)


def _reciprocal_rank(block: HitBlock, measure: Measure) -> Floats:
    rank = first_relevant(block, measure)
    counted = rank > 0 if measure.k is None else (rank > 0) & (rank <= measure.k)
    return np.divide(1.0, rank, out=np.zeros(block.size), where=counted)


def _average_precision(block: HitBlock, measure: Measure) -> Floats:
    found = block.relevant(block.threshold(measure))
    keep = slice(None) if measure.k is None else found.rank <= measure.k
    total = block.count(found.row[keep], (found.nth / found.rank)[keep])
    return ratio(total, found.total.astype(np.float64))


def above(row: Ints, marked: Flags) -> Ints:
    """For each hit, how many marked hits of its row stand before it."""
    running: Ints = np.cumsum(marked) - marked
    starts = starts_of_groups(row)
    base: Ints = np.repeat(running[starts], np.diff(np.append(starts, len(row))))
    return np.asarray(running - base)


def _bpref(block: HitBlock, measure: Measure) -> Floats:
    rel, hits = block.threshold(measure), block.hits
    total = block.truth.at_least(rel)
    wrong = block.truth.at_least(0) - total
    keep = hits.grade >= rel
    row = hits.row[keep]
    before = above(hits.row, ~keep)[keep]
    most = np.minimum(wrong, total)[row]
    share = np.divide(np.minimum(before, total[row]), most, out=np.zeros(len(row)), where=most > 0)
    return ratio(block.count(row, 1.0 - share), total.astype(np.float64))


def _inferred_ap(block: HitBlock, measure: Measure) -> Floats:
    rel, hits = block.threshold(measure), block.pooled
    keep = hits.grade >= rel
    row, rank = hits.row[keep], hits.rank[keep]
    right = above(hits.row, keep)[keep]
    wrong = above(hits.row, (hits.grade >= 0) & ~keep)[keep]
    unknown = above(hits.row, hits.grade < 0)[keep]
    precision = (right + _INFAP_EPSILON) / (right + wrong + 2 * _INFAP_EPSILON)
    # At rank 1 nothing stands above, so the second term is 0 as published.
    expected = 1.0 / rank + (right + wrong + unknown) / rank * precision
    return ratio(block.count(row, expected), block.truth.at_least(rel).astype(np.float64))


_OTHERS: dict[str, Callable[[HitBlock, Measure], Floats]] = {
    "Hit": _hit,
    "RR": _reciprocal_rank,
    "AP": _average_precision,
    "bpref": _bpref,
    "infAP": _inferred_ap,
}
