"""Ceilings: the best value a perfect ranking reaches, and it reaches just that."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bakeoff import registry
from bakeoff.measures.arrays import JudgmentArrays, RankingArrays
from bakeoff.measures.ceilings import ceiling, fixed_ceiling
from bakeoff.measures.definitions import MeasureDefinition, RequiredInput
from bakeoff.measures.evaluate import evaluate
from bakeoff.measures.names import Measure, parse
from bakeoff.measures.reference import RankedGrades

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


def declared(name: str, grades: list[int]) -> float:
    """The formula that the documentation gives for the best value."""
    measure = parse(name)
    relevant = sum(grade >= (measure.rel or 1) for grade in grades)
    if measure.name == "Judged":
        return min(1.0, len(grades) / (measure.k or 1))
    if not relevant:
        return float("nan")
    if measure.name == "P":
        return min(1.0, relevant / (measure.k or 1))
    if measure.name == "R" or (measure.name == "AP" and measure.k):
        return min(1.0, (measure.k or 0) / relevant)
    if measure.name == "RBP":
        return 1 - (measure.p or 0) ** min(relevant, measure.k or relevant)
    return 1.0


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=9))
def test_the_ceiling_is_the_declared_one(grades: list[int]) -> None:
    truth = JudgmentArrays(np.zeros(len(grades), int), np.arange(len(grades)), np.array(grades))
    for name in NAMES:
        best = ceiling(parse(name), truth)
        assert best is not None and best[0] == pytest.approx(
            declared(name, grades), nan_ok=True, abs=1e-12
        ), name


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=6).flatmap(st.permutations))
def test_no_ranking_passes_the_ceiling(grades: list[int]) -> None:
    size = len(grades)
    truth = JudgmentArrays(np.zeros(size, int), np.arange(size), np.array(grades))
    bests = [ceiling(measure, truth) for measure in MEASURES]
    for count in range(size + 1):
        some = RankingArrays(np.zeros(count, int), np.arange(count), -np.arange(count, dtype=float))
        reached = evaluate(some, truth, MEASURES).values[0]
        for value, measure, best in zip(reached, MEASURES, bests, strict=True):
            assert best is not None and (np.isnan(value) or value <= best[0] + 1e-12), measure


class F1(MeasureDefinition):
    """A measure from outside that declares no ceiling."""

    name = "F1"
    formula = "2PR / (P + R)"
    meaning = "The harmonic mean of precision and recall."

    def score(self, ranked: RankedGrades, measure: Measure) -> float:
        return 2 * len(ranked.hit_ranks(measure)) / ((measure.k or 0) + ranked.relevant(measure))


class Novel(MeasureDefinition):
    name = "Novel"
    formula = "?"
    meaning = "From outside."
    needs = RequiredInput.NEIGHBOURS


@pytest.fixture
def outside() -> Iterator[None]:
    for measure in (F1, Novel):
        registry.add("measures", measure.name, measure)
    yield
    for measure in (F1, Novel):
        registry.remove("measures", measure.name)


@pytest.mark.usefixtures("outside")
def test_a_measure_that_declares_no_ceiling_gets_a_computed_one() -> None:
    """One relevant document: P@10 is at most .1, so F1@10 at most 2/11; twenty: R@10 is at most .5."""
    truth = JudgmentArrays(np.repeat([0, 1], [1, 20]), np.arange(21), np.ones(21, int))
    assert ceiling(parse("F1@10"), truth) == pytest.approx([2 / 11, 2 * 0.5 / 1.5])


@pytest.mark.usefixtures("outside")
def test_a_ceiling_that_cannot_be_computed_is_unknown() -> None:
    truth = JudgmentArrays(np.array([0]), np.array([1]), np.array([1]))
    assert ceiling(parse("R@500tokens"), truth) is None
    assert fixed_ceiling(parse("SpanIoU@5")) is None
    assert fixed_ceiling(Measure("Novel", 10)) is None


def test_c26_a_target_of_08_is_out_of_reach_with_two_relevant_files() -> None:
    truth = JudgmentArrays(np.array([0, 0, 1]), np.array([1, 2, 1]), np.array([1, 1, 1]))
    assert ceiling(parse("P@5"), truth) == pytest.approx([0.4, 0.2])
    assert ceiling(parse("P@5"), truth, queries=np.array([1, 9])) == pytest.approx([0.2, np.nan], nan_ok=True)


def test_d3_the_ceiling_of_recall_over_a_hundred() -> None:
    truth = JudgmentArrays(np.zeros(100, int), np.arange(100), np.ones(100, int))
    assert ceiling(parse("R@10"), truth) == pytest.approx([0.1])
    assert fixed_ceiling(parse("R100@10")) == pytest.approx(0.1)
    assert fixed_ceiling(parse("FalseAlarm@0.5")) == 0.0
    assert fixed_ceiling(parse("tokens@5")) is None


def test_no_relevant_items_no_ceiling() -> None:
    truth = JudgmentArrays(np.array([0]), np.array([1]), np.array([0]))
    best = ceiling(parse("P@5"), truth)
    assert best is not None and np.isnan(best).all()


def test_no_ranking_is_deeper_than_the_depth() -> None:
    truth = JudgmentArrays(np.repeat([0, 1], [8, 2]), np.arange(10), np.ones(10, int))
    for name, wanted in (("AP", [0.5, 1]), ("R@20", [0.5, 1]), ("P@5", [0.8, 0.4]), ("RR", [1, 1])):
        assert ceiling(parse(name), truth, depth=4) == pytest.approx(wanted), name
    assert ceiling(parse("AP"), truth) == pytest.approx([1, 1])


def test_what_cannot_be_reached_still_counts_as_relevant() -> None:
    truth = JudgmentArrays(np.array([0, 0, 1]), np.array([1, 2, 1]), np.array([1, 1, 1]))
    best = ceiling(parse("R@5"), truth, reachable=np.array([True, False, False]))
    assert best == pytest.approx([0.5, 0])
