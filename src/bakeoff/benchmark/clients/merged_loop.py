"""The merged result of several clients: histograms added, rates over the window in which all were active."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bakeoff.benchmark.clients.clock_sync import ClockCheck
from bakeoff.benchmark.clients.messages import ClientReport
from bakeoff.benchmark.open_loop import rate_held
from bakeoff.benchmark.passes import LOST, pass_percentiles
from bakeoff.benchmark.resources.usage import ResourceUse, machine_limits, within_limits
from bakeoff.benchmark.results.histogram import Histogram, merge_histograms
from bakeoff.pipeline.loops.loop_times import LatencySummary

LATE_SECONDS = 0.05
"""A client that starts later than this after the common moment is flagged."""
EARLY_SHARE = 0.1
"""A client that ends earlier than the others by more than this share of the pass is flagged."""
SMALL_SHARE = 0.5
"""A common window that covers less of the pass than this is reported."""


@dataclass(frozen=True, slots=True)
class CommonWindow:
    """The time in which every client was active: seconds from the common start, duration, and answers."""

    begin: float
    seconds: float
    answered: int


@dataclass(frozen=True, slots=True)
class ClientResult:
    """One client's figures; `began` and `ended` are seconds of the driver's clock from the common start.

    `lost` says why there are none. `in_window` are its answers in the common window.
    """

    number: int
    name: str
    host: str
    clock: ClockCheck
    told: ClientReport | None = field(default=None, repr=False)
    began: float | None = None
    ended: float | None = None
    in_window: int | None = None
    lost: str = ""
    notes: tuple[str, ...] = ()

    def latency(self) -> Histogram:
        """Its latencies; empty if it was lost."""
        return self.told.latency.histogram() if self.told else Histogram.of(np.empty(0, np.int64))

    def lag(self) -> Histogram | None:
        """How late it sent queries of an open loop."""
        return self.told.lag.histogram() if self.told and self.told.lag else None


@dataclass(frozen=True, slots=True)
class MergedLoop:
    """One load by several clients; counts cover clients with results, `seconds` is from first start to last end."""

    members: tuple[ClientResult, ...]
    window: CommonWindow | None
    seconds: float
    stopped: str

    @property
    def reports(self) -> tuple[ClientReport, ...]:
        """The clients that returned results."""
        return tuple(one.told for one in self.members if one.told is not None)

    @property
    def sent(self) -> int:
        """Queries sent."""
        return sum(one.sent for one in self.reports)

    @property
    def answered(self) -> int:
        """Queries answered, late or not."""
        return sum(one.answered for one in self.reports)

    @property
    def intended(self) -> int:
        """Queries scheduled to be sent."""
        return sum(one.intended for one in self.reports)

    @property
    def errors(self) -> int:
        """Searches that failed."""
        return sum(one.errors for one in self.reports)

    @property
    def timeouts(self) -> int:
        """Answers that came too late or never."""
        return sum(one.timeouts for one in self.reports)

    @property
    def error(self) -> str:
        """The first failure."""
        return next((one.error for one in self.reports if one.error), "")

    @property
    def mean_ms(self) -> float | None:
        """The mean of every answer's latency."""
        return sum(one.total_ns for one in self.reports) / self.answered / 1e6 if self.answered else None

    @property
    def latency(self) -> Histogram:
        """Every latency of every client."""
        return merge_histograms(one.latency() for one in self.members if one.told is not None)

    @property
    def lag(self) -> Histogram | None:
        """How late queries of an open loop were sent."""
        lags = [lag for one in self.members if (lag := one.lag()) is not None]
        return merge_histograms(lags) if lags else None

    @property
    def drift(self) -> float | None:
        """The median of the clients' drifts within the pass."""
        known = [one.drift for one in self.reports if one.drift is not None]
        return float(np.median(known)) if known else None

    @property
    def rate_measured(self) -> float | None:
        """Answers per second in the common window."""
        known = self.window is not None and self.window.seconds > 0 and self.window.answered
        return self.window.answered / self.window.seconds if self.window and known else None

    @property
    def reached(self) -> bool:
        """Whether every client sent at the intended rate and was answered."""
        if self.stopped or not self.reports:
            return False
        sending = (max(one.due for one in self.reports), max(one.sent_last for one in self.reports))
        return rate_held(sending, self.answered, self.intended)

    @property
    def use(self) -> ResourceUse:
        """CPU and memory of all clients together; their peaks need not coincide."""
        uses = [one.use for one in self.reports if one.use.samples]
        if not uses:
            return ResourceUse(note="no client was sampled")
        together = ResourceUse(
            _sum([use.avg_cpu_percent for use in uses]),
            _sum([use.peak_cpu_percent for use in uses]),
            _sum([use.avg_memory_mb for use in uses]),
            _sum([use.peak_memory_mb for use in uses]),
            sum(use.samples for use in uses),
            "; ".join(dict.fromkeys(use.note for use in uses if use.note)),
        )
        apart = (
            len({one.host for one in self.members}) > 1
        )  # each client was checked against its own machine's limits
        return together if apart else within_limits(together, machine_limits())

    def latencies(self) -> tuple[LatencySummary, ...]:
        """Percentiles over every client's queries."""
        return pass_percentiles(self.latency)

    def notes(self) -> tuple[str, ...]:
        """Notes on single clients and on their common window."""
        found = [f"client {one.name}: {note}" for one in self.members for note in one.notes]
        if self.window is None:
            found.append(
                "there is no common window: the speed covers the time from the first start to the last end"
            )
        elif self.window.seconds < SMALL_SHARE * self.seconds:
            found.append(
                f"all clients were active for only {self.window.seconds:,.2f} of {self.seconds:,.2f} s"
            )
        return tuple(found)


def _sum(values: Sequence[float | None]) -> float | None:
    """The sum; null if any value is unknown."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def on_duty(members: Sequence[ClientResult]) -> tuple[float, float] | None:
    """Start and end, in seconds from the common start, of the time in which all returning clients were active."""
    spans = [(one.began, one.ended) for one in members if one.began is not None and one.ended is not None]
    if not spans:
        return None
    begin, end = max(began for began, _ in spans), min(ended for _, ended in spans)
    return (begin, end) if end > begin else None


def client_notes(member: ClientResult, last: float) -> tuple[str, ...]:
    """Notes on a client's timing; `last` is when the last client ended."""
    found = member.clock.notes()
    sure = member.clock.unsure_ms / 1e3
    if member.began is not None and member.began - sure > LATE_SECONDS:
        found.append(f"it started {member.began:,.2f} s late")
    if member.ended is not None and last - member.ended - sure > EARLY_SHARE * max(last, 0.0):
        found.append(f"it ended {last - member.ended:,.2f} s before the last one")
    return tuple(found)


def lost_sentence(members: Sequence[ClientResult]) -> str:
    """The lost clients, by name; empty if there are none."""
    gone = [one for one in members if one.lost]
    if not gone:
        return ""
    names = "; ".join(f"client {one.name} {LOST} ({one.lost})" for one in gone)
    rest = len(members) - len(gone)
    return f"{names}: the figures cover the other {rest}" if rest else names
