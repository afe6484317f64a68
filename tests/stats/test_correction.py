"""Corrections over pairs."""

from __future__ import annotations

import numpy as np
import pytest

from bakeoff.stats.correction import holm, max_t
from bakeoff.stats.tests import randomisations


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_max_t_of_one_column_is_the_sign_flip_test() -> None:
    column = np.random.default_rng(0).normal(0.2, 1, (40, 1))
    assert max_t(column, seed=1)[0] == pytest.approx(randomisations(column, seed=1)[0].p, abs=1e-9)


def test_max_t_gains_over_holm_where_columns_depend() -> None:
    rng = np.random.default_rng(2)
    shared = rng.normal(0.35, 1, (50, 1))
    columns = shared + rng.normal(0, 0.05, (50, 10))
    stepped = max_t(columns, seed=1)
    adjusted = holm([result.p for result in randomisations(columns, seed=1)])
    assert max(stepped) < max(adjusted) / 3


def test_max_t_is_at_least_the_single_p_and_monotone() -> None:
    columns = np.random.default_rng(4).normal(0.2, 1, (40, 6))
    single = [result.p for result in randomisations(columns, seed=1)]
    stepped = max_t(columns, seed=1)
    assert all(s >= p - 1e-9 for s, p in zip(stepped, single, strict=True))
    assert all(p > 0 for p in stepped)


def test_max_t_of_all_ties_is_one() -> None:
    assert max_t(np.zeros((10, 2)), seed=1) == [1.0, 1.0]


def test_eight_equal_systems_that_mostly_return_the_same_have_no_false_difference() -> None:
    """Few differences make p-values coarse; ties counted half must not let the family exceed its level."""
    first, second = np.triu_indices(8, 1)
    rounds, false = 400, 0
    for seed in range(rounds):
        rng = np.random.default_rng([seed, 8])
        base, own = rng.random(40) < 0.6, rng.random((8, 40)) < 0.6
        values = np.where(rng.random((8, 40)) < 0.5, base, own).astype(float)
        tested = randomisations((values[first] - values[second]).T, seed, flips=1500)
        false += min(holm([result.p for result in tested])) <= 0.05
    assert false / rounds <= 0.05
