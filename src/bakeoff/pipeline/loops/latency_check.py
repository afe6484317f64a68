"""Checks a run's search latencies against the loop of `bakeoff load`, with a few queries and one client
(F52)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from bakeoff.pipeline.loops.closed_loop import closed_loop
from bakeoff.pipeline.loops.loop_times import LoopTimes
from bakeoff.pipeline.query_pipeline import Search, SearchRequest, StepResult
from bakeoff.pipeline.timing import Row
from bakeoff.types import Hits

if TYPE_CHECKING:
    import pyarrow as pa

PHASE = "latency_check"
MOST, LEAST = 30, 3
"""Most queries in a check; fewer if they would take longer than `SECONDS`."""
SECONDS = 1.0
FACTOR = 1.5
"""Latencies disagree if one exceeds the other by more than half."""
FLOOR_MS = 0.05
"""Smaller differences are within the noise of two clocks and a thread."""
TRIES = 5
"""Number of load loops to try while latencies disagree: a cold thread or busy moment passes, a fault stays.
"""


@dataclass(frozen=True, slots=True)
class LatencyCheck:
    """Median milliseconds of the same queries: in the run, in load's loop, and repeated in the run's own loop.

    If the first two disagree, `load_ms` is the lowest of `TRIES` loops and `repeat_ms` is measured too.
    `note` explains a missing `load_ms`.
    """

    queries: int
    run_ms: float | None = None
    load_ms: float | None = None
    repeat_ms: float | None = None
    note: str = ""

    def rows(self, run: str, system: str) -> list[Row]:
        """Return rows for the timings table."""
        values = {"run": self.run_ms, "load": self.load_ms, "repeat": self.repeat_ms}
        notes = {"load": self.note, "repeat": "" if self.repeat_ms is not None else "the others agree"}
        return [
            (run, system, PHASE, f"{name}_median_ms", value, self.queries, notes.get(name, ""))
            for name, value in values.items()
        ]


def check_latency(
    legs: Sequence[StepResult],
    searches: Sequence[Search],
    requests: Sequence[SearchRequest],
    others: Sequence[SearchRequest],
) -> LatencyCheck:
    """Send a few queries of a system's searches through load's loop, and compare with the run.

    Searches run one after the other, as in the run: alternating a hybrid's two searches would evict each
    other's memory.
    """
    import numpy as np

    times = [np.asarray(leg.milliseconds) for leg in legs]
    chosen = _spread(times[0].shape[1], sum(float(np.median(one)) for one in times))
    some, warm = [requests[i] for i in chosen], others[: max(1, len(chosen) // 3)]
    run_ms = sum(float(np.median(one[:, chosen])) for one in times)
    load_ms = float("inf")
    for _ in range(TRIES):
        loops = [_load_loop(search, some, warm) for search in searches]
        for loop in loops:
            if loop.stopped or loop.errors or not len(loop.done):
                why = loop.stopped or next(iter(loop.errors), "no answer")
                return LatencyCheck(len(chosen), run_ms, note=why)
        load_ms = min(load_ms, sum(float(np.median(loop.done)) / 1e6 for loop in loops))
        if not latencies_differ(run_ms, load_ms):
            return LatencyCheck(len(chosen), run_ms, load_ms)
    repeat_ms = sum(_repeat_queries(search, some, warm) for search in searches)
    return LatencyCheck(len(chosen), run_ms, load_ms, repeat_ms)


def _load_loop(search: Search, requests: Sequence[SearchRequest], warm: Sequence[SearchRequest]) -> LoopTimes:
    """Run the loop of `load` with one client; only the durations matter."""
    return closed_loop(
        lambda one, _k, _query: cast(Hits, search(one)), requests, 0, None, before=lambda: _each(search, warm)
    )


def latencies_differ(one: float, other: float) -> bool:
    """Whether two latencies in milliseconds differ by more than half."""
    low, high = sorted((one, other))
    return high > FACTOR * low and high - low > FLOOR_MS


def latency_disagreements(timings: pa.Table) -> list[str]:
    """Return a sentence for each system whose latency disagrees with load's loop."""
    differences: dict[str, dict[str, float | None]] = {}
    for row in timings.to_pylist():
        if row["phase"] == PHASE:
            differences.setdefault(row["system"], {})[row["statistic"].removesuffix("_median_ms")] = row[
                "value"
            ]
    sentences = []
    for system, values in differences.items():
        run_ms, load_ms, repeat_ms = (values.get(name) for name in ("run", "load", "repeat"))
        if run_ms is not None and load_ms is not None and latencies_differ(run_ms, load_ms):
            sentences.append(_sentence(system, run_ms, load_ms, repeat_ms))
    return sentences


def _sentence(system: str, run_ms: float, load_ms: float, repeat_ms: float | None) -> str:
    both = (
        f"{system}: do not rely on its latency. The run measured {run_ms:.3g} ms, but `bakeoff load` "
        f"{load_ms:.3g} ms, for the same queries with one client."
    )
    if repeat_ms is not None and not latencies_differ(repeat_ms, load_ms):
        return f"{both} The run's own loop now takes {repeat_ms:.3g} ms: the machine was busy. Run it again."
    return (
        f"{both} Run it again on a quiet machine. If they still differ, the engine is slower on one of the two "
        "threads: check what it sets per thread."
    )


def _spread(count: int, median_ms: float) -> list[int]:
    """Indices of evenly spaced queries that take about SECONDS in all."""
    import numpy as np

    affordable = int(SECONDS * 1000 / max(median_ms, 1e-6))
    size = min(count, MOST, max(LEAST, affordable))
    return [int(i) for i in np.unique(np.linspace(0, count - 1, size).round())]


def _repeat_queries(
    search: Search, requests: Sequence[SearchRequest], warm: Sequence[SearchRequest]
) -> float:
    """Run the same queries again on this thread, the way the run does; returns the median milliseconds."""
    import numpy as np

    _each(search, warm)
    return float(np.median([_time_query(search, one) for one in requests])) / 1e6


def _time_query(search: Search, request: SearchRequest) -> int:
    begin = time.perf_counter_ns()
    search(request)
    return time.perf_counter_ns() - begin


def _each(search: Search, requests: Sequence[SearchRequest]) -> None:
    for one in requests:
        search(one)
