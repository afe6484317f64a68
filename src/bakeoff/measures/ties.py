"""What tied scores do to a measure: its value in the worst, best and average order of tied results (F17).

Expected values are exact: a weighted sum takes the mean weight of tied ranks, the others have closed forms.
"""

from __future__ import annotations

from collections.abc import Callable
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
from bakeoff.measures.kernels import (
    LINEAR,
    HitBlock,
    counts_for,
    gain_of,
    ideal_norm,
    measure_value,
    ratio,
    weight_at,
)
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
        """For each result, the mean over its group."""
        return (self.per_group(values) / self.sizes)[self.group]


def tied_queries(rankings: RankingArrays) -> Ints:
    """The queries in which two neighbouring results have the same score."""
    equal = (rankings.score[1:] == rankings.score[:-1]) & (rankings.query[1:] == rankings.query[:-1])
    return distinct(rankings.query[1:][equal])


def tied_of(rankings: RankingArrays, row: Ints, block: HitBlock) -> TiedRange:
    """The tie groups of a block whose rankings hold just these rows, in served order without gaps."""
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


def extreme_value(tied: TiedRange, block: HitBlock, *, best: bool) -> HitBlock:
    """The block as it would be with tied results in their best or worst order."""
    order = np.lexsort((-tied.grade if best else tied.grade, tied.group))
    grade = tied.grade[order]
    keep = grade != UNJUDGED
    hits = JudgedHits(tied.row[keep], tied.rank[keep], grade[keep], block.pooled.depth)
    return HitBlock(block.truth, hits, block.rel)


def expected_value(tied: TiedRange, block: HitBlock, measure: Measure) -> Floats:
    """The mean of the measure over all orders of tied results; NaN where no closed form is known."""
    if measure.name in LINEAR:
        weight = tied.mean_over_group(weight_at(block, measure, tied.row, tied.rank))
        gain = gain_of(measure, tied.grade) * counts_for(block, measure, tied.grade)
        return ratio(block.count(tied.row, gain * weight), ideal_norm(block, measure))
    known = _CLOSED_FORMS.get(measure.name)
    return np.full(block.size, np.nan) if known is None else known(tied, block, measure)


def tie_range(tied: TiedRange, block: HitBlock, measure: Measure) -> tuple[Floats, Floats, Floats]:
    """Lowest, highest and expected value; NaN where the order of tied results cannot change the value."""
    if measure.name == "infAP":
        return tuple(np.full(block.size, np.nan) for _ in range(3))  # type: ignore[return-value]
    low = measure_value(extreme_value(tied, block, best=False), measure)
    high = measure_value(extreme_value(tied, block, best=True), measure)
    mean = expected_value(tied, block, measure)
    same = high - low <= 1e-12
    return np.where(same, np.nan, low), np.where(same, np.nan, high), np.where(same, np.nan, mean)


# --- closed forms -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Groups:
    """Tie groups: row, rank above, size, relevant and judged non-relevant members, and those above."""

    row: Ints
    above: Ints
    size: Ints
    relevant: Ints
    wrong: Ints
    relevant_above: Ints
    wrong_above: Ints


def _groups(tied: TiedRange, rel: int) -> _Groups:
    right = tied.per_group(tied.grade >= rel).astype(np.int64)
    wrong = tied.per_group((tied.grade >= 0) & (tied.grade < rel)).astype(np.int64)
    row = tied.row[tied.starts]
    first = np.repeat(starts_of_groups(row), np.diff(np.append(starts_of_groups(row), len(row))))
    right_before, wrong_before = np.cumsum(right) - right, np.cumsum(wrong) - wrong
    return _Groups(
        row,
        tied.rank[tied.starts] - 1,
        tied.sizes,
        right,
        wrong,
        right_before - right_before[first],
        wrong_before - wrong_before[first],
    )


def _log_choose(n: Floats, m: Floats) -> Floats:
    """log C(n, m) of whole numbers, -inf where it is zero."""
    possible = (m >= 0) & (m <= n)
    all_, some = (np.where(possible, part, 0).astype(np.int64) for part in (n, m))
    log_factorial = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, int(all_.max(initial=0)) + 1)))))
    return np.where(possible, log_factorial[all_] - log_factorial[some] - log_factorial[all_ - some], -np.inf)


def _hit(tied: TiedRange, block: HitBlock, measure: Measure) -> Floats:
    """1 - probability that no relevant result of any group falls in the top k."""
    g = _groups(tied, block.threshold(measure))
    inside = np.clip((measure.k or 0) - g.above, 0, g.size).astype(np.float64)
    size, wrong = g.size.astype(np.float64), (g.size - g.relevant).astype(np.float64)
    missed = np.exp(_log_choose(wrong, inside) - _log_choose(size, inside))
    none = np.ones(block.size)
    np.multiply.at(none, g.row, missed)
    return 1.0 - none


def _reciprocal_rank(tied: TiedRange, block: HitBlock, measure: Measure) -> Floats:
    """Σ over ranks of the first group with a relevant result, of P(the first one is here) / rank."""
    g = _groups(tied, block.threshold(measure))
    here = (g.relevant > 0) & (g.relevant_above == 0)
    place = (tied.rank - g.above[tied.group]).astype(np.float64)
    size, right = g.size[tied.group].astype(np.float64), g.relevant[tied.group].astype(np.float64)
    keep = here[tied.group] & ((tied.rank <= measure.k) if measure.k is not None else True)
    chance = np.exp(_log_choose(size - place, right - 1) - _log_choose(size, right))
    return block.count(tied.row[keep], (chance / tied.rank)[keep])


def _average_precision(tied: TiedRange, block: HitBlock, measure: Measure) -> Floats:
    rel = block.threshold(measure)
    g = _groups(tied, rel)
    place = (tied.rank - g.above[tied.group]).astype(np.float64)
    size, right = g.size[tied.group].astype(np.float64), g.relevant[tied.group].astype(np.float64)
    others = np.divide(right - 1, size - 1, out=np.zeros(len(size)), where=size > 1)
    found = g.relevant_above[tied.group] + 1 + (place - 1) * others
    term = right / size * found / tied.rank
    keep = slice(None) if measure.k is None else tied.rank <= measure.k
    return ratio(block.count(tied.row[keep], term[keep]), block.relevant(rel).total.astype(np.float64))


def _bpref(tied: TiedRange, block: HitBlock, measure: Measure) -> Floats:
    """In a group, the non-relevant results before a relevant one are uniform from none to all."""
    rel = block.threshold(measure)
    g = _groups(tied, rel)
    total = block.truth.at_least(rel)
    most = np.minimum(block.truth.at_least(0) - total, total)[g.row].astype(np.float64)
    cap = total[g.row].astype(np.float64)
    capped = _capped_sum(g.wrong_above + g.wrong, cap) - _capped_sum(g.wrong_above - 1, cap)
    share = np.divide(capped / (g.wrong + 1), most, out=np.zeros(len(cap)), where=most > 0)
    return ratio(block.count(g.row, g.relevant * (1.0 - share)), total.astype(np.float64))


def _capped_sum(last: Ints, cap: Floats) -> Floats:
    """Σ min(x, cap) for x from 0 to last."""
    free = np.minimum(last, cap)
    return np.where(last < 0, 0.0, free * (free + 1) / 2 + (last - free) * cap)


_CLOSED_FORMS: dict[str, Callable[[TiedRange, HitBlock, Measure], Floats]] = {
    "Hit": _hit,
    "RR": _reciprocal_rank,
    "AP": _average_precision,
    "bpref": _bpref,
}
