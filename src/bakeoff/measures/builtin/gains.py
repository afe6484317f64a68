"""nDCG with linear and with exponential gain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import log2
from typing import TYPE_CHECKING

from bakeoff.measures.builtin.weighted_sum import WeightedSum
from bakeoff.measures.definitions import Bounds, Cutoff
from bakeoff.measures.lazy import kernels, np
from bakeoff.measures.reference import RankedGrades, Variant, dcg, score

if TYPE_CHECKING:
    from bakeoff.measures.arrays import Floats, Ints
    from bakeoff.measures.kernels import HitBlock
    from bakeoff.measures.names import Measure


class NDCG(WeightedSum):
    """Base of both nDCG variants; `gain` and `plain_gain` are the worth of a grade, in arrays and in plain
    Python."""

    ceiling = "1"
    cutoff = Cutoff.OPTIONAL
    bounds = Bounds.RANGE
    graded = True
    budget = True

    def plain_gain(self, grade: int) -> float:
        raise NotImplementedError

    def score(self, ranked: RankedGrades, measure: Measure) -> float:
        got = sum(
            self.plain_gain(ranked.grades[rank - 1] or 0) / log2(rank + 1)
            for rank in ranked.hit_ranks(measure)
        )
        best = sorted([grade for grade in ranked.judged if grade > 0], reverse=True)
        return got / dcg([self.plain_gain(grade) for grade in best[: measure.k]])

    def weight(self, block: HitBlock, measure: Measure, row: Ints, rank: Ints) -> Floats:
        return super().weight(block, measure, row, rank) / np.log2(rank + 1.0)

    def norm(self, block: HitBlock, measure: Measure) -> Floats:
        return block.ideal_dcg(self.name, self.gain, measure.k)

    def bound_values(self, block: HitBlock, measure: Measure, point: Floats) -> tuple[Floats, Floats]:
        hits, top, k = block.hits, block.truth.top_grade(), measure.k
        inside = slice(None) if k is None else hits.rank <= k
        discount = block.count(hits.row[inside], (1.0 / np.log2(hits.rank + 1.0))[inside])
        free = kernels.discount_sum(block.pooled.retrieved_counts(k)) - discount
        reached = point * self.norm(block, measure)
        more, below = (
            count(k).astype(np.int64) for count in (block.count_unjudged, block.count_unjudged_below)
        )
        best = kernels.ideal_dcg(block.truth, self.gain, k, extra=more, top=top)
        worst = kernels.ideal_dcg(block.truth, self.gain, k, extra=below, top=top)
        return kernels.ratio(reached, worst), kernels.ratio(reached + self.gain(top) * free, best)

    def variants(self, ranked: RankedGrades, measure: Measure) -> Iterator[Variant]:
        got = [max(grade or 0, 0) for grade in ranked.grades[: measure.k]]
        judged = sorted((grade for grade in ranked.judged if grade > 0), reverse=True)
        best, hits = judged[: measure.k], sum(grade > 0 for grade in got)
        yield self._other_gain(ranked, measure)
        binary = dcg([float(grade > 0) for grade in got]) / dcg([1.0] * len(best))
        yield Variant("binary gain", binary, "grades above 1 count as 1")
        gains = [self.plain_gain(grade) for grade in got]
        found = dcg(sorted(gains, reverse=True))
        reason = "the ideal holds only what was returned: one hit at rank 1 gives 1.0"
        yield Variant("ideal of found", dcg(gains) / found if found else 0.0, reason)
        short = dcg([self.plain_gain(grade) for grade in best[:hits]])
        reason = "the ideal is as long as the list of relevant items found, so misses cost nothing"
        yield Variant("ideal as long as found", dcg(gains) / short if hits else 0.0, reason)
        all_judged = dcg([self.plain_gain(grade) for grade in judged])
        reason = "the ideal is longer than k, so a perfect top k stays below 1"
        yield Variant("ideal not cut", dcg(gains) / all_judged, reason)

    def _other_gain(self, ranked: RankedGrades, measure: Measure) -> Variant:
        other = replace(measure, name="nDCG" if measure.name == "nDCG_exp" else "nDCG_exp")
        label = "linear gain" if other.name == "nDCG" else "exponential gain"
        reason = f"here {other.name}; ranx's ndcg_burges and scikit-learn differ in this"
        return Variant(label, score(ranked, other), reason)


class LinearNDCG(NDCG):
    name = "nDCG"
    formula = "Σ g_i / log2(i+1) over i ≤ k, divided by the same sum for the best order of all judged items"
    meaning = "How near the order is to the best possible one, early ranks and high grades weighing more."
    long_names = ("ndcg", "ndcg_cut")
    note = "Linear gain."

    def plain_gain(self, grade: int) -> float:
        return float(grade)

    def gain(self, grade: Ints) -> Floats:
        return np.maximum(grade, 0).astype(np.float64)


class ExponentialNDCG(NDCG):
    name = "nDCG_exp"
    formula = "as nDCG with gain 2^g − 1"
    meaning = "nDCG in which each grade is worth about twice the one below it."
    long_names = ("ndcg_exp", "ndcg_exp2", "ndcg_burges")

    def plain_gain(self, grade: int) -> float:
        return float(2**grade - 1)

    def gain(self, grade: Ints) -> Floats:
        return np.exp2(np.maximum(grade, 0)) - 1.0
