"""F54: the worse system recommended because a saturated measure gave all systems equal values."""

from __future__ import annotations

import numpy as np
import pytest

from bakeoff.stats.compare import compare
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.evidence import Costs, Evidence
from bakeoff.stats.verdict import Kind, Verdict, decide

COSTS = {"a": Costs(p95_ms=20.0), "b": Costs(p95_ms=20.0), "c": Costs(p95_ms=1.0)}
RATES = {"a": 0.98, "b": 0.98, "c": 0.90}


def matrix(values: np.ndarray, measure: str) -> ScoreMatrix:
    names = tuple("abcdefgh"[: len(values)])
    return ScoreMatrix(names, tuple(f"q{i:03d}" for i in range(values.shape[1])), values, measure)


def judged(values: np.ndarray, measure: str = "nDCG@10") -> Verdict:
    return decide(Evidence(compare(matrix(values, measure), seed=1, resamples=200), costs=COSTS))


@pytest.mark.parametrize("n", [10, 20, 50])
def test_the_cheap_and_worse_system_is_not_recommended(n: int) -> None:
    """True hit rates .98, .98 and .90, the worst the cheapest: it was recommended in a quarter of the rounds."""
    wrong = 0
    for seed in range(25):
        rng = np.random.default_rng([seed, n])
        values = np.array([rng.random(n) < rate for rate in RATES.values()], dtype=float)
        wrong += judged(values, "Hit@10").system == "c"
    assert wrong <= 1


def test_equal_values_of_a_measure_with_room_are_not_equivalence() -> None:
    same = np.tile(np.random.default_rng(1).uniform(0.2, 0.8, 200), (3, 1))
    assert judged(same[:, :10]).kind is Kind.CANT_TELL
    assert (judged(same).kind, judged(same).system) == (Kind.CHEAPER_OF_EQUALS, "c")


def test_a_saturated_measure_decides_nothing() -> None:
    found = judged(np.ones((3, 400)), "R@10")
    assert (found.rule, found.system) == ("saturated", None)


def test_cost_is_judged_for_every_system() -> None:
    """Two fast systems of one speed do not hide that the third takes a thousand times as long."""
    same = np.tile(np.random.default_rng(1).uniform(0.2, 0.8, 200), (3, 1))
    costs = {"a": Costs(p95_ms=0.080), "b": Costs(p95_ms=0.081), "c": Costs(p95_ms=113.0)}
    found = decide(Evidence(compare(matrix(same, "nDCG@10"), seed=1, resamples=200), costs=costs))
    assert (found.rule, found.recommended) == ("cheaper-of-equals", ("a", "b"))
