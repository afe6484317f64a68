"""F41: outliers removed only where that lowered the spread."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.pipeline import query_pipeline
from bakeoff.pipeline.loops.closed_loop import closed_loop
from bakeoff.pipeline.loops.loop_times import statistics
from bakeoff.runs.run import run
from bakeoff.stats.repeat_summary import summarise
from bakeoff.types import Hits


def test_f41_every_sample_stays() -> None:
    calls = iter(range(200))

    def search(vector: np.ndarray, k: int, query: Any) -> Hits:
        if next(calls) == 100:
            time.sleep(0.2)
        return Hits(np.arange(1), np.zeros(1))

    loop = closed_loop(search, np.zeros((200, 4), np.float32), 1, None)
    mean = next(row for row in statistics(loop.done) if row.name == "mean_ms")
    assert mean.count == 200 and mean.milliseconds > 1.0 and loop.done.max() > 190e6


def test_f41_an_odd_run_stays_and_the_median_stands() -> None:
    found = summarise([100.0, 101.0, 5.0])
    assert found.n == 3 and 5.0 in found.values and found.median == 100.0


def test_f41_a_run_counts_its_slowest_query_too(
    small: Path, register: Callable[..., None], made_clock: Callable[..., Any]
) -> None:
    """Thirteen queries take 2 ms, one takes 900: the mean is that of all fourteen."""
    clock = made_clock(query_pipeline)

    class Stalls(registry.load("stores", "exact")):
        asked = 0

        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            type(self).asked += 1
            clock.passes(900 if type(self).asked == query_pipeline.WARM_UP_SEARCHES + 5 else 2)
            return super().search(vector, k, query)

    register("stores", "stalls", Stalls)
    small.write_text(small.read_text().replace("[exact]", "[stalls]"))
    result = run(small, out=Path("run"))
    assert sorted(result.latencies["search_ms"].to_pylist()) == [2.0] * 13 + [900.0]
    (row,) = [
        row for row in result.timings.to_pylist() if (row["phase"], row["statistic"]) == ("search", "mean_ms")
    ]
    assert row["count"] == 14 and row["value"] == pytest.approx((13 * 2 + 900) / 14)
