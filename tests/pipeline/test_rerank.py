from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from bakeoff.errors import RerankerError
from bakeoff.pipeline.rerank import rerank_rows
from bakeoff.types import Hits

PASSAGES = ["a cat", "a dog and a dog", "a bird", "dog", "fish"]


class Counter:
    """Scores a passage by how often it holds the query."""

    def rerank(self, query: str, passages: Sequence[str]) -> np.ndarray:
        return np.array([passage.count(query) for passage in passages])


def hits(ids: list[int]) -> Hits:
    return Hits(np.array(ids), np.linspace(1, 0, len(ids)))


def test_the_head_by_the_new_scores_and_the_tail_behind_it() -> None:
    found = rerank_rows(Counter(), "dog", hits([0, 3, 1, 4, 2]), PASSAGES, depth=3)
    assert found.ids.tolist() == [1, 3, 0, 4, 2]
    assert found.scores.tolist() == [2.0, 1.0, 0.0, -1.0, -2.0]


def test_equal_scores_in_the_order_of_ids() -> None:
    assert rerank_rows(Counter(), "zebra", hits([4, 2, 0]), PASSAGES).ids.tolist() == [0, 2, 4]


def test_nothing_to_rerank() -> None:
    assert rerank_rows(Counter(), "dog", hits([]), PASSAGES).ids.tolist() == []


@pytest.mark.parametrize("scores", [[1.0], [1.0, np.nan], [[1.0, 2.0]]])
def test_unusable_scores(scores: list[float]) -> None:
    class Faulty:
        def rerank(self, query: str, passages: Sequence[str]) -> np.ndarray:
            return np.array(scores)

    with pytest.raises(RerankerError, match=r"2 passages gave scores of shape"):
        rerank_rows(Faulty(), "dog", hits([0, 1]), PASSAGES)
