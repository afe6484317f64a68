"""F61: an nDCG whose discount follows the place in the truth, so that every order of the results scores alike."""

from __future__ import annotations

from itertools import permutations
from math import log2

import pytest

from bakeoff.measures.api import evaluate

pytestmark = pytest.mark.usefixtures("way")
QRELS = {"q": {"a": 1, "b": 1}}


def test_f61_the_discount_follows_the_rank_in_the_results() -> None:
    ideal = 1 + 1 / log2(3)
    for order in permutations(["a", "b", "x", "y"]):
        ranks = [rank for rank, name in enumerate(order, 1) if name in QRELS["q"]]
        expected = sum(1 / log2(rank + 1) for rank in ranks) / ideal
        value = evaluate(QRELS, {"q": order}, ["nDCG@4"]).mean["nDCG@4"]
        assert value == pytest.approx(expected, abs=1e-9), order


def test_f61_found_last_scores_less_than_found_first() -> None:
    first = evaluate(QRELS, {"q": ["a", "b", "x", "y"]}, ["nDCG@4"]).mean["nDCG@4"]
    last = evaluate(QRELS, {"q": ["x", "y", "a", "b"]}, ["nDCG@4"]).mean["nDCG@4"]
    assert first == pytest.approx(1.0) and last is not None and last < 0.6
