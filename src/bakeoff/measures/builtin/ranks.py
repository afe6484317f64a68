"""Measures that weight relevant results by rank: reciprocal rank, average precision, rank-biased precision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from bakeoff.measures.builtin.weighted_sum import WeightedSum
from bakeoff.measures.definitions import Bounds, Cutoff, MeasureDefinition
from bakeoff.measures.lazy import kernels, np, ties
from bakeoff.measures.reference import RankedGrades, Variant, score

if TYPE_CHECKING:
    from bakeoff.measures.arrays import Floats, Ints
    from bakeoff.measures.kernels import HitBlock
    from bakeoff.measures.names import Measure
    from bakeoff.measures.ties import TiedRange


class ReciprocalRank(MeasureDefinition):
    name = "RR"
    formula = "1 / rank of the first relevant result, 0 if none is in the top k"
    meaning = "How early the first relevant result comes; its mean over queries is MRR."
    ceiling = "1"
    cutoff = Cutoff.OPTIONAL
    bounds = Bounds.BOTH
    params = ("rel",)
    long_names = ("mrr", "recip_rank", "reciprocal_rank")
    note = "Without @k the whole retrieved depth counts; its mean is not the reciprocal of a typical rank."
    budget = True

    def score(self, ranked: RankedGrades, measure: Measure) -> float:
        ranks = ranked.hit_ranks(measure)
        return 1 / ranks[0] if ranks else 0.0

    def values(self, block: HitBlock, measure: Measure) -> Floats:
        rank = block.first_relevant(measure)
        counted = rank > 0 if measure.k is None else (rank > 0) & (rank <= measure.k)
        return np.divide(1.0, rank, out=np.zeros(block.size), where=counted)

    def bound_values(self, block: HitBlock, measure: Measure, point: Floats) -> tuple[Floats, Floats]:
        """Upper: RR if the first result not judged non-relevant were relevant."""
        hits = block.hits
        wrong = hits.grade < block.threshold(measure)
        prefix = wrong & (kernels.count_before(hits.row, wrong) + 1 == hits.rank)
        first = block.count(hits.row[prefix]) + 1
        within = first <= block.pooled.retrieved_counts(measure.k)
        return point, np.divide(1.0, first, out=np.zeros(block.size), where=within)

    def expected_value(self, tied: TiedRange, block: HitBlock, measure: Measure) -> Floats:
        """Σ over ranks of the first group with a relevant result, of P(the first one is here) / rank."""
        groups = tied.groups(block.threshold(measure))
        here = (groups.relevant > 0) & (groups.relevant_above == 0)
        place, size, right = groups.members(tied)
        keep = here[tied.group] & ((tied.rank <= measure.k) if measure.k is not None else True)
        chance = np.exp(ties.log_choose(size - place, right - 1) - ties.log_choose(size, right))
        return block.count(tied.row[keep], (chance / tied.rank)[keep])

    def variants(self, ranked: RankedGrades, measure: Measure) -> Iterator[Variant]:
        if measure.k is None:
            value = score(ranked, replace(measure, k=10))
            yield Variant("cut at 10", value, "here RR@10; the depth is part of the name")
        else:
            value = score(ranked, replace(measure, k=None))
            yield Variant("no cut-off", value, "here RR; the depth is part of the name")


class AveragePrecision(MeasureDefinition):
    name = "AP"
    formula = "Σ over relevant i ≤ k of h_i / i, divided by R"
    meaning = "Precision at each relevant result, averaged over all relevant items, found or not."
    ceiling = "min(k, R) / R"
    cutoff = Cutoff.OPTIONAL
    bounds = Bounds.RANGE
    params = ("rel",)
    long_names = ("map", "map_cut", "average_precision")
    budget = True

    def score(self, ranked: RankedGrades, measure: Measure) -> float:
        terms = (found / rank for found, rank in enumerate(ranked.hit_ranks(measure), start=1))
        return sum(terms) / ranked.relevant(measure)

    def values(self, block: HitBlock, measure: Measure) -> Floats:
        found = block.relevant(measure)
        keep = slice(None) if measure.k is None else found.rank <= measure.k
        total = block.count(found.row[keep], (found.nth / found.rank)[keep])
        return kernels.ratio(total, block.count_relevant(measure))

    def bound_values(self, block: HitBlock, measure: Measure, point: Floats) -> tuple[Floats, Floats]:
        """Upper: AP if every unjudged result in the top k were relevant, computed from the judged
        non-relevant ones."""
        hits, depth = block.hits, block.pooled.retrieved_counts(measure.k)
        irrelevant = hits.grade < block.threshold(measure)
        wrong = irrelevant & (hits.rank <= depth[hits.row])
        row, rank = hits.row[wrong], hits.rank[wrong]
        nth = kernels.count_before(hits.row, irrelevant)[wrong] + 1
        # Σ (1 − N_i/i) over all ranks i, N_i non-relevant ones down to i, minus the terms of non-relevant ranks.
        harmonic = np.concatenate(([0.0], np.cumsum(1.0 / np.arange(1, int(depth.max(initial=0)) + 1))))
        lost = harmonic[depth[row]] - harmonic[rank - 1] + 1.0 - nth / rank
        total = block.count_relevant(measure)
        high = kernels.ratio(depth - block.count(row, lost), total + block.count_unjudged(measure.k))
        return kernels.ratio(point * total, total + block.count_unjudged_below(measure.k)), high

    def expected_value(self, tied: TiedRange, block: HitBlock, measure: Measure) -> Floats:
        groups = tied.groups(block.threshold(measure))
        place, size, right = groups.members(tied)
        others = np.divide(right - 1, size - 1, out=np.zeros(len(size)), where=size > 1)
        found = groups.relevant_above[tied.group] + 1 + (place - 1) * others
        term = right / size * found / tied.rank
        keep = slice(None) if measure.k is None else tied.rank <= measure.k
        return kernels.ratio(block.count(tied.row[keep], term[keep]), block.count_relevant(measure))

    def variants(self, ranked: RankedGrades, measure: Measure) -> Iterator[Variant]:
        total, ranks = ranked.relevant(measure), ranked.hit_ranks(measure)
        total_precision = score(ranked, measure) * total
        found = total_precision / len(ranks) if ranks else 0.0
        yield Variant(
            "divided by relevant found", found, "misses are forgotten: finding fewer items can raise it"
        )
        if measure.k is not None:
            yield Variant(
                "divided by min(k, R)", total_precision / min(measure.k, total), "recommender tools' AP@k"
            )


class RankBiasedPrecision(WeightedSum):
    name = "RBP"
    formula = "(1 − p) Σ over relevant i of p^(i−1)"
    meaning = "Expected share of relevant results seen by a reader who reads the next one with probability p."
    ceiling = "1 − p^min(k, R)"
    cutoff = Cutoff.OPTIONAL
    bounds = Bounds.BOTH
    params = ("p", "rel")
    long_names = ("rbp", "rank_biased_precision")
    note = "Binary relevance. The upper value is over retrieved results; the published residual adds p^n."

    def score(self, ranked: RankedGrades, measure: Measure) -> float:
        p = measure.p or 0.0
        return (1 - p) * sum(p ** (rank - 1) for rank in ranked.hit_ranks(measure))

    def weight(self, block: HitBlock, measure: Measure, row: Ints, rank: Ints) -> Floats:
        p = measure.p or 0.0
        return super().weight(block, measure, row, rank) * (1 - p) * np.power(p, rank - 1.0)

    def bound_values(self, block: HitBlock, measure: Measure, point: Floats) -> tuple[Floats, Floats]:
        p, hits = measure.p or 0.0, block.hits
        wrong = hits.grade < block.threshold(measure)
        if measure.k is not None:
            wrong &= hits.rank <= measure.k
        lost = block.count(hits.row[wrong], (1 - p) * np.power(p, hits.rank[wrong] - 1.0))
        seen = 1.0 - np.power(p, block.pooled.retrieved_counts(measure.k).astype(np.float64))
        return point, seen - lost
