"""The contract of measures refuses what is wrong with a measure: array form, ceiling, bounds."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.measures.definitions import Bounds, MeasureDefinition
from bakeoff.measures.names import Measure, parse
from bakeoff.measures.reference import RankedGrades
from bakeoff.testing.measures import MeasureContract


class Share(MeasureDefinition):
    """Precision under another name, which is right."""

    name = "Share"
    formula = "h_k / k"
    meaning = "Share of the first k results that are relevant."
    bounds = Bounds.BOTH

    def score(self, ranked: RankedGrades, measure: Measure) -> float:
        return len(ranked.hit_ranks(measure)) / (measure.k or 1)


class OtherValues(Share):
    name = "OtherValues"

    def values(self, block: Any, measure: Measure) -> np.ndarray:
        return np.minimum(super().values(block, measure), 0.3)


class SecondRank(Share):
    """Only rank 2 counts, so an ideal ranking does not give the highest value."""

    name = "SecondRank"

    def score(self, ranked: RankedGrades, measure: Measure) -> float:
        return float(2 in ranked.hit_ranks(measure))


class RecallClaimsBoth(Share):
    """Judging one more result relevant can lower recall, so its value is not a lower bound."""

    name = "RecallClaimsBoth"

    def score(self, ranked: RankedGrades, measure: Measure) -> float:
        return len(ranked.hit_ranks(measure)) / ranked.relevant(measure)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    measures = (Share, OtherValues, SecondRank, RecallClaimsBoth)
    for one in measures:
        registry.add("measures", one.name, one)
    yield
    for one in measures:
        registry.remove("measures", one.name)


def failures(name: str) -> set[str]:
    """The checks of the contract that refuse the measure."""
    contract, measures = MeasureContract(), [parse(f"{name}@{k}") for k in (1, 3, 10)]
    checks = (
        contract.test_values_agree_with_the_formula,
        contract.test_the_best_of_all_rankings_reaches_the_ceiling,
        contract.test_bounds_hold_for_every_judging,
        contract.test_the_tie_range_contains_the_served_order,
    )
    return {check.__name__ for check in checks if refuses(check, measures)}


def refuses(check: Any, measures: list[Measure]) -> bool:
    try:
        check(measures)
    except AssertionError:
        return True
    return False


def test_a_right_measure_passes() -> None:
    assert failures("Share") == set()


@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("OtherValues", "test_values_agree_with_the_formula"),
        ("SecondRank", "test_the_best_of_all_rankings_reaches_the_ceiling"),
        ("RecallClaimsBoth", "test_bounds_hold_for_every_judging"),
    ],
)
def test_a_wrong_measure_is_refused(name: str, check: str) -> None:
    assert check in failures(name)
