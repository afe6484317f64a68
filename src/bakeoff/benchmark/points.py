"""All runs of one system under one load: medians with spread across runs, percentiles across every query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.benchmark.load_spec import LoadStep
from bakeoff.benchmark.passes import Pass, pass_percentiles
from bakeoff.benchmark.resources.usage import ResourceUse, combine_uses, sum_or_none
from bakeoff.benchmark.results.histogram import Histogram, merge_histograms
from bakeoff.benchmark.results.speeds import drift_note, instability_note
from bakeoff.pipeline.loops.loop_times import LatencySummary
from bakeoff.stats.repeat_summary import RunSummary, summarise


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPoint:
    """One row of a load's table; `qps`, `mean_ms`, `quality` are across runs, latencies across queries (C-15).

    Figures are of the complete runs, counts of all. Runs that ended early are counted in `cut_short`; without any
    complete run the figures are of what there is, and `complete` is false.
    """

    system: str
    load: LoadStep
    runs: int
    complete: bool
    cut_short: int
    qps: RunSummary
    mean_ms: RunSummary
    quality: RunSummary
    latencies: tuple[LatencySummary, ...]
    lags: tuple[LatencySummary, ...]
    sent: int
    answered: int
    errors: int
    timeouts: int
    unsent: int
    short: int | None
    harness_share: float | None
    marked: bool
    reached: bool | None
    client: ResourceUse
    server: ResourceUse
    joules: float | None
    notes: tuple[str, ...]
    probe: bool

    def percentile(self, percent: int) -> float | None:
        """A latency in milliseconds, or None if unknown."""
        return next((row.milliseconds for row in self.latencies if row.name == f"p{percent}_ms"), None)


def load_points(passes: Sequence[Pass]) -> tuple[LoadPoint, ...]:
    """One point per system and load, in the order first measured."""
    keys = dict.fromkeys((one.system, one.load) for one in passes)
    return tuple(_point([one for one in passes if (one.system, one.load) == key]) for key in keys)


def _point(everything: Sequence[Pass]) -> LoadPoint:
    passes = [one for one in everything if one.complete] or everything
    first = passes[0]
    qps = summarise(_numbers([one.qps for one in passes]))
    latencies = pass_percentiles(merge_histograms(one.latency for one in passes))
    shares = [one.harness_share for one in passes if one.harness_share is not None]
    lags: list[Histogram] = [one.lag for one in passes if one.lag is not None]
    return LoadPoint(
        system=first.system,
        load=first.load,
        runs=len(passes),
        complete=first.complete,
        cut_short=sum(not one.complete for one in everything),
        qps=qps,
        mean_ms=summarise(_numbers([one.loop.mean_ms for one in passes])),
        quality=summarise(_numbers([one.quality for one in passes])),
        latencies=latencies,
        lags=pass_percentiles(merge_histograms(lags)) if lags else (),
        sent=sum(one.loop.sent for one in everything),
        answered=sum(one.loop.answered for one in everything),
        errors=sum(one.loop.errors for one in everything),
        timeouts=sum(one.loop.timeouts for one in everything),
        unsent=sum(one.loop.unsent for one in everything),
        short=sum_or_none([one.short for one in everything]),
        harness_share=float(np.median(shares)) if shares else None,
        marked=any(one.marked for one in passes),
        reached=_rate_held(everything),
        client=combine_uses([one.resources.client for one in passes], average=_mean, peak=_highest),
        server=combine_uses([one.resources.server for one in passes], average=_mean, peak=_highest),
        joules=sum_or_none([one.resources.energy.joules for one in everything]),
        notes=_notes(everything, passes, qps, latencies),
        probe=first.probe,
    )


def _notes(
    everything: Sequence[Pass], passes: Sequence[Pass], qps: RunSummary, latencies: Sequence[LatencySummary]
) -> tuple[str, ...]:
    """Notes on the figures, which come from `passes`."""
    name = f"{passes[0].system} at {passes[0].load.name}"
    drifts = [one.loop.drift for one in passes if one.loop.drift is not None]
    found = [row.note for row in latencies if row.note][:1]
    if not passes[0].probe:
        found += [note for note in (instability_note(qps.values), drift_note(qps.values, drifts)) if note]
    if any(one.reached is False for one in passes):
        found.append(f"the rate was not reached: {qps.median or 0:,.0f} per second were answered")
    if any(one.short for one in everything):
        found.append(f"{sum(one.short or 0 for one in everything)} answers had fewer rows than asked for")
    if error := next((one.loop.error for one in everything if one.loop.error), ""):
        found.append(f"{sum(one.loop.errors for one in everything)} errors, the first: {error}")
    found += [
        _stop_note(one, one.complete or not passes[0].complete) for one in everything if one.loop.stopped
    ]
    found += dict.fromkeys(note for one in everything for note in one.notes)
    return tuple(f"{name}: {note}" for note in found)


def _rate_held(passes: Sequence[Pass]) -> bool | None:
    """Whether every run reached the rate; null for a closed loop, or if only runs that ended early missed it."""
    known = [one.reached for one in passes if one.complete or not any(other.complete for other in passes)]
    if None in known:
        return None
    return None if all(known) and len(known) < len(passes) else all(known)


def _stop_note(one: Pass, counted: bool) -> str:
    return f"run {one.run + 1} ended early{'' if counted else ' and is not in these figures'}: {one.loop.stopped}"


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _highest(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _numbers(values: Sequence[float | None]) -> list[float]:
    return [float("nan") if value is None else value for value in values]
