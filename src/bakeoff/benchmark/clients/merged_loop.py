"""The merged result of several clients: histograms added, rates over the window in which all were active."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bakeoff.benchmark.clients.clock_sync import ClockCheck
from bakeoff.benchmark.loop_report import LoopReport
from bakeoff.benchmark.passes import LOST
from bakeoff.benchmark.results.histogram import Histogram

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

    @property
    def qps(self) -> float | None:
        """Answers per second; null without an answer."""
        return self.answered / self.seconds if self.answered else None


@dataclass(frozen=True, slots=True)
class ClientResult:
    """One client's figures; `began` and `ended` are seconds of the driver's clock from the common start.

    `lost` says why there are none. `in_window` are its answers in the common window.
    """

    number: int
    name: str
    host: str
    clock: ClockCheck
    report: LoopReport | None = field(default=None, repr=False)
    began: float | None = None
    ended: float | None = None
    in_window: int | None = None
    lost: str = ""
    notes: tuple[str, ...] = ()

    def latency(self) -> Histogram:
        """Its latencies; empty if it was lost."""
        return self.report.latency.histogram() if self.report else Histogram.of(np.empty(0, np.int64))

    def lag(self) -> Histogram | None:
        """How late it sent queries of an open loop."""
        return self.report.lag.histogram() if self.report and self.report.lag else None


@dataclass(frozen=True, slots=True)
class MergedLoop:
    """One load by several clients; `report` covers those with results, from the first start to the last end."""

    members: tuple[ClientResult, ...]
    window: CommonWindow | None
    report: LoopReport

    @property
    def one_machine(self) -> bool:
        """Whether all clients run on the same machine."""
        return len({one.host for one in self.members}) == 1

    def notes(self) -> tuple[str, ...]:
        """Notes on single clients and on their common window."""
        found = [f"client {one.name}: {note}" for one in self.members for note in one.notes]
        seconds = self.report.seconds
        if self.window is None:
            found.append(
                "there is no common window: the speed covers the time from the first start to the last end"
            )
        elif self.window.seconds < SMALL_SHARE * seconds:
            found.append(f"all clients were active for only {self.window.seconds:,.2f} of {seconds:,.2f} s")
        return tuple(found)


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
