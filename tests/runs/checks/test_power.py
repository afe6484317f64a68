"""What a number of queries can show, assumed and measured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bakeoff.runs.checks.power import power_of
from bakeoff.stats.power import detectable_difference


def test_before_a_run_the_spread_is_assumed_and_said() -> None:
    power, findings = power_of("nDCG@10(document)", 50, 8, None)
    assert power is not None and findings == []
    assert power.detectable == pytest.approx(detectable_difference(0.30, 50))
    assert power.detectable_of_all == pytest.approx(detectable_difference(0.30, 50, alpha=0.05 / 28))
    assert power.basis.startswith("assumed: ")
    # S4 claimed 0.05 for 50 queries (C-16)
    assert power.detectable > 0.10


def test_measures_of_the_first_hit_spread_more() -> None:
    power, _ = power_of("RR@10(document)", 50, 2, None)
    assert power is not None and power.spread == 0.40


def test_few_queries_are_a_warning_and_one_shows_nothing() -> None:
    power, (finding,) = power_of("nDCG@10(document)", 1, 2, None)
    assert power is None and finding.code == "few-queries"


def test_a_cost_has_no_power() -> None:
    assert power_of("tokens@10", 50, 2, None) == (None, [])


def test_after_a_pilot_the_spread_is_the_data_s(ran: Any) -> None:
    primary = "nDCG@10(document)"
    power, _ = power_of(primary, 60, 10, ran.result.path)
    values = ran.result.matrix(primary).without_structural()
    spreads = []
    for one in range(len(values)):
        for other in range(one + 1, len(values)):
            difference = values[one] - values[other]
            difference = difference[~np.isnan(difference)]
            if difference.any():
                spreads.append(np.std(difference, ddof=1))
    assert power is not None and power.spread == pytest.approx(np.median(spreads))
    assert power.basis.startswith(f"measured: median of {len(spreads)} pairs in run")


def test_a_pilot_that_is_no_run_or_lacks_the_measure_is_an_error(ran: Any, tmp_path: Any) -> None:
    for primary, folder in (("nDCG@10(document)", tmp_path), ("P@3(document)", ran.result.path)):
        power, findings = power_of(primary, 60, 10, folder)
        assert power is None and [finding.code for finding in findings] == ["pilot"]
