"""Intervals: values, missing scores, degenerate samples and simulated coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from bakeoff.errors import ComparisonError
from bakeoff.stats.bootstrap import (
    BootstrapSettings,
    interval_ends,
    mean_interval,
    mean_intervals,
    resampled_means,
    snap_to_exact_grid,
    weight_blocks,
)
from bakeoff.stats.intervals import METHODS, Interval, Resampled, symmetric

SETTINGS = BootstrapSettings(seed=1)


def reciprocal_ranks(rng: np.random.Generator, shape: tuple[int, ...], shift: float = 0.0) -> np.ndarray:
    """Two correlated systems' differences of reciprocal rank at depth 10."""
    difficulty = rng.normal(0.8, 1.3, shape)
    return _rr(difficulty - shift + rng.normal(0, 0.5, shape)) - _rr(difficulty + rng.normal(0, 0.5, shape))


def _rr(latent: np.ndarray) -> np.ndarray:
    rank = np.maximum(1, np.ceil(np.exp(latent)))
    return np.where(rank <= 10, 1 / rank, 0.0)


def test_every_resample_draws_n_queries_with_replacement() -> None:
    weights = np.vstack(list(weight_blocks(7, 500, seed=3)))
    assert weights.shape == (500, 7)
    assert (weights.sum(axis=1) == 7).all()
    assert (weights.max(axis=1) > 1).mean() > 0.9


def test_weights_do_not_depend_on_the_block_size(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = np.vstack(list(weight_blocks(7, 500, seed=3)))
    monkeypatch.setattr("bakeoff.stats.bootstrap.WEIGHTS_PER_BLOCK", 70)
    assert (np.vstack(list(weight_blocks(7, 500, seed=3))) == whole).all()


def test_resampled_means_are_weighted_means() -> None:
    sample = np.random.default_rng(0).random((9, 3))
    weights = np.vstack(list(weight_blocks(9, 200, seed=5)))
    assert np.allclose(resampled_means(sample, 200, 5), (weights @ sample / 9).T)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_agrees_with_scipy_within_five_percent_of_the_width(method: str) -> None:
    sample = reciprocal_ranks(np.random.default_rng(4), (50,), shift=0.4)
    ours = mean_interval(sample, BootstrapSettings(1, 20_000, method=method))
    theirs = stats.bootstrap((sample,), np.mean, n_resamples=20_000, method=method, rng=2).confidence_interval
    assert ours.low is not None
    assert ours.high is not None
    width = theirs.high - theirs.low
    assert abs(ours.low - theirs.low) < 0.05 * width
    assert abs(ours.high - theirs.high) < 0.05 * width


def test_symmetric_uses_the_quantile_of_all_absolute_deviations() -> None:
    sample = reciprocal_ranks(np.random.default_rng(4), (30, 4), shift=0.4)
    means = np.sort(resampled_means(sample, 1000, 1), axis=1)
    low, high = symmetric(Resampled(sample, means, len(sample) - 1), 0.95)
    deviations = np.abs(means - sample.mean(axis=0)[:, None])
    stretch = stats.t.ppf(0.975, 29) * np.sqrt(30 / 29) / stats.norm.ppf(0.975)
    assert np.allclose((high - low) / 2, np.quantile(deviations, 0.95, axis=1) * stretch)


def test_hull_contains_expanded_and_symmetric() -> None:
    sample = reciprocal_ranks(np.random.default_rng(9), (22, 20))
    ends = {name: interval_ends(sample, BootstrapSettings(1, 2000, method=name)) for name in METHODS}
    for other in ("expanded", "symmetric"):
        assert (ends["hull"][0] <= ends[other][0] + 1e-12).all()
        assert (ends["hull"][1] >= ends[other][1] - 1e-12).all()


def test_missing_scores_are_left_out_of_their_column_only() -> None:
    rng = np.random.default_rng(2)
    columns = rng.random((40, 3))
    holed = columns.copy()
    holed[:5, 1] = np.nan
    intervals = mean_intervals(holed, SETTINGS)
    assert intervals[0] == mean_intervals(columns, SETTINGS)[0]
    assert intervals[1] == mean_interval(columns[5:, 1], SETTINGS)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([], "no query was scored"),
        ([np.nan, np.nan], "no query was scored"),
        ([0.5], "one question has no spread"),
        ([0.0] * 50, "all 50 queries have the same value 0"),
        ([0.1 + 0.2, 0.3], "same value 0.3"),
    ],
)
def test_no_spread_gives_no_interval_but_a_reason(values: list[float], reason: str) -> None:
    interval = mean_interval(values, SETTINGS)
    assert (interval.low, interval.high) == (None, None)
    assert reason in interval.reason
    assert not interval.excludes(0.0)
    assert not interval.within(1.0)


