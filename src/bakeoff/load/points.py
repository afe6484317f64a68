"""All runs of one system under one load: medians with spread across runs, percentiles across every query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bakeoff.load.demand import Load
from bakeoff.load.histogram import Histogram, merged
from bakeoff.load.passes import Pass, percentiles
from bakeoff.load.resources import Use
from bakeoff.load.stability import drifting, unstable
from bakeoff.stages.loop_times import Latency
from bakeoff.stats.runs import RunSummary, summarise


@dataclass(frozen=True, slots=True)
class LoadPoint:
    """One row of a load's table; `qps`, `mean_ms`, `quality` are across runs, latencies across queries (C-15)."""

    system: str
    load: Load
    runs: int
    qps: RunSummary
    mean_ms: RunSummary
    quality: RunSummary
    latencies: tuple[Latency, ...]
    lags: tuple[Latency, ...]
    sent: int
    answered: int
    errors: int
    timeouts: int
    unsent: int
    short: int | None
    harness_share: float | None
    marked: bool
    reached: bool | None
    client: Use
    server: Use
    joules: float | None
    notes: tuple[str, ...]
    probe: bool

    def percentile(self, percent: int) -> float | None:
        """A latency in milliseconds, or None where it cannot be told."""
        return next((row.milliseconds for row in self.latencies if row.name == f"p{percent}_ms"), None)


def load_points(passes: Sequence[Pass]) -> tuple[LoadPoint, ...]:
    """One point a system and load, in the order first measured."""
    keys = dict.fromkeys((one.system, one.load) for one in passes)
    return tuple(_point([one for one in passes if (one.system, one.load) == key]) for key in keys)


def _point(passes: Sequence[Pass]) -> LoadPoint:
    first = passes[0]
    qps = summarise(_numbers([one.qps for one in passes]))
    latencies = percentiles(merged(one.latency for one in passes))
    shares = [one.harness_share for one in passes if one.harness_share is not None]
    lags: list[Histogram] = [one.lag for one in passes if one.lag is not None]
    return LoadPoint(
        first.system,
        first.load,
        len(passes),
        qps,
        summarise(_numbers([one.mean_ms for one in passes])),
        summarise(_numbers([one.quality for one in passes])),
        latencies,
        percentiles(merged(lags)) if lags else (),
        sum(one.sent for one in passes),
        sum(one.answered for one in passes),
        sum(one.errors for one in passes),
        sum(one.timeouts for one in passes),
        sum(one.unsent for one in passes),
        _sum([one.short for one in passes]),
        float(np.median(shares)) if shares else None,
        any(one.marked for one in passes),
        None if first.reached is None else all(one.reached for one in passes),
        _use([one.resources.client for one in passes]),
        _use([one.resources.server for one in passes]),
        _sum([one.resources.energy.joules for one in passes]),
        _notes(passes, qps, latencies),
        first.probe,
    )


def _notes(passes: Sequence[Pass], qps: RunSummary, latencies: Sequence[Latency]) -> tuple[str, ...]:
    """What a reader must know about the figures."""
    name = f"{passes[0].system} at {passes[0].load.name}"
    drifts = [one.drift for one in passes if one.drift is not None]
    found = [row.note for row in latencies if row.note][:1]
    if not passes[0].probe:
        found += [note for note in (unstable(qps.values), drifting(qps.values, drifts)) if note]
    if any(one.reached is False for one in passes):
        found.append(f"the rate was not reached: {qps.median or 0:,.0f} a second were answered")
    if any(one.short for one in passes):
        found.append(f"{sum(one.short or 0 for one in passes)} answers had fewer rows than asked for")
    if error := next((one.error for one in passes if one.error), ""):
        found.append(f"{sum(one.errors for one in passes)} errors, the first: {error}")
    found += dict.fromkeys(one.stopped for one in passes if one.stopped)
    found += dict.fromkeys(note for one in passes for note in one.notes)
    return tuple(f"{name}: {note}" for note in found)


def _use(uses: Sequence[Use]) -> Use:
    """Means of means and the highest peak; null where a side was not seen."""
    seen = [use for use in uses if use.avg_cpu_percent is not None]
    if not seen:
        return Use(note=uses[0].note)
    return Use(
        float(np.mean([use.avg_cpu_percent for use in seen])),
        max(use.peak_cpu_percent or 0.0 for use in seen),
        float(np.mean([use.avg_memory_mb for use in seen])),
        max(use.peak_memory_mb or 0.0 for use in seen),
        sum(use.samples for use in seen),
    )


def _numbers(values: Sequence[float | None]) -> list[float]:
    return [float("nan") if value is None else value for value in values]


def _sum(values: Sequence[Any]) -> Any:
    return None if any(value is None for value in values) else sum(values)
