"""F31: ten queries, so p95 = p99 = max."""

from __future__ import annotations

import numpy as np

from bakeoff.load.clock import statistics


def test_f31_ten_samples_have_a_median_and_no_tail() -> None:
    rows = {row.name: row for row in statistics(np.arange(1, 11) * 1_000_000)}
    assert rows["p50_ms"].milliseconds == 5.5
    for name in ("p90_ms", "p95_ms", "p99_ms"):
        assert rows[name].milliseconds is None and "10 samples" in rows[name].note


def test_f31_five_hundred_samples_have_a_p99_below_the_maximum() -> None:
    rows = {row.name: row for row in statistics(np.arange(1, 501) * 1_000_000)}
    assert 495 < rows["p99_ms"].milliseconds < 496
