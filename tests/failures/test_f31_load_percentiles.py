"""F31: ten queries, so p95 = p99 = max."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bakeoff.benchmark.passes import pass_percentiles
from bakeoff.benchmark.results.histogram import Histogram
from bakeoff.pipeline.loops.loop_times import statistics

each_way = pytest.mark.parametrize(
    "statistics",
    [statistics, lambda samples: pass_percentiles(Histogram.of(samples))],
    ids=["a loop", "all passes"],
)


@each_way
def test_f31_ten_samples_have_a_median_and_no_tail(statistics: Callable[[Any], Any]) -> None:
    rows = {row.name: row for row in statistics(np.arange(1, 11) * 1_000_000)}
    assert rows["p50_ms"].milliseconds == pytest.approx(5.5, rel=1e-3)
    for name in ("p90_ms", "p95_ms", "p99_ms"):
        assert rows[name].milliseconds is None and "10 samples" in rows[name].note


@each_way
def test_f31_five_hundred_samples_have_a_p99_below_the_maximum(statistics: Callable[[Any], Any]) -> None:
    rows = {row.name: row for row in statistics(np.arange(1, 501) * 1_000_000)}
    assert 494.5 < rows["p99_ms"].milliseconds < 496.5
