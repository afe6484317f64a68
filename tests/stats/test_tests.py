"""Paired tests against scipy, and what they do with ties."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bakeoff.stats.quantiles import expansion, t_quantile, t_two_sided
from bakeoff.stats.tests import doubled_ranks, flips_for, randomisation, randomisations, wilcoxon


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


@pytest.mark.parametrize("test", [wilcoxon, lambda values: randomisation(values, seed=1)])
def test_all_ties_have_p_one_and_say_so(test) -> None:
    result = test([0.0] * 20)
    assert result.p == 1.0
    assert "tied" in result.note


def test_few_differences_are_enumerated() -> None:
    values = np.array([0.5, 0.2, -0.1, 0.4, 0.3, 0.0, np.nan])
    result = randomisation(values, seed=1)
    every = stats.permutation_test((values[:5],), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert result.exact
    assert result.p == pytest.approx(every.pvalue)


def test_many_differences_agree_with_a_long_scipy_run() -> None:
    values = np.random.default_rng(3).choice([0.0, 0.5, -0.5, 1.0], 60)
    every = stats.permutation_test((values,), np.mean, permutation_type="samples", n_resamples=50_000, rng=1)
    assert randomisation(values, seed=2, flips=50_000).p == pytest.approx(every.pvalue, abs=0.01)


def test_columns_give_the_same_as_one_by_one() -> None:
    columns = np.random.default_rng(3).choice([0.0, 0.5, -0.5, 1.0], (60, 4))
    together = [result.p for result in randomisations(columns, seed=2)]
    assert together == [randomisation(column, seed=2).p for column in columns.T]


def test_flips_grow_with_the_number_of_pairs() -> None:
    assert flips_for(1, 0.05) == 10_000
    pairs = 1225
    assert pairs / (flips_for(pairs, 0.05) + 1) < 0.05


def test_student_matches_scipy() -> None:
    assert t_quantile(0.975, 21) == pytest.approx(stats.t.ppf(0.975, 21))
    assert t_two_sided(2.1, 7.3) == pytest.approx(2 * stats.t.sf(2.1, 7.3))
    assert expansion(10**6, 0.95) == pytest.approx(stats.norm.ppf(0.975), abs=1e-4)


def test_power_is_within_five_points_of_the_best_test() -> None:
    rng = np.random.default_rng(5)
    rows, n = 400, 50
    difficulty = rng.normal(0.8, 1.3, (n, rows))

    def rr(latent: np.ndarray) -> np.ndarray:
        rank = np.maximum(1, np.ceil(np.exp(latent)))
        return np.where(rank <= 10, 1 / rank, 0.0)

    columns = rr(difficulty - 0.3 + rng.normal(0, 0.5, (n, rows))) - rr(
        difficulty + rng.normal(0, 0.5, (n, rows))
    )
    ours = np.mean([result.p <= 0.05 for result in randomisations(columns, seed=1, flips=2000)])
    ranks = np.mean([wilcoxon(column).p <= 0.05 for column in columns.T])
    student = np.mean(stats.ttest_1samp(columns, 0).pvalue <= 0.05)
    assert 0.3 < student < 0.99
    assert ours >= max(ranks, student) - 0.05
