"""Does the difference depend on the category?"""

from __future__ import annotations

import numpy as np
import pytest

from bakeoff.errors import ComparisonError
from bakeoff.stats.bootstrap import BootstrapSettings
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.interaction import interactions, label_permutation_tests

LABELS = ["section"] * 30 + ["concept"] * 30


def crossing(effect: float, seed: int = 0) -> ScoreMatrix:
    rng = np.random.default_rng(seed)
    base = rng.uniform(0.3, 0.7, 60)
    tilt = np.where(np.array(LABELS) == "section", effect, -effect)
    values = np.clip([base + tilt, base + rng.normal(0, 0.05, 60), base + rng.normal(0, 0.05, 60)], 0, 1)
    return ScoreMatrix(("a", "b", "c"), tuple(map(str, range(60))), values, "RR@10", categories=tuple(LABELS))


def test_a_crossing_is_found_and_named() -> None:
    found = interactions(crossing(0.2), "a", ["b"], BootstrapSettings(1))[0]
    assert 0 < found.p < 0.01
    assert found.crosses
    assert [one.category for one in found.for_a] == ["section"]
    assert [one.category for one in found.for_b] == ["concept"]


def test_a_crossing_that_rare_questions_could_undo_is_not_claimed() -> None:
    found = interactions(crossing(0.05), "a", ["b"], BootstrapSettings(1))[0]
    assert found.p < 0.01
    assert all(one.interval.excludes(0.0) and not one.holds_level for one in found.categories)
    assert not found.crosses


def test_category_intervals_are_widened_for_their_number() -> None:
    found = interactions(crossing(0.1), "a", ["b"], BootstrapSettings(1))[0]
    assert {round(one.interval.level, 6) for one in found.categories} == {0.975}


def test_no_difference_by_category_is_seldom_called_one() -> None:
    rng = np.random.default_rng(0)
    alarms = [
        label_permutation_tests(rng.normal(0, 1, (60, 1)), LABELS, seed)[0] <= 0.05 for seed in range(100)
    ]
    assert np.mean(alarms) <= 0.10


def test_one_category_cannot_interact() -> None:
    assert label_permutation_tests(np.arange(5.0)[:, None], ["x"] * 5, 1)[0] == 1.0


def test_pairs_are_corrected_together() -> None:
    found = interactions(crossing(0.03), "a", ["b", "c"], BootstrapSettings(1))
    assert all(one.p_holm >= one.p for one in found)


def test_scores_without_categories_are_refused() -> None:
    with pytest.raises(ComparisonError):
        interactions(
            ScoreMatrix.of({"a": {"q": 1.0}, "b": {"q": 0.0}}, "RR"), "a", ["b"], BootstrapSettings(1)
        )


def test_pairs_tested_together_get_the_figures_of_a_pair_alone() -> None:
    rng = np.random.default_rng(5)
    values = rng.random((4, 40))
    values[2, 3] = np.nan
    names = tuple(f"q{place:02d}" for place in range(40))
    matrix = ScoreMatrix(("a", "b", "c", "d"), names, values, "RR", ("x", "y") * 20)
    together = interactions(matrix, "a", ["b", "c", "d"], BootstrapSettings(1, 1000))
    alone = [interactions(matrix, "a", [other], BootstrapSettings(1, 1000))[0] for other in "bcd"]
    assert [(one.b, one.p) for one in together] == [(one.b, one.p) for one in alone]
    for one, other in zip(together, alone, strict=True):
        for found, expected in zip(one.categories, other.categories, strict=True):
            assert (found.n, found.holds_level) == (expected.n, expected.holds_level)
            ends = (expected.advantage, expected.interval.low, expected.interval.high)
            assert (found.advantage, found.interval.low, found.interval.high) == pytest.approx(
                ends, abs=1e-12
            )
    assert together[1].categories[1].n == 19
