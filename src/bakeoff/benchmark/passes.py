"""One pass: one run of one system under one load, and its percentiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.benchmark.load_spec import LoadStep
from bakeoff.benchmark.loop_report import LoopReport
from bakeoff.benchmark.resources.usage import Resources
from bakeoff.benchmark.results.histogram import Histogram
from bakeoff.benchmark.targets import LoadTarget
from bakeoff.pipeline.loops.client_threads import GONE, INTERRUPTED
from bakeoff.pipeline.loops.closed_loop import HARNESS_LIMIT
from bakeoff.pipeline.loops.loop_times import LatencySummary
from bakeoff.pipeline.timing import PERCENTILES, samples_needed
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
    def marked(self) -> bool:
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
    return target.grade.judge(answers[: len(target.asked)])
