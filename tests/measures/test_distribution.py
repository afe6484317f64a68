"""Shares of first ranks."""

import numpy as np
import pytest

from bakeoff.measures.arrays import JudgmentArrays, RankingArrays
from bakeoff.measures.distribution import RankShares, first_ranks, rank_shares


def test_shares_add_up_and_queries_without_truth_are_left_out() -> None:
    assert rank_shares(np.array([1, 1, 2, 3, 4, 10, 11, 0])) == RankShares(0.25, 0.25, 0.25, 0.125, 0.125, 8)
    query = np.repeat([0, 1, 2], 3)
    rankings = RankingArrays(query, np.tile([1, 2, 3], 3), np.tile([3.0, 2.0, 1.0], 3))
    judgments = JudgmentArrays(np.array([0, 1, 3]), np.array([3, 9, 1]), np.array([1, 1, 1]))
    assert first_ranks(rankings, judgments).tolist() == [3, 0, 0]


@pytest.mark.parametrize("rank", [1, 7, 49, 999, 99_991])
def test_ranks_survive_the_reciprocal(rank: int) -> None:
    from bakeoff.measures.distribution import ranks_from

    assert ranks_from(np.array([1.0 / rank, np.nan])).tolist() == [rank]
