"""F14: an nDCG whose ideal uses only the relevant items found, or that ignores the order."""

from __future__ import annotations

from itertools import permutations

import pytest

from bakeoff.measures.api import evaluate

pytestmark = pytest.mark.usefixtures("way")
QRELS = {"q": {f"d{number}": 1 for number in range(5)}}


def test_f14_one_hit_at_rank_one_is_not_perfect() -> None:
    value = evaluate(QRELS, {"q": ["d0", "x", "y"]}, ["nDCG@10"]).mean["nDCG@10"]
    assert value == pytest.approx(1 / 2.948459, abs=1e-6)


def test_f14_the_order_counts() -> None:
    grades = {"q": {"a": 3, "b": 2, "c": 1}}
    best = evaluate(grades, {"q": ["a", "b", "c"]}, ["nDCG@3"]).mean["nDCG@3"]
    reversed_ = evaluate(grades, {"q": ["c", "b", "a"]}, ["nDCG@3"]).mean["nDCG@3"]
    assert best == pytest.approx(1.0)
    assert reversed_ == pytest.approx(0.7899980, abs=1e-6)


def test_f14_only_the_ideal_order_of_everything_reaches_one() -> None:
    for order in permutations(["a", "b", "c", "x", "y"]):
        value = evaluate({"q": {"a": 3, "b": 2, "c": 1}}, {"q": order}, ["nDCG@5"]).mean["nDCG@5"]
        assert value is not None
        assert (value == pytest.approx(1.0)) == (order[:3] == ("a", "b", "c")), order
