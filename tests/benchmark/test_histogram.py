"""The histogram of latencies: within 0.1 %, merged, and stored without loss."""

from __future__ import annotations

import numpy as np
import pytest

from bakeoff.benchmark.results.histogram import Histogram, merge_histograms

RANDOM = np.random.default_rng(5)
SAMPLES = {
    "latencies": RANDOM.lognormal(13, 2, 20_001).astype(np.int64),
    "small": RANDOM.integers(0, 3000, 5_000),
    "edges": np.unique([x for e in range(1, 62) for x in (2**e - 1, 2**e, 2**e + 1)]),
}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("percent", [0, 1, 50, 90, 95, 99, 99.9, 100])
def test_percentiles_are_within_a_thousandth(name: str, percent: float) -> None:
    values = SAMPLES[name]
    assert Histogram.of(values).percentile(percent) == pytest.approx(np.percentile(values, percent), rel=1e-3)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_value_lies_in_its_bucket(name: str) -> None:
    for value in SAMPLES[name][:300]:
        ((low,), (high,)) = Histogram.of(np.array([value])).edges
        assert low <= value <= high and high - low <= value / 1000


def test_merging_is_counting_together() -> None:
    a, b = SAMPLES["latencies"], SAMPLES["small"]
    both, together = (
        merge_histograms([Histogram.of(a, 2), Histogram.of(b, 3)]),
        Histogram.of(np.concatenate([a, b]), 5),
    )
    assert (both.buckets == together.buckets).all() and (both.counts == together.counts).all()
    assert both.missing == 5 and both.count == len(a) + len(b)
    assert merge_histograms([]).percentile(50) is None


def test_what_got_no_answer_stands_beyond_all_others() -> None:
    found = Histogram.of(np.full(980, 1_000_000), missing=20)
    assert found.percentile(90) == pytest.approx(1e6, rel=1e-3) and found.percentile(99) is None


def test_a_negative_time_is_refused() -> None:
    with pytest.raises(ValueError, match="-3"):
        Histogram.of(np.array([5, -3]))
