"""One pass: one run of one system under one load, as figures and whole histograms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.benchmark.load_spec import LoadStep
from bakeoff.benchmark.open_loop import OpenLoop
from bakeoff.benchmark.resources.usage import Resources
from bakeoff.benchmark.results.histogram import Histogram
from bakeoff.benchmark.targets import LoadTarget
from bakeoff.pipeline.loops.client_threads import GONE, INTERRUPTED
from bakeoff.pipeline.loops.closed_loop import HARNESS_LIMIT
from bakeoff.pipeline.loops.loop_times import NOT_RUN, LatencySummary, LoopTimes
from bakeoff.pipeline.timing import PERCENTILES, samples_needed
from bakeoff.types import Hits

if TYPE_CHECKING:
    from bakeoff.benchmark.clients.merged_loop import ClientResult, CommonWindow

DRIFT_SAMPLES = 200
LOST = "was lost"
"""Marks the reason of a pass that lost a client process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """The result of one pass; latencies of an open loop count from the intended arrival.

    sent = answered + errors + what hung or was cut off; `unsent` were due and never sent. `drift` is the median latency
    of the second half over that of the first. `harness_seconds` is what the null store takes in its place.
    `probe` passes belong to the search for the highest rate. `short` answers had fewer rows than asked for; null where
    a system may answer with fewer, or answers were not kept. Of several client processes there are `team`, each one's
    own figures, and `window`, the time in which all were on duty: the speed is of that time.
    """

    system: str
    load: LoadStep
    run: int
    sent: int
    answered: int
    errors: int
    timeouts: int
    unsent: int
    short: int | None
    seconds: float
    mean_ms: float | None
    latency: Histogram
    lag: Histogram | None
    quality: float | None
    drift: float | None
    harness_seconds: float | None
    reached: bool | None
    resources: Resources
    error: str = ""
    stopped: str = ""
    probe: bool = False
    window: CommonWindow | None = None
    team: tuple[ClientResult, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether it came to its end with its engine and all its clients.

        An open loop that falls behind its rate is stopped too: that is a result, and complete.
        """
        if self.load.kind == "closed":
            return not self.stopped
        return not any(why in self.stopped for why in (GONE, LOST, INTERRUPTED))

    @property
    def qps(self) -> float | None:
        """Answers per second of wall time."""
        if self.window is not None:
            return self.window.answered / self.window.seconds if self.window.answered else None
        return self.answered / self.seconds if self.answered and self.seconds > 0 else None

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
    def marked(self) -> bool:
        """Whether the harness is more than 5 % of what was measured (F38)."""
        return self.harness_share is not None and self.harness_share > HARNESS_LIMIT


def closed_pass(
    target: LoadTarget,
    load: LoadStep,
    run: int,
    loop: LoopTimes,
    harness: float | None,
    used: Resources,
) -> Pass:
    """The figures of a closed loop."""
    tried = len(loop.done) + len(loop.errors) + loop.timeouts
    whole = not loop.stopped and any(hits is not None for hits in loop.answers)
    return Pass(
        system=target.label,
        load=load,
        run=run,
        sent=tried,
        answered=len(loop.done),
        errors=len(loop.errors),
        timeouts=loop.timeouts,
        unsent=len(loop.nanoseconds) - tried,
        short=_short(loop.answers, target.k) if target.full else None,
        seconds=loop.seconds,
        mean_ms=float(loop.done.mean() / 1e6) if len(loop.done) else None,
        latency=Histogram.of(loop.done, len(loop.errors) + loop.timeouts),
        lag=None,
        quality=_quality(target, loop.answers) if whole else None,
        drift=drift_of(loop.done, len(target.asked)),
        harness_seconds=harness,
        reached=None,
        resources=used,
        error=loop.errors[0] if loop.errors else "",
        stopped=loop.stopped,
    )


def open_pass(
    target: LoadTarget,
    load: LoadStep,
    run: int,
    loop: OpenLoop,
    harness: float | None,
    used: Resources,
    *,
    probe: bool,
) -> Pass:
    """The figures of an open loop; unanswered queries count as slower than every answered one."""
    answered = loop.latency[loop.latency != NOT_RUN]
    return Pass(
        system=target.label,
        load=load,
        run=run,
        sent=len(loop.latency) - loop.unsent,
        answered=loop.answered,
        errors=len(loop.errors),
        timeouts=loop.timeouts,
        unsent=loop.unsent,
        short=None,
        seconds=loop.seconds,
        mean_ms=float(answered.mean() / 1e6) if len(answered) else None,
        latency=Histogram.of(answered, len(loop.latency) - len(answered)),
        lag=Histogram.of(loop.lag[loop.lag != NOT_RUN]),
        quality=None,
        drift=drift_of(answered, len(target.asked)),
        harness_seconds=harness,
        reached=loop.reached,
        resources=used,
        error=loop.errors[0] if loop.errors else "",
        stopped=loop.stopped,
        probe=probe,
    )


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


def _short(answers: Sequence[Hits | None], k: int) -> int:
    return sum(1 for hits in answers if hits is not None and len(hits.ids) < k)


def _quality(target: LoadTarget, answers: Sequence[Hits | None]) -> float | None:
    """The quality of the first answer to each query."""
    if target.grade is None:
        return None
    if target.grade.judge is None:
        return target.grade.measured
    return target.grade.judge(answers[: len(target.asked)])


def drift_of(nanoseconds: np.ndarray, queries: int) -> float | None:
    """Second half over first half, if both contain every query and enough samples."""
    half = len(nanoseconds) // 2
    if half < max(queries, DRIFT_SAMPLES // 2):
        return None
    before, after = np.median(nanoseconds[:half]), np.median(nanoseconds[half:])
    return float(after / before) if before > 0 else None
