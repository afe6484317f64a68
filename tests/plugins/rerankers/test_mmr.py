"""MMR keeps the order at relevance 1, and moves copies behind what is new below it."""

import numpy as np
import pytest

from bakeoff.plugins.rerankers.mmr import MmrReranker

PASSAGES = [
    "the cat sleeps all day",
    "the cat sleeps all day",
    "taxes are due in april",
    "a cat sleeps all day",
]


def order(relevance: float, passages: list[str] = PASSAGES) -> list[int]:
    scores = MmrReranker(MmrReranker.Params(relevance=relevance)).rerank("cat", passages)
    return np.argsort(-scores).tolist()


def test_relevance_one_keeps_the_order() -> None:
    assert order(1.0) == [0, 1, 2, 3]


def test_a_copy_stands_behind_what_is_new() -> None:
    assert order(0.2) == [0, 2, 3, 1]


def test_by_hand() -> None:
    """Three passages, the first two equal, the third without a common word: gains 1, 2/3, 1/3 halved, likeness 1 or 0."""
    scores = MmrReranker(MmrReranker.Params(relevance=0.5)).rerank("x", ["a b", "a b", "c d"])
    assert scores.tolist() == [3.0, 1.0, 2.0]  # after the first: copy 1/3 − 1/2 < new 1/6 − 0


@pytest.mark.parametrize("passages", [[], [""], ["", "…", "🗼"]])
def test_passages_without_words(passages: list[str]) -> None:
    scores = MmrReranker(MmrReranker.Params()).rerank("q", passages)
    assert np.isfinite(scores).all() and scores.shape == (len(passages),)
