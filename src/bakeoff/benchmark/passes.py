"""A pass is one run of one system under one load; a point is all its runs: medians with spread, and percentiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.benchmark.load_spec import LoadStep
from bakeoff.benchmark.loop_report import LoopReport
from bakeoff.benchmark.resources.usage import Resources, ResourceUse, combine_uses, sum_or_none
from bakeoff.benchmark.results.histogram import Histogram, merge_histograms
from bakeoff.benchmark.results.speeds import drift_note, instability_note
from bakeoff.benchmark.targets import LoadTarget
from bakeoff.pipeline.loops.client_threads import GONE, INTERRUPTED
from bakeoff.pipeline.loops.closed_loop import HARNESS_LIMIT
from bakeoff.pipeline.loops.loop_times import LatencySummary
from bakeoff.pipeline.timing import PERCENTILES, samples_needed
from bakeoff.stats.repeat_summary import RunSummary, summarise
from bakeoff.types import Hits

if TYPE_CHECKING:
    from bakeoff.benchmark.clients.merged_loop import ClientResult, CommonWindow


LOST = "was lost"
"""Marks the reason of a pass that lost a client process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One run of one system under one load.

    `harness_seconds` is what the null store takes in the system's place. `probe` passes belong to the search for the
    highest rate. `short` is null where a system may answer with fewer rows, or answers were not kept. Of several client
    processes there are `team`, each one's own figures, and `window`, the time in which all were on duty: the speed is
    of that time.
    """

    system: str
    load: LoadStep
    run: int
    loop: LoopReport
    harness_seconds: float | None
    resources: Resources
    quality: float | None = None
    short: int | None = None
    probe: bool = False
    window: CommonWindow | None = None
    team: tuple[ClientResult, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def latency(self) -> Histogram:
        """Nanoseconds of every answer, from the intended arrival in an open loop."""
        return self.loop.latency.histogram()

    @property
    def lag(self) -> Histogram | None:
        """Nanoseconds by which queries of an open loop were sent late."""
        return self.loop.lag.histogram() if self.loop.lag else None

    @property
    def reached(self) -> bool | None:
        """Whether the rate was reached; null for a closed loop."""
        return None if self.load.rate is None else self.loop.reached

    def percentile(self, percent: int) -> float | None:
        """A latency in milliseconds; null if unknown."""
        return _percentile(self.latency, percent).milliseconds

    @property
    def complete(self) -> bool:
        """Whether it came to its end with its engine and all its clients.

        An open loop that falls behind its rate is stopped too: that is a result, and complete.
        """
        if self.load.kind == "closed":
            return not self.loop.stopped
        return not any(why in self.loop.stopped for why in (GONE, LOST, INTERRUPTED))

    @property
    def qps(self) -> float | None:
        """Answers per second of wall time."""
        if self.window is not None:
            return self.window.qps
        answered, seconds = self.loop.answered, self.loop.seconds
        return answered / seconds if answered and seconds > 0 else None

    @property
    def harness_share(self) -> float | None:
        """The harness's share of the time per query (closed loop) or of the median latency (open loop)."""
        if self.harness_seconds is None or self.qps is None:
            return None
        if self.load.kind == "closed":
            return self.harness_seconds * self.qps
        median = self.latency.percentile(50)
        return self.harness_seconds * 1e9 / median if median else None

    @property
    def harness_over_limit(self) -> bool:
        """Whether the harness is more than 5 % of what was measured (F38)."""
        return self.harness_share is not None and self.harness_share > HARNESS_LIMIT


def pass_percentiles(histogram: Histogram) -> tuple[LatencySummary, ...]:
    """p50, p90, p95 and p99 in milliseconds, each only if enough samples lie beyond it (F31)."""
    return tuple(_percentile(histogram, percent) for percent in PERCENTILES)


def _percentile(histogram: Histogram, percent: int) -> LatencySummary:
    name, count = f"p{percent}_ms", histogram.count + histogram.missing
    needed = samples_needed(percent)
    if count < needed:
        return LatencySummary(
            name, None, count, f"{count} samples; p{percent} needs {needed}: add --runs or --seconds"
        )
    value = histogram.percentile(percent)
    if value is None:
        gone = f"{histogram.missing} of {count} got no answer"
        return LatencySummary(name, None, count, f"{gone}: p{percent} is beyond the others")
    return LatencySummary(name, value / 1e6, count)


def quality_under_load(target: LoadTarget, answers: Sequence[Hits | None]) -> float | None:
    """The quality of the first answer to each query."""
    if target.grade is None:
        return None
    if target.grade.judge is None:
        return target.grade.measured
    return target.grade.judge(answers[: len(target.queries)])


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
    harness_over_limit: bool
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
        harness_over_limit=any(one.harness_over_limit for one in passes),
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
    notes = [row.note for row in latencies if row.note][:1]
    if not passes[0].probe:
        notes += [note for note in (instability_note(qps.values), drift_note(qps.values, drifts)) if note]
    if any(one.reached is False for one in passes):
        notes.append(f"the rate was not reached: {qps.median or 0:,.0f} per second were answered")
    if any(one.short for one in everything):
        notes.append(f"{sum(one.short or 0 for one in everything)} answers had fewer rows than asked for")
    if error := next((one.loop.error for one in everything if one.loop.error), ""):
        notes.append(f"{sum(one.loop.errors for one in everything)} errors, the first: {error}")
    notes += [
        _stop_note(one, one.complete or not passes[0].complete) for one in everything if one.loop.stopped
    ]
    notes += dict.fromkeys(note for one in everything for note in one.notes)
    return tuple(f"{name}: {note}" for note in notes)


def _rate_held(passes: Sequence[Pass]) -> bool | None:
    """Whether every run reached the rate; null for a closed loop, or if only runs that ended early missed it."""
    outcomes = [one.reached for one in passes if one.complete or not any(other.complete for other in passes)]
    if None in outcomes:
        return None
    return None if all(outcomes) and len(outcomes) < len(passes) else all(outcomes)


def _stop_note(one: Pass, counted: bool) -> str:
    return f"run {one.run + 1} ended early{'' if counted else ' and is not in these figures'}: {one.loop.stopped}"


def _mean(values: Sequence[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return float(np.mean(numbers)) if numbers else None


def _highest(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _numbers(values: Sequence[float | None]) -> list[float]:
    return [float("nan") if value is None else value for value in values]
