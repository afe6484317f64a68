"""The times recorded by a loop, and their statistics; percentiles only with enough samples (F31)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bakeoff.errors import StoreError
from bakeoff.pipeline.timing import PERCENTILES, samples_needed
from bakeoff.types import Hits, JsonObject

BACKWARDS = "the clock went backwards: durations of this pass mean nothing"
NOT_RUN = -1
"""Replaces the nanoseconds of a query that was not sent, failed or never returned."""


@dataclass(frozen=True, slots=True)
class LatencySummary:
    """A statistic in milliseconds, or null with the reason."""

    name: str
    milliseconds: float | None
    count: int
    note: str = ""

    def to_dict(self) -> JsonObject:
        """As plain values, for a record."""
        return {"value": self.milliseconds, "samples": self.count, "note": self.note}


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopTimes:
    """One pass over the queries: nanoseconds per query (−1: none), answers, and how the pass ended.

    `seconds` is wall time from the first query sent to the last answer; `stopped` says why a pass is partial.
    `began` is the clock reading at the first query, `ends` the readings at the answers (−1: none).
    """

    nanoseconds: np.ndarray
    answers: tuple[Hits | None, ...]
    seconds: float
    threads: int
    errors: tuple[str, ...] = ()
    timeouts: int = 0
    stopped: str = ""
    began: int = 0
    ends: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64), repr=False)

    @property
    def done(self) -> np.ndarray:
        """Nanoseconds of each answered query."""
        return self.nanoseconds[self.nanoseconds != NOT_RUN]

    @property
    def qps_measured(self) -> float | None:
        """Answered queries per second of wall time (C-13)."""
        return len(self.done) / self.seconds if len(self.done) and self.seconds > 0 else None

    @property
    def qps_serial_derived(self) -> float | None:
        """1000 / mean latency in milliseconds: the rate of a single thread (S1-8)."""
        return float(1e9 / self.done.mean()) if self.threads == 1 and len(self.done) else None


def overall_latency(loop: LoopTimes) -> LoopTimes:
    """Return the loop if it completed; a hang raises a store error."""
    if loop.stopped:
        raise StoreError(f"{loop.stopped}.")
    return loop


def statistics(nanoseconds: np.ndarray, unfinished: int = 0) -> tuple[LatencySummary, ...]:
    """Mean and percentiles; no sample is removed (F41), and unanswered queries count as slower than all
    others."""
    count = len(nanoseconds)
    mean = float(nanoseconds.mean() / 1e6) if count and not unfinished else None
    note = "" if mean is not None else f"{unfinished} of {count + unfinished} did not come back"
    rows = [LatencySummary("mean_ms", mean, count, note if count or unfinished else "nothing was measured")]
    return (*rows, *(_percentile(nanoseconds, percent, unfinished) for percent in PERCENTILES))


def _percentile(nanoseconds: np.ndarray, percent: int, unfinished: int) -> LatencySummary:
    name, count = f"p{percent}_ms", len(nanoseconds) + unfinished
    if count < samples_needed(percent):
        needed = samples_needed(percent)
        return LatencySummary(
            name, None, count, f"{count} samples; p{percent} needs {needed}: add runs or queries"
        )
    padded = np.concatenate([nanoseconds / 1e6, np.full(unfinished, np.inf)])
    value = float(np.percentile(padded, percent, method="linear" if not unfinished else "higher"))
    if not np.isfinite(value):
        return LatencySummary(
            name, None, count, f"{unfinished} of {count} did not come back: p{percent} is beyond them"
        )
    return LatencySummary(name, value, count)
