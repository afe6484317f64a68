from __future__ import annotations

import numpy as np
import pytest

from bakeoff.modes import Hybrid
from bakeoff.stages.fuse import reciprocal_rank
from bakeoff.stages.retrieve import Leg
from bakeoff.types import Hits


def leg(*answers: list[int], steady: bool = True, repeats: int = 1) -> Leg:
    hits = tuple(Hits(np.array(ids, np.int64), -np.arange(len(ids), dtype=np.float64)) for ids in answers)
    return Leg(hits, np.ones((repeats, len(answers))), steady)


def test_sums_of_reciprocal_ranks() -> None:
    fused = reciprocal_rank((leg([7, 3, 5]), leg([3, 9])), Hybrid(), 10).hits[0]
    assert fused.ids.tolist() == [3, 7, 9, 5]
    assert fused.scores.tolist() == pytest.approx([1 / 62 + 1 / 61, 1 / 61, 1 / 62, 1 / 63])


def test_equal_sums_in_the_order_of_ids() -> None:
    fused = reciprocal_rank((leg([8, 2]), leg([2, 8])), Hybrid(), 10).hits[0]
    assert fused.ids.tolist() == [2, 8] and fused.scores[0] == fused.scores[1]


def test_weights_and_the_constant() -> None:
    params = Hybrid(dense_weight=1, keyword_weight=3, rrf_k=1)
    fused = reciprocal_rank((leg([1, 2]), leg([2, 1])), params, 10).hits[0]
    assert fused.ids.tolist() == [2, 1]
    assert fused.scores.tolist() == pytest.approx([1 / 3 + 3 / 2, 1 / 2 + 3 / 3])


def test_the_depth_and_empty_answers() -> None:
    fused = reciprocal_rank((leg([1, 2, 3], []), leg([], [])), Hybrid(), 2)
    assert [hits.ids.tolist() for hits in fused.hits] == [[1, 2], []]


def test_times_are_those_of_fusing_and_unsteady_stays_unsteady() -> None:
    fused = reciprocal_rank((leg([1], repeats=3), leg([2], steady=False, repeats=3)), Hybrid(), 5)
    assert fused.milliseconds.shape == (3, 1) and 0 < fused.milliseconds[0, 0] < 1000
    assert not fused.steady
