"""Lower and upper values over unjudged results: what a measure could be, were all that was retrieved judged."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bakeoff.measures.arrays import Floats, Ints
from bakeoff.measures.definitions import Bounds
from bakeoff.measures.kernels import HitBlock, above, discount_sum, gain_of, ideal_dcg, ideal_norm, ratio
from bakeoff.measures.names import Measure

_BY_COUNT = frozenset({"P", "P_unique", "R", "R_cap", "Hit"})


def bounds(block: HitBlock, measure: Measure, point: Floats) -> tuple[Floats, Floats]:
    """Lower and upper value for each query; NaN where the measure has none."""
    gaps = block.pooled.every is not None and measure.name not in _BY_COUNT
    if measure.definition.bounds is Bounds.NONE or gaps:
        return np.full(block.size, np.nan), np.full(block.size, np.nan)
    low, high = _ENDS[measure.name](block, measure, point)
    if measure.definition.bounds is Bounds.RANGE:
        return np.minimum(np.minimum(point, high), low), np.maximum(point, high)
    return low, high


def _count_unjudged(block: HitBlock, k: int | None) -> Floats:
    """Unjudged results at rank k or above."""
    hits = block.hits
    inside = slice(None) if k is None else hits.rank <= k
    return block.pooled.retrieved(k) - block.count(hits.row[inside])


def _below(block: HitBlock, k: int | None) -> Floats:
    """Unjudged results below rank k."""
    return _count_unjudged(block, None) - _count_unjudged(block, k)


def _count_relevant(block: HitBlock, measure: Measure) -> Floats:
    hits = block.relevant(block.threshold(measure))
    return block.count(hits.row[hits.rank <= (measure.k or 0)])


def _precision(block: HitBlock, measure: Measure, point: Floats) -> tuple[Floats, Floats]:
    return point, point + ratio(_count_unjudged(block, measure.k), ideal_norm(block, measure))


def _hit(block: HitBlock, measure: Measure, point: Floats) -> tuple[Floats, Floats]:
    return point, np.maximum(point, _count_unjudged(block, measure.k) > 0)


def _recall(block: HitBlock, measure: Measure, _: Floats) -> tuple[Floats, Floats]:
    found, more = _count_relevant(block, measure), _count_unjudged(block, measure.k)
    total = block.relevant(block.threshold(measure)).total.astype(np.float64)
    cap = float(measure.k or 0) if measure.name == "R_cap" else np.inf
    low = ratio(found, np.minimum(total + _below(block, measure.k), cap))
    return low, ratio(found + more, np.minimum(total + more, cap))


def _reciprocal_rank(block: HitBlock, measure: Measure, point: Floats) -> tuple[Floats, Floats]:
    """Upper: RR if the first result that is not judged non-relevant were relevant."""
    hits = block.hits
    wrong = hits.grade < block.threshold(measure)
    prefix = wrong & (above(hits.row, wrong) + 1 == hits.rank)
    first = block.count(hits.row[prefix]) + 1
    within = first <= block.pooled.retrieved(measure.k)
    return point, np.divide(1.0, first, out=np.zeros(block.size), where=within)


def _rbp(block: HitBlock, measure: Measure, point: Floats) -> tuple[Floats, Floats]:
    p, hits = measure.p or 0.0, block.hits
    wrong = hits.grade < block.threshold(measure)
    if measure.k is not None:
        wrong &= hits.rank <= measure.k
    lost = block.count(hits.row[wrong], (1 - p) * np.power(p, hits.rank[wrong] - 1.0))
    seen = 1.0 - np.power(p, block.pooled.retrieved(measure.k).astype(np.float64))
    return point, seen - lost


def _ndcg(block: HitBlock, measure: Measure, point: Floats) -> tuple[Floats, Floats]:
    hits, top, truth = block.hits, block.truth.top_grade(), block.truth
    inside = slice(None) if measure.k is None else hits.rank <= measure.k
    taken = block.count(hits.row[inside], (1.0 / np.log2(hits.rank + 1.0))[inside])
    free = discount_sum(block.pooled.retrieved(measure.k)) - taken
    dcg = point * block.ideal(measure.name, measure.k)
    more = _count_unjudged(block, measure.k).astype(np.int64)
    best = ideal_dcg(truth, measure.name, measure.k, more, top)
    worst = ideal_dcg(truth, measure.name, measure.k, _below(block, measure.k).astype(np.int64), top)
    return ratio(dcg, worst), ratio(dcg + gain_of(measure, top) * free, best)


def _average_precision(block: HitBlock, measure: Measure, point: Floats) -> tuple[Floats, Floats]:
    """AP if every unjudged result in the top k were relevant, from the judged non-relevant ones only."""
    hits, rel = block.hits, block.threshold(measure)
    depth = block.pooled.retrieved(measure.k)
    wrong = (hits.grade < rel) & (hits.rank <= depth[hits.row])
    row, rank = hits.row[wrong], hits.rank[wrong]
    nth = above(hits.row, hits.grade < rel)[wrong] + 1
    # Σ (1 − N_i/i) over all ranks i, N_i non-relevant ones down to i, less the terms of non-relevant ranks.
    harmonic = np.concatenate(([0.0], np.cumsum(1.0 / np.arange(1, int(depth.max(initial=0)) + 1))))
    lost = harmonic[depth[row]] - harmonic[rank - 1] + 1.0 - nth / rank
    total = block.relevant(rel).total
    high = ratio(depth - block.count(row, lost), total + _count_unjudged(block, measure.k))
    return ratio(point * total, total + _below(block, measure.k)), high


def _r_precision(block: HitBlock, measure: Measure, point: Floats) -> tuple[Floats, Floats]:
    hits, rel = block.hits, block.threshold(measure)
    total = block.relevant(rel).total + _count_unjudged(block, None)
    wrong = (hits.grade < rel) & (hits.rank <= total[hits.row])
    inside: Ints = np.minimum(block.pooled.depth, total.astype(np.int64))
    return point, ratio(inside - block.count(hits.row[wrong]), total)


_ENDS: dict[str, Callable[[HitBlock, Measure, Floats], tuple[Floats, Floats]]] = {
    "P": _precision,
    "P_unique": _precision,
    "R": _recall,
    "R_cap": _recall,
    "Hit": _hit,
    "RR": _reciprocal_rank,
    "RBP": _rbp,
    "AP": _average_precision,
    "nDCG": _ndcg,
    "nDCG_exp": _ndcg,
    "Rprec": _r_precision,
}
