"""F21: a bootstrap whose resamples were permutations has an interval of width zero."""

from __future__ import annotations

import numpy as np
import pytest

from bakeoff.stats.bootstrap import (
    RESAMPLES,
    BootstrapSettings,
    interval_ends,
    mean_interval,
    resampled_means,
)

SAMPLE = np.array([1.0, 0.5, 0.0, 0.0, 0.333, 1.0, 0.25, 0.0, 0.5, 0.0, 1.0, 0.2])


def test_f21_resamples_are_no_permutations() -> None:
    means = resampled_means(SAMPLE[:, None], RESAMPLES, seed=1)[0]
    assert means.std() > 0.9 * SAMPLE.std() / len(SAMPLE) ** 0.5


def test_f21_the_interval_has_a_width_and_ten_thousand_resamples() -> None:
    interval = mean_interval(SAMPLE, BootstrapSettings(seed=1))
    assert interval.low is not None
    assert interval.high is not None
    assert interval.low < SAMPLE.mean() < interval.high
    assert interval.resamples >= 10_000


def test_f21_no_spread_is_no_interval_instead_of_width_zero() -> None:
    interval = mean_interval([0.0] * 30, BootstrapSettings(seed=1))
    assert interval.low is None
    assert "same value" in interval.reason


@pytest.mark.parametrize("queries", [12, 50])
def test_f21_coverage_is_near_the_level(queries: int) -> None:
    rng = np.random.default_rng(3)
    values = np.array([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 10, 0])
    chances = [0.45, 0.15, 0.08, 0.05, 0.04, 0.03, 0.20]
    first, second = rng.choice(values, (2, queries, 2000), p=chances)
    low, high = interval_ends(first - second, BootstrapSettings(1, 1500))
    assert 0.93 <= ((low <= 0) & (high >= 0)).mean() <= 0.97
