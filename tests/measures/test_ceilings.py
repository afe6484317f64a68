"""Ceilings: the best value a perfect ranking reaches, and it reaches just that."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bakeoff.errors import MeasureError
from bakeoff.measures.arrays import JudgmentArrays, RankingArrays
from bakeoff.measures.ceilings import ceiling, fixed_ceiling
from bakeoff.measures.evaluate import evaluate
from bakeoff.measures.names import parse

NAMES = [
    "P@1",
    "P@5",
    "R@2",
    "R@10",
    "R_cap@3",
    "Hit@1",
    "RR",
    "AP",
    "AP@2",
    "nDCG@3",
    "nDCG_exp@3",
    "Rprec",
    "bpref",
]
NAMES += ["RBP(p=0.8)", "RBP@2(p=0.8)", "Judged@5", "P@5(rel=2)"]
MEASURES = [parse(name) for name in NAMES]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=9))
def test_the_perfect_ranking_reaches_the_ceiling(grades: list[int]) -> None:
    best = sorted(grades, reverse=True)
    size = len(best)
    truth = JudgmentArrays(np.zeros(size, int), np.arange(size), np.array(best))
    perfect = RankingArrays(np.zeros(size, int), np.arange(size), -np.arange(size, dtype=float))
    reached = evaluate(perfect, truth, MEASURES).values[0]
    tops = [float(ceiling(measure, truth)[0]) for measure in MEASURES]
    assert reached == pytest.approx(tops, nan_ok=True, abs=1e-12)


def test_c26_a_target_of_08_is_out_of_reach_with_two_relevant_files() -> None:
    truth = JudgmentArrays(np.array([0, 0, 1]), np.array([1, 2, 1]), np.array([1, 1, 1]))
    assert ceiling(parse("P@5"), truth).tolist() == pytest.approx([0.4, 0.2])
    assert ceiling(parse("P@5"), truth, queries=np.array([1, 9])) == pytest.approx([0.2, np.nan], nan_ok=True)


def test_d3_the_ceiling_of_recall_over_a_hundred() -> None:
    truth = JudgmentArrays(np.zeros(100, int), np.arange(100), np.ones(100, int))
    assert ceiling(parse("R@10"), truth)[0] == pytest.approx(0.1)
    assert fixed_ceiling(parse("R100@10")) == pytest.approx(0.1)
    assert fixed_ceiling(parse("FalseAlarm@0.5")) == 0.0
    with pytest.raises(MeasureError, match="cost"):
        fixed_ceiling(parse("tokens@5"))


def test_no_relevant_items_no_ceiling() -> None:
    truth = JudgmentArrays(np.array([0]), np.array([1]), np.array([0]))
    assert np.isnan(ceiling(parse("P@5"), truth)).all()
