from __future__ import annotations

import numpy as np
import pytest

from bakeoff.config.modes import Hybrid
from bakeoff.pipeline.fuse import fuse_rankings
from bakeoff.types import Hits


def hits(*ids: int, scores: tuple[float, ...] | None = None) -> Hits:
    values = -np.arange(len(ids), dtype=np.float64) if scores is None else np.array(scores, np.float64)
    return Hits(np.array(ids, np.int64), values)


def test_sums_of_reciprocal_ranks() -> None:
    found = fuse_rankings(hits(7, 3, 5), hits(3, 9), Hybrid(), 10)
    assert found.ids.tolist() == [3, 7, 9, 5]
    assert found.scores.tolist() == pytest.approx([1 / 62 + 1 / 61, 1 / 61, 1 / 62, 1 / 63])


def test_equal_sums_in_the_order_of_ids() -> None:
    found = fuse_rankings(hits(8, 2), hits(2, 8), Hybrid(), 10)
    assert found.ids.tolist() == [2, 8] and found.scores[0] == found.scores[1]


def test_weights_and_the_constant() -> None:
    params = Hybrid(dense_weight=1, keyword_weight=3, rrf_k=1)
    found = fuse_rankings(hits(1, 2), hits(2, 1), params, 10)
    assert found.ids.tolist() == [2, 1]
    assert found.scores.tolist() == pytest.approx([1 / 3 + 3 / 2, 1 / 2 + 3 / 3])


@pytest.mark.parametrize(
    "params", [Hybrid(), Hybrid(fusion="weighted"), Hybrid(fusion="weighted", normalise="z")]
)
def test_the_depth_and_empty_answers(params: Hybrid) -> None:
    assert fuse_rankings(hits(1, 2, 3), hits(), params, 2).ids.tolist() == [1, 2]
    assert fuse_rankings(hits(), hits(4), params, 2).ids.tolist() == [4]
    assert fuse_rankings(hits(), hits(), params, 2).ids.tolist() == []


def test_weighted_scores_from_0_to_1() -> None:
    dense, words = hits(1, 2, 3, scores=(0.9, 0.8, 0.5)), hits(3, 4, scores=(12.0, 4.0))
    found = fuse_rankings(dense, words, Hybrid(fusion="weighted", weight=0.25), 10)
    wanted = {1: 0.25 * 1, 2: 0.25 * 0.75, 3: 0.75 * 1, 4: 0.0}
    assert dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True)) == pytest.approx(wanted)
    assert found.ids.tolist() == [3, 1, 2, 4]


def test_weighted_scores_in_standard_deviations() -> None:
    dense, words = hits(1, 2, scores=(3.0, 1.0)), hits(2, 3, scores=(7.0, 3.0))
    found = fuse_rankings(dense, words, Hybrid(fusion="weighted", weight=0.5, normalise="z"), 10)
    wanted = {1: 0.5 * 1 + 0.5 * -1, 2: 0.5 * -1 + 0.5 * 1, 3: 0.5 * -1 + 0.5 * -1}
    assert dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True)) == pytest.approx(wanted)


def test_the_only_hit_of_a_search_counts_more_than_one_it_did_not_find() -> None:
    for normalise in ("minmax", "z"):
        params = Hybrid(fusion="weighted", weight=0.0, normalise=normalise)
        found = fuse_rankings(hits(1, 2), hits(9, scores=(3.0,)), params, 10)
        assert found.ids[0] == 9 and found.scores[0] > found.scores[1]


def test_the_ends_of_the_weight_are_one_search_alone() -> None:
    dense, words = hits(5, 1, 2), hits(2, 6, 1)
    for weight, alone in ((1.0, dense), (0.0, words)):
        found = fuse_rankings(dense, words, Hybrid(fusion="weighted", weight=weight), 10)
        assert found.ids.tolist()[: len(alone.ids) - 1] == alone.ids.tolist()[:-1]


def test_a_weight_given_for_a_query_is_used_instead() -> None:
    dense, words, params = hits(1, 2), hits(2, 1), Hybrid(fusion="weighted", weight="tuned")
    assert fuse_rankings(dense, words, params, 10, 0.9).ids.tolist() == [1, 2]
    assert fuse_rankings(dense, words, params, 10, 0.1).ids.tolist() == [2, 1]
