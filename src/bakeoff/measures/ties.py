"""Effect of tied scores on a measure: its value in the worst, best and average order of tied results (F17).

Expected values are exact: a weighted sum uses the mean weight of tied ranks, the others have closed forms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bakeoff.measures.arrays import (
    Flags,
    Floats,
    Ints,
    RankingArrays,
    distinct,
    positions_in_groups,
    starts_of_groups,
)
from bakeoff.measures.hits import UNJUDGED, JudgedHits
from bakeoff.measures.kernels import HitBlock
from bakeoff.measures.names import Measure


@dataclass(frozen=True, slots=True, eq=False)
class TiedRange:
    """Every result of a block: row, rank, grade (UNJUDGED if none), and its group of equal scores."""

    row: Ints
    rank: Ints
    grade: Ints
    group: Ints
    starts: Ints
    sizes: Ints

    def per_group(self, values: Ints | Floats | Flags) -> Floats:
        """Sum over each group."""
        return np.add.reduceat(values, self.starts).astype(np.float64)

    def mean_over_group(self, values: Floats) -> Floats:
        """Mean over each result's group."""
        return (self.per_group(values) / self.sizes)[self.group]

    def groups(self, rel: int) -> TieGroups:
        """The groups of equal scores with their contents; `rel` is the lowest relevant grade."""
        right = self.per_group(self.grade >= rel).astype(np.int64)
        wrong = self.per_group((self.grade >= 0) & (self.grade < rel)).astype(np.int64)
        row = self.row[self.starts]
        first = np.repeat(starts_of_groups(row), np.diff(np.append(starts_of_groups(row), len(row))))
        right_before, wrong_before = np.cumsum(right) - right, np.cumsum(wrong) - wrong
        return TieGroups(
            row=row,
            above=self.rank[self.starts] - 1,
            size=self.sizes,
            relevant=right,
            wrong=wrong,
            relevant_above=right_before - right_before[first],
            wrong_above=wrong_before - wrong_before[first],
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TieGroups:
    """Tie groups: row, rank above, size, relevant and judged non-relevant members, and those above."""

    row: Ints
    above: Ints
    size: Ints
    relevant: Ints
    wrong: Ints
    relevant_above: Ints
    wrong_above: Ints

    def members(self, tied: TiedRange) -> tuple[Floats, Floats, Floats]:
        """For each result: its position in its group from 1, the group's size, and its number of relevant
        members."""
        place = (tied.rank - self.above[tied.group]).astype(np.float64)
        size, relevant = (part[tied.group].astype(np.float64) for part in (self.size, self.relevant))
        return place, size, relevant


def tied_queries(rankings: RankingArrays) -> Ints:
    """Queries where two neighbouring results have the same score."""
    equal = (rankings.score[1:] == rankings.score[:-1]) & (rankings.query[1:] == rankings.query[:-1])
    return distinct(rankings.query[1:][equal])


def tied_of(rankings: RankingArrays, row: Ints, block: HitBlock) -> TiedRange:
    """Tie groups of a block whose rankings hold just these rows, in served order without gaps."""
    starts = starts_of_groups(row)
    place = positions_in_groups(starts, len(row))
    new = np.ones(len(row), dtype=bool)
    new[1:] = (rankings.score[1:] != rankings.score[:-1]) | (row[1:] != row[:-1])
    firsts = np.flatnonzero(new)
    grade = np.full(len(row), UNJUDGED)
    offset = np.zeros(block.size, dtype=np.int64)
    offset[row[starts]] = starts
    hits = block.pooled
    grade[offset[hits.row] + hits.rank - 1] = np.maximum(hits.grade, UNJUDGED)
    return TiedRange(row, place + 1, grade, np.cumsum(new) - 1, firsts, np.diff(np.append(firsts, len(row))))


def order_ties(tied: TiedRange, block: HitBlock, *, best: bool) -> HitBlock:
    """The block with tied results in their best or worst order."""
    order = np.lexsort((-tied.grade if best else tied.grade, tied.group))
    grade = tied.grade[order]
    keep = grade != UNJUDGED
    hits = JudgedHits(tied.row[keep], tied.rank[keep], grade[keep], block.pooled.depth)
    return HitBlock(block.truth, hits, block.rel)


def tie_range(tied: TiedRange, block: HitBlock, measure: Measure) -> tuple[Floats, Floats, Floats]:
    """Lowest, highest and expected value; NaN if the order of tied results can't change the value."""
    if not measure.definition.has_tie_range:
        return tuple(np.full(block.size, np.nan) for _ in range(3))  # type: ignore[return-value]
    value = measure.definition.values
    ends = [value(order_ties(tied, block, best=best), measure) for best in (False, True)]
    low, high = np.minimum(*ends), np.maximum(*ends)
    mean = measure.definition.expected_value(tied, block, measure)
    same = high - low <= 1e-12
    return np.where(same, np.nan, low), np.where(same, np.nan, high), np.where(same, np.nan, mean)


def log_choose(n: Floats, m: Floats) -> Floats:
    """log C(n, m) of whole numbers, -inf where it is zero."""
    possible = (m >= 0) & (m <= n)
    all_, some = (np.where(possible, part, 0).astype(np.int64) for part in (n, m))
    log_factorial = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, int(all_.max(initial=0)) + 1)))))
    return np.where(possible, log_factorial[all_] - log_factorial[some] - log_factorial[all_ - some], -np.inf)
