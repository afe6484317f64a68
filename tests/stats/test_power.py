"""Detectable difference and queries needed."""

from __future__ import annotations

import numpy as np
import pytest

from bakeoff.stats.power import detectable_difference, queries_needed
from bakeoff.stats.tests import randomisations


def test_half_width_of_a_tenth_at_50_queries_means_about_fourteen_hundredths() -> None:
    """C-16: the published interval's half-width of .10 at 50 queries."""
    sd = 0.10 / 1.96 * 50**0.5
    assert detectable_difference(sd, 50) == pytest.approx(0.145, abs=0.005)


def test_the_detectable_difference_is_found_four_times_in_five() -> None:
    rng = np.random.default_rng(1)
    sd, n = 0.3, 40
    difference = detectable_difference(sd, n)
    assert difference is not None
    columns = rng.normal(difference, sd, (n, 1500))
    found = np.mean([result.p <= 0.05 for result in randomisations(columns, seed=1, flips=2000)])
    assert found == pytest.approx(0.80, abs=0.03)


def test_queries_needed_inverts_the_detectable_difference() -> None:
    needed = queries_needed(0.3, 0.1)
    assert needed is not None
    at, before = detectable_difference(0.3, needed), detectable_difference(0.3, needed - 1)
    assert at is not None
    assert before is not None
    assert at <= 0.1 < before
    assert queries_needed(0.3, -0.1) == needed


def test_nothing_is_claimed_without_spread_or_difference() -> None:
    assert detectable_difference(0.3, 1) is None
    assert detectable_difference(0.0, 50) is None
    assert queries_needed(0.3, 0.0) is None
    assert queries_needed(0.0, 0.1) is None
    assert queries_needed(0.3, 1e-9) is None
