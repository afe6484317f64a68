"""The power law of growth, on values made by one, and against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bakeoff.benchmark.results.scale_results import fit_power_law


def test_an_exact_power_law_is_found() -> None:
    found = fit_power_law([(size, 3 * size**0.5) for size in (100, 1000, 10_000)])
    assert found.exponent == pytest.approx(0.5) and found.factor == pytest.approx(3)
    assert found.r2 == pytest.approx(1) and found.last == pytest.approx(0.5) and not found.bends
    assert found.at(10**6) == pytest.approx(3000)


def test_the_interval_is_that_of_a_regression_over_sizes_and_runs() -> None:
    random = np.random.default_rng(5)
    points = [
        (size, size**1.1 * float(np.exp(random.normal(0, 0.2))))
        for size in (100, 1000, 5000, 20_000)
        for _ in range(3)
    ]
    found, peer = fit_power_law(points), stats.linregress(*np.log(np.array(points)).T)
    half = stats.t.ppf(0.975, len(points) - 2) * peer.stderr
    assert found.exponent == pytest.approx(peer.slope) and found.r2 == pytest.approx(peer.rvalue**2)
    assert (found.low, found.high) == pytest.approx((peer.slope - half, peer.slope + half))
    assert (found.sizes, found.observations) == (4, 12)


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    random, hits = np.random.default_rng(1), 0
    for _ in range(400):
        points = [(s, s**0.7 * float(np.exp(random.normal(0, 0.3)))) for s in (10, 100, 1000, 10_000)]
        found = fit_power_law(points)
        assert found.low is not None and found.high is not None
        hits += found.low <= 0.7 <= found.high
    assert 0.92 <= hits / 400 <= 0.98


@pytest.mark.parametrize(
    ("points", "why"),
    [
        ([(10, 1.0), (100, 2.0)], "2 sizes were measured; 3 are needed"),
        ([(10, 1.0), (100, 0.0), (1000, 2.0)], "no logarithm"),
        ([(10, None), (100, None)], "0 sizes"),
    ],
)
def test_no_exponent_without_enough(points: list[tuple[float, float | None]], why: str) -> None:
    found = fit_power_law(points)
    assert found.exponent is None and found.low is None and why in found.note and found.at(10) is None


def test_a_curve_that_bends_says_so() -> None:
    points = [
        (s, 1.0 + s**2 / 1e6 * (1 + 0.001 * r))
        for s in (10, 100, 1000, 10_000, 20_000, 40_000)
        for r in range(20)
    ]
    assert fit_power_law(points).bends
