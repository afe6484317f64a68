"""What one loop measured, closed or open, by one client or several: counts and histograms that can be merged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from bakeoff.benchmark.clients.messages import Clock, Count, Message
from bakeoff.benchmark.open_loop import OpenLoop, rate_held
from bakeoff.benchmark.resources.usage import (
    ResourceUse,
    combine_uses,
    machine_limits,
    sum_or_none,
    within_limits,
)
from bakeoff.benchmark.results.histogram import LAST, Histogram, merge_histograms
from bakeoff.benchmark.targets import LoadTarget
from bakeoff.pipeline.loops.loop_times import NOT_RUN, LoopTimes

DRIFT_SAMPLES = 200
NOT_SAMPLED = ResourceUse(note="no client was sampled")


class Buckets(Message):
    """A histogram as plain numbers."""

    buckets: list[Annotated[int, Field(ge=0, lt=LAST)]]
    counts: list[Count]
    missing: Count

    @model_validator(mode="after")
    def _check_pairs(self) -> Buckets:
        if len(self.buckets) != len(self.counts):
            raise ValueError(f"{len(self.buckets)} buckets have {len(self.counts)} counts")
        return self

    @classmethod
    def of(cls, histogram: Histogram) -> Buckets:
        """The numbers of a histogram."""
        return cls(
            buckets=histogram.buckets.tolist(), counts=histogram.counts.tolist(), missing=histogram.missing
        )

    def histogram(self) -> Histogram:
        """The histogram of these numbers."""
        return Histogram(np.asarray(self.buckets, np.int64), np.asarray(self.counts, np.int64), self.missing)


class LoopReport(Message):
    """The figures of one loop; `began` and `ended` are readings of the clock of whoever sent the queries.

    sent = answered + errors + what hung or was cut off; `unsent` were due and never sent. `drift` is the median latency
    of the second half over that of the first; `short` answers had fewer rows than asked for. Latencies of an open loop
    count from the intended arrival; `due` and `sent_last` are seconds from its begin: when its last query was due, and
    sent. A client sends its report over the wire.
    """

    began: Clock
    ended: Clock
    intended: Count
    sent: Count
    answered: Count
    errors: Count
    error: str
    timeouts: Count
    unsent: Count
    short: Count
    total_ns: Clock
    drift: float | None
    latency: Buckets
    lag: Buckets | None
    due: float
    sent_last: float
    stopped: str
    use: ResourceUse

    @property
    def seconds(self) -> float:
        """Seconds from begin to end."""
        return (self.ended - self.began) / 1e9

    @property
    def mean_ms(self) -> float | None:
        """The mean latency of the answers."""
        return self.total_ns / self.answered / 1e6 if self.answered else None

    @property
    def reached(self) -> bool:
        """Whether the queries of an open loop were sent at the intended rate and answered."""
        return not self.stopped and rate_held((self.due, self.sent_last), self.answered, self.intended)


def closed_report(loop: LoopTimes, target: LoadTarget, use: ResourceUse) -> LoopReport:
    """The figures of a closed loop."""
    sent = len(loop.done) + len(loop.errors) + loop.timeouts
    return LoopReport(
        began=loop.began,
        ended=loop.began + round(loop.seconds * 1e9),
        intended=len(loop.nanoseconds),
        sent=sent,
        answered=len(loop.done),
        errors=len(loop.errors),
        error=loop.errors[0] if loop.errors else "",
        timeouts=loop.timeouts,
        unsent=len(loop.nanoseconds) - sent,
        short=sum(1 for hits in loop.answers if hits is not None and len(hits.ids) < target.k),
        total_ns=int(loop.done.sum()),
        drift=drift_of(loop.done, len(target.queries)),
        latency=Buckets.of(Histogram.of(loop.done, len(loop.errors) + loop.timeouts)),
        lag=None,
        due=0.0,
        sent_last=0.0,
        stopped=loop.stopped,
        use=use,
    )


def open_report(
    loop: OpenLoop, target: LoadTarget, use: ResourceUse, *, began: int, ended: int
) -> LoopReport:
    """The figures of an open loop; unanswered queries count as slower than every answered one."""
    answered = loop.latency[loop.latency != NOT_RUN]
    due, sent_last = loop.sending
    return LoopReport(
        began=began,
        ended=ended,
        intended=len(loop.latency),
        sent=len(loop.latency) - loop.unsent,
        answered=len(answered),
        errors=len(loop.errors),
        error=loop.errors[0] if loop.errors else "",
        timeouts=loop.timeouts,
        unsent=loop.unsent,
        short=0,
        total_ns=int(answered.sum()),
        drift=drift_of(answered, len(target.queries)),
        latency=Buckets.of(Histogram.of(answered, len(loop.latency) - len(answered))),
        lag=Buckets.of(Histogram.of(loop.lag[loop.lag != NOT_RUN])),
        due=due,
        sent_last=sent_last,
        stopped=loop.stopped,
        use=use,
    )


def merge_reports(
    reports: Sequence[LoopReport], *, began: int, ended: int, stopped: str, one_machine: bool
) -> LoopReport:
    """The figures of several clients as those of one loop, on the driver's clock."""
    drifts = [one.drift for one in reports if one.drift is not None]
    lags = [one.lag.histogram() for one in reports if one.lag is not None]
    sums = {
        name: sum(getattr(one, name) for one in reports)
        for name in ("intended", "sent", "answered", "errors", "timeouts", "unsent", "short", "total_ns")
    }
    return LoopReport(
        began=began,
        ended=ended,
        **sums,
        error=next((one.error for one in reports if one.error), ""),
        drift=float(np.median(drifts)) if drifts else None,
        latency=Buckets.of(merge_histograms(one.latency.histogram() for one in reports)),
        lag=Buckets.of(merge_histograms(lags)) if lags else None,
        due=max((one.due for one in reports), default=0.0),
        sent_last=max((one.sent_last for one in reports), default=0.0),
        stopped=stopped,
        use=_sum_uses([one.use for one in reports if one.use.samples], one_machine),
    )


def _sum_uses(uses: Sequence[ResourceUse], one_machine: bool) -> ResourceUse:
    """CPU and memory of all clients together; their peaks need not coincide."""
    if not uses:
        return NOT_SAMPLED
    together = combine_uses(uses, average=sum_or_none, peak=sum_or_none)
    # on several machines each client was checked against the limits of its own
    return within_limits(together, machine_limits()) if one_machine else together


def drift_of(nanoseconds: np.ndarray, queries: int) -> float | None:
    """Second half over first half, if both contain every query and enough samples."""
    half = len(nanoseconds) // 2
    if half < max(queries, DRIFT_SAMPLES // 2):
        return None
    before, after = np.median(nanoseconds[:half]), np.median(nanoseconds[half:])
    return float(after / before) if before > 0 else None
