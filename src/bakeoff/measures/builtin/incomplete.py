"""Measures made for incomplete judgments: bpref and inferred AP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bakeoff.measures.definitions import Cutoff, MeasureDefinition
from bakeoff.measures.lazy import kernels, np
from bakeoff.measures.reference import RankedGrades, Variant

if TYPE_CHECKING:
    from bakeoff.measures.arrays import Floats, Ints
    from bakeoff.measures.kernels import HitBlock
    from bakeoff.measures.names import Measure
    from bakeoff.measures.ties import TiedRange

_EPSILON = 1e-5


class BinaryPreference(MeasureDefinition):
    name = "bpref"
    formula = "1/R Σ over relevant retrieved of 1 − min(judged non-relevant above, R) / min(N, R)"
    meaning = (
        "How rarely a judged non-relevant item is ranked above a relevant one; unjudged items are ignored."
    )
    ceiling = "1"
    cutoff = Cutoff.NONE
    params = ("rel",)
    long_names = ("binary_preference",)
    note = "N = number of judged non-relevant items."

    def score(self, ranked: RankedGrades, measure: Measure) -> float:
        total, least = ranked.relevant(measure), ranked.threshold(measure)
        most = min(sum(0 <= grade < least for grade in ranked.judged), total)
        wrong, terms = 0, []
        for grade in ranked.grades:
            if grade is None or grade < 0:
                continue
            if grade >= least:
                terms.append(1 - min(wrong, total) / most if most else 1.0)
            else:
                wrong += 1
        return sum(terms) / total

    def values(self, block: HitBlock, measure: Measure) -> Floats:
        rel, hits = block.threshold(measure), block.hits
        total = block.truth.at_least(rel)
        wrong = block.truth.at_least(0) - total
        keep = hits.grade >= rel
        row = hits.row[keep]
        before = kernels.count_before(hits.row, ~keep)[keep]
        most = np.minimum(wrong, total)[row]
        share = np.divide(np.minimum(before, total[row]), most, out=np.zeros(len(row)), where=most > 0)
        return kernels.ratio(block.count(row, 1.0 - share), total.astype(np.float64))

    def expected_value(self, tied: TiedRange, block: HitBlock, measure: Measure) -> Floats:
        """Within a group, the number of non-relevant results before a relevant one is uniform from none to all."""
        rel = block.threshold(measure)
        groups = tied.groups(rel)
        total = block.truth.at_least(rel)
        most = np.minimum(block.truth.at_least(0) - total, total)[groups.row].astype(np.float64)
        cap = total[groups.row].astype(np.float64)
        capped = _capped_sum(groups.wrong_above + groups.wrong, cap) - _capped_sum(
            groups.wrong_above - 1, cap
        )
        share = np.divide(capped / (groups.wrong + 1), most, out=np.zeros(len(cap)), where=most > 0)
        return kernels.ratio(
            block.count(groups.row, groups.relevant * (1.0 - share)), total.astype(np.float64)
        )

    def variants(self, ranked: RankedGrades, measure: Measure) -> Iterator[Variant]:
        if all(grade < 0 or grade >= ranked.threshold(measure) for grade in ranked.judged):
            reason = "is NaN where no non-relevant item was judged; here each relevant result counts 1"
            yield Variant("ranx", None, reason)


def _capped_sum(last: Ints, cap: Floats) -> Floats:
    """Σ min(x, cap) for x from 0 to last."""
    free = np.minimum(last, cap)
    return np.where(last < 0, 0.0, free * (free + 1) / 2 + (last - free) * cap)


class InferredAP(MeasureDefinition):
    name = "infAP"
    formula = (
        "1/R Σ over relevant i of 1/i + (i−1)/i · pooled/(i−1) · (rel+ε)/(rel+nonrel+2ε), counted above i"
    )
    meaning = "Average precision estimated when only a random part of the pool was judged."
    ceiling = "1"
    cutoff = Cutoff.NONE
    params = ("rel",)
    long_names = ("inferred_ap", "infap")
    note = "ε = 1e-5; a negative grade marks an item that was pooled but not judged."
    has_tie_range = False  # a tied result that was only pooled looks like an unjudged one

    def score(self, ranked: RankedGrades, measure: Measure) -> float:
        least = ranked.threshold(measure)
        right = wrong = pooled = 0
        terms = []
        for rank, grade in enumerate(ranked.grades, start=1):
            if grade is None:
                continue
            if grade >= least:
                precision = (right + _EPSILON) / (right + wrong + 2 * _EPSILON)
                terms.append(1 / rank + (right + wrong + pooled) / rank * precision)
            right, wrong, pooled = (
                right + (grade >= least),
                wrong + (0 <= grade < least),
                pooled + (grade < 0),
            )
        return sum(terms) / ranked.relevant(measure)

    def values(self, block: HitBlock, measure: Measure) -> Floats:
        rel, hits = block.threshold(measure), block.pooled
        keep = hits.grade >= rel
        row, rank = hits.row[keep], hits.rank[keep]
        right = kernels.count_before(hits.row, keep)[keep]
        wrong = kernels.count_before(hits.row, (hits.grade >= 0) & ~keep)[keep]
        unknown = kernels.count_before(hits.row, hits.grade < 0)[keep]
        precision = (right + _EPSILON) / (right + wrong + 2 * _EPSILON)
        # At rank 1 nothing is above, so the second term is 0 as published.
        expected = 1.0 / rank + (right + wrong + unknown) / rank * precision
        return kernels.ratio(block.count(row, expected), block.truth.at_least(rel).astype(np.float64))
