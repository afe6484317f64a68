"""fuse: two rankings of one query → one, by reciprocal rank."""

from __future__ import annotations

import time

from bakeoff.modes import Hybrid
from bakeoff.stages.retrieve import Leg
from bakeoff.types import Hits


def reciprocal_rank(legs: tuple[Leg, Leg], params: Hybrid, k: int) -> Leg:
    """The fused answers; the milliseconds are those of fusing alone, measured once."""
    import numpy as np

    answers, milliseconds = [], []
    for dense, keyword in zip(legs[0].hits, legs[1].hits, strict=True):
        begin = time.perf_counter_ns()
        answers.append(_fused(dense, keyword, params, k))
        milliseconds.append((time.perf_counter_ns() - begin) / 1e6)
    repeats = len(legs[0].milliseconds)
    return Leg(tuple(answers), np.tile(milliseconds, (repeats, 1)), all(leg.steady for leg in legs))


def _fused(dense: Hits, keyword: Hits, params: Hybrid, k: int) -> Hits:
    """Each row's weight over (rrf_k + rank), added up; equal sums in the order of their ids."""
    import numpy as np

    ids = np.concatenate([dense.ids, keyword.ids])
    parts = [
        params.dense_weight / (params.rrf_k + np.arange(1, len(dense.ids) + 1)),
        params.keyword_weight / (params.rrf_k + np.arange(1, len(keyword.ids) + 1)),
    ]
    rows, place = np.unique(ids, return_inverse=True)
    sums = np.bincount(place, weights=np.concatenate(parts), minlength=len(rows))
    order = np.lexsort((rows, -sums))[:k]
    return Hits(rows[order], sums[order])
