"""Paired tests against scipy, and what they do with ties."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from bakeoff.stats.quantiles import expansion, t_quantile, t_two_sided
from bakeoff.stats.tests import (
    doubled_ranks,
    flips_for,
    pair_randomisations,
    randomisations,
    scaled_differences,
    wilcoxon,
)


def test_wilcoxon_is_exact_without_ties() -> None:
    for seed in range(5):
        values = np.random.default_rng(seed).normal(0.3, 1, 25)
        assert wilcoxon(values).p == pytest.approx(stats.wilcoxon(values, method="exact").pvalue, rel=1e-9)


def test_wilcoxon_is_exact_with_ties() -> None:
    values = np.array([0.5, 0.5, -0.5, 1.0, 0.25, 0.25, -1.0, 0.5])
    ranks = stats.rankdata(np.abs(values))

    def positive(signed: np.ndarray) -> float:
        return float(ranks[signed > 0].sum())

    every = stats.permutation_test((values,), positive, permutation_type="samples", n_resamples=np.inf)
    assert wilcoxon(values).p == pytest.approx(every.pvalue)


def test_wilcoxon_of_many_is_the_tie_corrected_normal_curve() -> None:
    values = np.random.default_rng(1).choice([0.0, 0.5, -0.5, 1.0, 0.25, -0.25], 300)
    expected = stats.wilcoxon(values, method="approx", correction=False).pvalue
    assert wilcoxon(values).p == pytest.approx(expected, rel=1e-9)


def test_doubled_ranks_share_ties() -> None:
    values = np.array([0.3, 0.1, 0.3, 0.1 + 0.2])
    assert doubled_ranks(values).tolist() == (2 * stats.rankdata([3, 1, 3, 3])).astype(int).tolist()


@pytest.mark.parametrize("test", [wilcoxon, lambda values: randomisations(values, seed=1)[0]])
def test_all_ties_have_p_one_and_say_so(test) -> None:
    result = test([0.0] * 20)
    assert result.p == 1.0
    assert "tied" in result.note


def test_differences_are_scaled_to_length_one() -> None:
    values = np.array([0.5, 0.2, -0.1, 0.5, 0.3])
    column = np.array([0.5, 0.0, 0.2, -0.1, np.nan, 0.5, 0.3])
    found = scaled_differences(column)[:, 0]
    assert found[[0, 2, 3, 5, 6]] == pytest.approx(values / np.linalg.norm(values))
    assert found[[1, 4]].tolist() == [0.0, 0.0]
    assert scaled_differences(7 * column)[:, 0] == pytest.approx(found)


def test_few_differences_are_enumerated_and_ties_count_half() -> None:
    values = np.array([0.5, 0.2, -0.1, 0.4, 0.3])
    sums = np.array([abs(np.dot(signs, values)) for signs in product((1, -1), repeat=5)])
    above, equal = (sums > abs(values.sum()) + 1e-9).mean(), np.isclose(sums, abs(values.sum())).mean()
    result = randomisations([*values, 0.0, np.nan], seed=1)[0]
    assert result.exact
    assert result.p == pytest.approx(above + equal / 2)


@pytest.mark.parametrize(("count", "p"), [(1, 0.5), (5, 1 / 32), (6, 1 / 64)])
def test_differences_all_in_one_direction_have_half_the_probability_of_the_two_extremes(
    count: int, p: float
) -> None:
    assert randomisations([0.5] * count + [0.0] * 10, seed=1)[0].p == pytest.approx(p)


def test_many_differences_agree_with_a_long_scipy_run() -> None:
    values = np.random.default_rng(3).normal(0.2, 1, 60)
    every = stats.permutation_test((values,), np.mean, permutation_type="samples", n_resamples=50_000, rng=1)
    assert randomisations(values, seed=2, flips=50_000)[0].p == pytest.approx(every.pvalue, abs=0.01)


def test_rare_large_losses_against_frequent_small_gains_are_not_a_difference_of_means() -> None:
    """Mean 0: signed ranks see many small gains, the interval's claim is about the mean."""
    values = np.array([0.1] * 160 + [-0.4] * 40) + np.linspace(-0.02, 0.02, 200)
    assert wilcoxon(values).p < 0.001
    assert randomisations(values, seed=1)[0].p > 0.05


