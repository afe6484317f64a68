"""Repeated runs: median and spread, Welch between stores."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bakeoff.stats.repeat_summary import compare_runs, summarise, welch


def test_f35_the_median_is_reported_with_every_run() -> None:
    """F35: 78, 119, 81, 56 QPS; the best of them is no result."""
    summary = summarise([78, 119, 81, 56])
    assert summary.median == pytest.approx(79.5)
    assert (summary.q1, summary.q3) == (72.5, 90.5)
    assert summary.sd == pytest.approx(np.std([78, 119, 81, 56], ddof=1))
    assert summary.values == (78, 119, 81, 56)
    assert not hasattr(summary, "best")


def test_one_run_has_no_deviation_and_none_has_no_median() -> None:
    assert summarise([7.0]).sd is None
    assert summarise([0.95] * 3).sd == 0, "the mean of equal values is rounded"
    assert "one run" in summarise([7.0]).note
    assert summarise([]).median is None
    assert summarise([0.73] * 3).note == "no run-to-run variance"


def test_welch_matches_scipy() -> None:
    a, b = np.array([7.1, 6.8, 7.3]), np.array([8.0, 8.4, 7.6, 9.1])
    t, df, p = welch(a, b)
    expected = stats.ttest_ind(a, b, equal_var=False)
    assert (t, df, p) == pytest.approx((expected.statistic, expected.df, expected.pvalue))


def test_pairs_are_corrected_and_undefined_ones_say_why() -> None:
    runs = {
        "x": [7.1, 6.8, 7.3],
        "y": [8.0, 8.4, 7.6],
        "flat": [5.0] * 3,
        "even": [5.0] * 3,
        "few": [1.0, 2.0],
    }
    found = {(pair.a, pair.b): pair for pair in compare_runs(runs, seed=1)}
    assert found["flat", "even"].p is None
    assert found["flat", "even"].note == "no run-to-run variance"
    assert found["x", "few"].note == "3 and 2 runs; at least 3 each are needed"
    assert found["x", "few"].median_difference == pytest.approx(5.6)
    pair = found["x", "y"]
    assert pair.p is not None
    assert pair.p_holm is not None
    assert pair.p_holm >= pair.p > 0
    assert found["x", "flat"].p_holm > found["x", "flat"].p  # type: ignore[operator]
    assert pair.low is not None
    assert pair.high is not None
    assert pair.low <= -0.9 <= pair.high
