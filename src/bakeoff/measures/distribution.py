"""Where the first relevant result stands: shares of queries, the honest reading of MRR (C-24)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bakeoff.measures.arrays import Floats, Ints, JudgmentArrays, RankingArrays
from bakeoff.measures.conventions import DEFAULT, Conventions
from bakeoff.measures.evaluate import evaluate
from bakeoff.measures.names import Measure


@dataclass(frozen=True, slots=True)
class RankShares:
    """Shares of `queries` whose first relevant result is at rank 1, 2–3, 4–10, deeper, or nowhere."""

    at_1: float
    at_2_to_3: float
    at_4_to_10: float
    deeper: float
    none: float
    queries: int


def first_ranks(
    rankings: RankingArrays, judgments: JudgmentArrays, conventions: Conventions = DEFAULT
) -> Ints:
    """Rank of the first relevant result of each query that has relevant items, 0 where none was retrieved."""
    reciprocal = evaluate(rankings, judgments, [Measure("RR")], conventions=conventions).values[:, 0]
    return ranks_from(reciprocal)


def ranks_from(reciprocal: Floats) -> Ints:
    """Ranks from reciprocal ranks at full depth; queries without a value are left out."""
    there = reciprocal[~np.isnan(reciprocal)]
    ranks = np.divide(1.0, there, out=np.zeros(len(there)), where=there > 0)
    return np.rint(ranks).astype(np.int64)


def rank_shares(ranks: Ints) -> RankShares:
    """The shares of first ranks (0 = none)."""
    size = len(ranks)

    def share(low: float, high: float) -> float:
        return float(((ranks >= low) & (ranks <= high)).sum()) / max(1, size)

    return RankShares(share(1, 1), share(2, 3), share(4, 10), share(11, np.inf), share(0, 0), size)
