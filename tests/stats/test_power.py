"""Detectable difference and queries needed."""

from __future__ import annotations

import numpy as np
import pytest

from bakeoff.errors import ComparisonError
from bakeoff.stats.power import before_any_run, detectable_difference, queries_needed
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


def test_before_any_run_states_its_assumption() -> None:
    plans = before_any_run(50)
    assert [plan.assumed.name for plan in plans] == ["low", "typical", "high"]
    assert plans[2].detectable == pytest.approx(0.16, abs=0.01)
    assert "assumed spread 0.40" in plans[2].sentence
    assert before_any_run(50, pairs=28)[1].detectable > plans[1].detectable
    with pytest.raises(ComparisonError, match="at least 20"):
        before_any_run(1)
