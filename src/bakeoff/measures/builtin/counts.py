"""Measures that count relevant results in the top k: precision, recall, hits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from bakeoff.measures.builtin.weighted_sum import WeightedSum
from bakeoff.measures.definitions import Bounds, Cutoff, MeasureDefinition
from bakeoff.measures.lazy import kernels, np, ties
from bakeoff.measures.reference import RankedGrades, Variant, count_unjudged, score

if TYPE_CHECKING:
    from bakeoff.measures.arrays import Flags, Floats, Ints
    from bakeoff.measures.kernels import HitBlock
    from bakeoff.measures.names import Measure
    from bakeoff.measures.ties import TiedRange


class Precision(WeightedSum):
    name = "P"
    formula = "h_k / k"
    meaning = (
        "Share of the first k results that are relevant; a short list is filled up with non-relevant ones."
    )
    ceiling = "min(1, R/k)"
    bounds = Bounds.BOTH
    bounds_by_count = True
    params = ("rel",)
    long_names: ClassVar[tuple[str, ...]] = ("precision",)
    note = "Never divided by the number returned."

    def score(self, ranked: RankedGrades, measure: Measure) -> float:
        return len(ranked.hit_ranks(measure)) / (measure.k or 1)

    def norm(self, block: HitBlock, measure: Measure) -> Floats:
        return np.full(block.size, float(measure.k or 0))

    def bound_values(self, block: HitBlock, measure: Measure, point: Floats) -> tuple[Floats, Floats]:
        return point, point + kernels.ratio(block.count_unjudged(measure.k), self.norm(block, measure))

    def variants(self, ranked: RankedGrades, measure: Measure) -> Iterator[Variant]:
        returned = len(ranked.grades[: measure.k])
        found = len(ranked.hit_ranks(measure))
        by_returned = found / returned if returned else None
        yield Variant("divided by returned", by_returned, "short lists are not filled up to k")
        yield Variant("divided by R", score(ranked, replace(measure, name="R")), "that is recall")


class PrecisionUnique(Precision):
    name = "P_unique"
    formula = "relevant units / distinct units among the first k chunks"
    meaning = "Share of the distinct units behind the first k chunks that are relevant."
    ceiling = "1"
    long_names = ("precision_unique",)
    note = "k counts chunks, the fraction counts units; it is not precision."
    chunk_depth = True

    def score(self, ranked: RankedGrades, measure: Measure) -> float:
        return len(ranked.hit_ranks(measure)) / max(1, len(ranked.grades[: measure.k]))

    def norm(self, block: HitBlock, measure: Measure) -> Floats:
        return block.pooled.retrieved_counts(measure.k).astype(np.float64)

    def variants(self, ranked: RankedGrades, measure: Measure) -> Iterator[Variant]:
        return iter(())


class Recall(WeightedSum):
    name = "R"
    formula = "h_k / R"
    meaning = "Share of all relevant items that are among the first k results."
    ceiling = "min(1, k/R)"
    bounds = Bounds.UPPER
    bounds_by_count = True
    params = ("rel",)
    long_names: ClassVar[tuple[str, ...]] = ("recall",)
    budget = True

    def score(self, ranked: RankedGrades, measure: Measure) -> float:
        return len(ranked.hit_ranks(measure)) / ranked.relevant(measure)

    def norm(self, block: HitBlock, measure: Measure) -> Floats:
        return np.minimum(block.count_relevant(measure), self.most(measure))

    def most(self, measure: Measure) -> float:
        """The largest denominator."""
        return float("inf")

    def bound_values(self, block: HitBlock, measure: Measure, point: Floats) -> tuple[Floats, Floats]:
        found, more = block.count_hits(measure), block.count_unjudged(measure.k)
        total, most = block.count_relevant(measure), self.most(measure)
        low = kernels.ratio(found, np.minimum(total + block.count_unjudged_below(measure.k), most))
        return low, kernels.ratio(found + more, np.minimum(total + more, most))

    def variants(self, ranked: RankedGrades, measure: Measure) -> Iterator[Variant]:
        found = len(ranked.hit_ranks(measure))
        capped = score(ranked, replace(measure, name="R_cap"))
        yield Variant("divided by min(k, R)", capped, "capped recall, here R_cap@k")
        yield Variant("divided by k", found / (measure.k or 1), "that is precision")
        yield Variant("any hit", float(found > 0), "some tools call a hit recall")


class RecallCapped(Recall):
    name = "R_cap"
    formula = "h_k / min(k, R)"
    meaning = "Relevant items among the first k, as a share of the most that could be there."
    ceiling = "1"
    long_names = ("recall_capped", "recall_cap")
    budget = False

    def score(self, ranked: RankedGrades, measure: Measure) -> float:
        return len(ranked.hit_ranks(measure)) / min(measure.k or 1, ranked.relevant(measure))

    def most(self, measure: Measure) -> float:
        return float(measure.k or 0)

    def variants(self, ranked: RankedGrades, measure: Measure) -> Iterator[Variant]:
        return iter(())


class RPrecision(WeightedSum):
    name = "Rprec"
    formula = "h_R / R"
    meaning = "Precision at the depth that could hold every relevant item."
    ceiling = "1"
    cutoff = Cutoff.NONE
    bounds = Bounds.RANGE
    params = ("rel",)
    long_names = ("r_precision", "rprec")

    def score(self, ranked: RankedGrades, measure: Measure) -> float:
        total = ranked.relevant(measure)
        return sum(rank <= total for rank in ranked.hit_ranks(measure)) / total

    def weight(self, block: HitBlock, measure: Measure, row: Ints, rank: Ints) -> Floats:
        return (rank <= block.count_relevant(measure)[row]).astype(np.float64)

    def norm(self, block: HitBlock, measure: Measure) -> Floats:
        return block.count_relevant(measure)

    def bound_values(self, block: HitBlock, measure: Measure, point: Floats) -> tuple[Floats, Floats]:
        hits = block.hits
        total = block.count_relevant(measure) + block.count_unjudged(None)
        wrong = (hits.grade < block.threshold(measure)) & (hits.rank <= total[hits.row])
        inside: Ints = np.minimum(block.pooled.depth, total.astype(np.int64))
        return point, kernels.ratio(inside - block.count(hits.row[wrong]), total)


class JudgedShare(WeightedSum):
    name = "Judged"
    formula = "judged items in the top k / k"
    meaning = "Share of the first k results that somebody judged; how far the other measures can be trusted."
    ceiling = "min(1, judged/k)"
    long_names = ("judged",)
    needs_relevant = False

    def score(self, ranked: RankedGrades, measure: Measure) -> float:
        top = ranked.grades[: measure.k]
        return (len(top) - count_unjudged(top)) / (measure.k or 1)

    def counts(self, block: HitBlock, measure: Measure, grade: Ints) -> Flags:
        return grade >= 0

    def norm(self, block: HitBlock, measure: Measure) -> Floats:
        return np.full(block.size, float(measure.k or 0))


class Hit(MeasureDefinition):
    name = "Hit"
    formula = "1 if h_k > 0, else 0"
    meaning = "Whether any of the first k results is relevant."
    ceiling = "1"
    bounds = Bounds.BOTH
    bounds_by_count = True
    params = ("rel",)
    long_names = ("hit", "success", "hit_rate")
    budget = True

    def score(self, ranked: RankedGrades, measure: Measure) -> float:
        return float(bool(ranked.hit_ranks(measure)))

    def values(self, block: HitBlock, measure: Measure) -> Floats:
        rank = block.first_relevant(measure)
        return ((rank > 0) & (rank <= (measure.k or 0))).astype(np.float64)

    def bound_values(self, block: HitBlock, measure: Measure, point: Floats) -> tuple[Floats, Floats]:
        return point, np.maximum(point, block.count_unjudged(measure.k) > 0)

    def expected_value(self, tied: TiedRange, block: HitBlock, measure: Measure) -> Floats:
        """1 - probability that no relevant result of any group falls in the top k."""
        groups = tied.groups(block.threshold(measure))
        inside = np.clip((measure.k or 0) - groups.above, 0, groups.size).astype(np.float64)
        size, wrong = groups.size.astype(np.float64), (groups.size - groups.relevant).astype(np.float64)
        missed = np.exp(ties.log_choose(wrong, inside) - ties.log_choose(size, inside))
        none = np.ones(block.size)
        np.multiply.at(none, groups.row, missed)
        return 1.0 - none
