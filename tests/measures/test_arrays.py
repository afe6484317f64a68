"""Arrays are checked on entry, and sorted by their builders."""

import numpy as np
import pytest

from bakeoff.errors import DataError
from bakeoff.measures.arrays import JudgmentArrays, RankingArrays


def rankings(query: list[int], rank: list[int], item: list[int]) -> RankingArrays:
    return RankingArrays.from_columns(np.array(query), np.array(rank), np.array(item), -np.array(rank, float))


def test_rows_in_any_order_are_sorted_by_query_and_rank() -> None:
    made = rankings([1, 0, 1, 0], [2, 1, 1, 2], [10, 11, 12, 13])
    assert made.query.tolist() == [0, 0, 1, 1]
    assert made.item.tolist() == [11, 13, 12, 10]


def test_ranks_may_start_at_zero_but_have_no_gaps() -> None:
    assert rankings([0, 0], [0, 1], [5, 6]).item.tolist() == [5, 6]
    with pytest.raises(DataError, match=r"query 0.*rank 3"):
        rankings([0, 0], [1, 3], [5, 6])
    with pytest.raises(DataError, match="rank 2"):
        rankings([0, 0], [2, 3], [5, 6])


def test_nan_scores_unsorted_rows_and_uneven_columns_are_refused() -> None:
    with pytest.raises(DataError, match=r"query 4.*NaN"):
        RankingArrays(np.array([3, 4]), np.array([1, 1]), np.array([1.0, np.nan]))
    with pytest.raises(DataError):
        RankingArrays(np.array([1, 0]), np.array([1, 1]), np.array([1.0, 2.0]))
    with pytest.raises(DataError, match="query 2, item 1"):
        RankingArrays(np.array([1, 0]), np.array([1]), np.array([1.0, 2.0]))
    with pytest.raises(DataError):
        JudgmentArrays.from_columns(np.array([0, 0]), np.array([7, 7]), np.array([1, 1]))
    with pytest.raises(DataError):
        JudgmentArrays(np.array([0, 0]), np.array([7, 6]), np.array([1, 1]))


def test_blocks_hold_whole_queries() -> None:
    made = rankings([0, 0, 0, 1, 2, 2], [1, 2, 3, 1, 1, 2], [1, 2, 3, 1, 1, 2])
    assert [block.query.tolist() for block in made.blocks(2)] == [[0, 0, 0], [1, 2, 2]]