def test_a_systems_interval_is_clipped_to_the_range_and_says_so() -> None:
    interval = mean_interval([1.0] * 12 + [0.0], SETTINGS, bounds=(0.0, 1.0))
    assert interval.high == 1.0
    assert interval.clipped
    assert not mean_interval([0.4, 0.5, 0.6] * 10, SETTINGS, bounds=(0.0, 1.0)).clipped


def test_an_end_within_rounding_of_zero_is_zero() -> None:
    """Sums such as 0.1 + 0.2 − 0.3 leave a rest that must not decide whether 0 is excluded."""
    sample = np.array([0.1, 0.2, -0.3, 0.0] * 3)
    low, _ = interval_ends(sample[:, None] * np.array([1e-12, 1.0]), BootstrapSettings(1, 1000))
    assert low[0] == 0.0
    assert low[1] < -0.01


def test_negated_is_the_interval_of_the_opposite_difference() -> None:
    rng = np.random.default_rng(3)
    difference = rng.random(30) - rng.random(30)
    there, back = mean_interval(difference, SETTINGS), mean_interval(-difference, SETTINGS)
    assert there.negate().low == pytest.approx(back.low)
    assert there.negate().high == pytest.approx(back.high)


def test_bad_settings_are_refused() -> None:
    for settings in ({"method": "normal"}, {"resamples": 10}, {"level": 95.0}):
        with pytest.raises(ComparisonError, match="Use"):
            BootstrapSettings(1, **settings)  # type: ignore[arg-type]


def covers(interval_low: np.ndarray, interval_high: np.ndarray, truth: float) -> float:
    return float(((interval_low <= truth) & (truth <= interval_high)).mean())


@pytest.mark.parametrize("n", [22, 50, 200])
@pytest.mark.parametrize("shift", [0.0, 0.4])
def test_the_default_covers_93_to_97_percent(n: int, shift: float) -> None:
    rng = np.random.default_rng(n)
    truth = float(reciprocal_ranks(rng, (400_000,), shift).mean())
    low, high = interval_ends(reciprocal_ranks(rng, (n, 2000), shift), BootstrapSettings(7, 1500))
    assert 0.93 <= covers(low, high, truth) <= 0.97


def test_a_single_systems_mean_is_covered_too() -> None:
    rng = np.random.default_rng(8)
    truth = float(_rr(rng.normal(0.5, 1.3, 400_000)).mean())
    intervals = mean_intervals(
        _rr(rng.normal(0.5, 1.3, (22, 1500))), BootstrapSettings(7, 1500), bounds=(0, 1)
    )
    low = np.array([interval.low for interval in intervals], dtype=float)
    high = np.array([interval.high for interval in intervals], dtype=float)
    assert 0.93 <= covers(low, high, truth) <= 0.97


def test_the_plain_percentile_interval_is_too_narrow_on_22_queries() -> None:
    rng = np.random.default_rng(0)
    truth = float(reciprocal_ranks(rng, (400_000,)).mean())
    sample = reciprocal_ranks(rng, (22, 3000))
    plain = interval_ends(sample, BootstrapSettings(7, 1500, method="percentile"))
    default = interval_ends(sample, BootstrapSettings(7, 1500))
    assert covers(*plain, truth) < 0.93
    assert covers(*default, truth) > covers(*plain, truth) + 0.015


def test_interval_knows_what_it_excludes() -> None:
    interval = Interval(0.01, 0.09, 0.95, "hull", 10_000, 1)
    assert interval.excludes(0.0)
    assert interval.within(0.1)
    assert not interval.within(0.09)


@pytest.mark.parametrize("n", [2, 50, 997, 10_000])
def test_sums_do_not_depend_on_the_order_of_adding(n: int) -> None:
    """Threads, processors and workers add in different orders; exact sums are the same bits for all of them."""
    rng = np.random.default_rng(n)
    sample = rng.normal(size=(n, 3)) * [1.0, 1e-9, 1e6] + [0.0, 1.0, 0.0]
    even = snap_to_exact_grid(sample)
    weights = next(iter(weight_blocks(n, 100, 1)))[:5]
    exact = [[math.fsum(np.repeat(column, row.astype(int))) for row in weights] for column in even.T]
    order = rng.permutation(n)
    for rows in (slice(None), order, order[::-1]):
        assert (even[rows].T @ weights[:, rows].T).tolist() == exact
    assert np.abs(even - sample).max(axis=0) == pytest.approx([0.0] * 3, abs=2e-12 * np.abs(sample).max())


def test_the_grid_is_not_seen() -> None:
    sample = np.random.default_rng(4).random((300, 6))
    weights = np.concatenate(list(weight_blocks(300, 400, 9)))
    assert resampled_means(sample, 400, 9) == pytest.approx(sample.T @ weights.T / 300, abs=1e-13)