def test_columns_give_the_same_as_one_by_one() -> None:
    columns = np.random.default_rng(3).choice([0.0, 0.5, -0.5, 1.0], (60, 4))
    together = [result.p for result in randomisations(columns, seed=2)]
    assert together == [randomisations(column, seed=2)[0].p for column in columns.T]


def test_flips_grow_with_the_number_of_pairs() -> None:
    assert flips_for(1, 0.05) == 10_000
    pairs = 1225
    assert pairs / (flips_for(pairs, 0.05) + 1) < 0.05


def test_student_matches_scipy() -> None:
    assert t_quantile(0.975, 21) == pytest.approx(stats.t.ppf(0.975, 21))
    assert t_two_sided(2.1, 7.3) == pytest.approx(2 * stats.t.sf(2.1, 7.3))
    assert expansion(10**6, 0.95, 10**6 - 1) == pytest.approx(stats.norm.ppf(0.975), abs=1e-4)


GRADES = np.array([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 10, 0])
GOOD, HARD = (0.45, 0.15, 0.08, 0.05, 0.04, 0.03, 0.20), (0.15, 0.08, 0.05, 0.04, 0.04, 0.04, 0.60)


def shared_difficulty(rng: np.random.Generator, shape: tuple[int, int], hard: float, by: float) -> np.ndarray:
    """Differences of reciprocal rank of two systems that find the same queries hard."""
    base = rng.normal(hard, 1.3, shape)
    first, second = base - by + rng.normal(0, 0.5, shape), base + rng.normal(0, 0.5, shape)
    ranks = [np.maximum(1, np.ceil(np.exp(latent))) for latent in (first, second)]
    return np.where(ranks[0] <= 10, 1 / ranks[0], 0.0) - np.where(ranks[1] <= 10, 1 / ranks[1], 0.0)


def mostly_the_same(
    rng: np.random.Generator, shape: tuple[int, int], other: tuple[float, ...], same: float
) -> np.ndarray:
    """Differences of reciprocal rank of two systems that return the same on a share of the queries."""
    first, second = rng.choice(GRADES, shape, p=GOOD), rng.choice(GRADES, shape, p=other)
    return first - np.where(rng.random(shape) < same, first, second)


@pytest.mark.parametrize(
    ("n", "draw", "more"),
    [
        (22, shared_difficulty, (0.8, 0.45)),
        (50, shared_difficulty, (2.5, 0.5)),
        (200, shared_difficulty, (0.8, 0.175)),
        (22, mostly_the_same, (HARD, 0.8)),
        (50, mostly_the_same, (HARD, 0.8)),
        (200, mostly_the_same, (HARD, 0.93)),
    ],
)
def test_power_is_within_five_points_of_the_best_test(n: int, draw, more: tuple) -> None:
    columns = draw(np.random.default_rng(n), (n, 800), *more)
    ours = np.mean([result.p <= 0.05 for result in randomisations(columns, seed=1, flips=1000)])
    ranks = np.mean([wilcoxon(column).p <= 0.05 for column in columns.T])
    varied = columns[:, np.ptp(columns, axis=0) > 0]
    student = (stats.ttest_1samp(varied, 0).pvalue <= 0.05).sum() / columns.shape[1]
    assert 0.05 < max(ranks, student) < 0.99
    assert ours >= max(ranks, student) - 0.05


@pytest.mark.parametrize(("n", "same"), [(22, 0.8), (22, 0.3), (50, 0.8), (50, 0.93)])
def test_equal_systems_differ_in_five_percent_of_samples_though_ties_count_half(n: int, same: float) -> None:
    columns = mostly_the_same(np.random.default_rng(n), (n, 3000), GOOD, same)
    found = np.mean([result.p <= 0.05 for result in randomisations(columns, seed=1, flips=1000)])
    assert found <= 0.06


@pytest.mark.parametrize("kind", ["graded", "hits", "reciprocal ranks", "nearly equal"])
def test_pairs_of_systems_get_the_p_values_of_their_columns(kind: str) -> None:
    values = np.random.default_rng(3).random((30, 7))
    values = {
        "graded": values,
        "hits": (values < 0.7).astype(float),
        "reciprocal ranks": 1 / np.ceil(values * 8),
        "nearly equal": 0.5 + 1e-5 * values,
    }[kind]
    first, second = np.triu_indices(7, 1)
    expected = randomisations(values[:, first] - values[:, second], seed=2, flips=20_000)
    assert pair_randomisations(values, seed=2, flips=20_000) == expected
