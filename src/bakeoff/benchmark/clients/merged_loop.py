"""The results of several clients on one clock: rates over the window in which all were active.

A client's latencies are differences on its own clock. What several clients did at the same time is compared on the
driver's: the offset of each clock is measured several times before and after a load, as NTP does, and changes evenly
between the two checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bakeoff.benchmark.loop_report import LoopReport
from bakeoff.benchmark.passes import LOST
from bakeoff.benchmark.results.histogram import Histogram

ROUND_TRIPS = 16
UNSURE_MS = 10.0
"""A less precise offset is flagged: it limits the precision of the common window."""
WALL_MS = 100.0
"""A wall clock further off than this is reported; the window does not depend on it."""
DRIFT_PPM = 500.0
"""A faster drift is flagged; quartz stays below 100."""


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """One round trip in nanoseconds: our clock when sent and answered, theirs when received and replied."""

    sent: int
    heard: int
    said: int
    answered: int
    their_wall: int = 0
    our_wall: int = 0

    @property
    def delay(self) -> int:
        """Nanoseconds in transit, both ways."""
        return (self.answered - self.sent) - (self.said - self.heard)

    @property
    def middle(self) -> float:
        """Our clock at the midpoint."""
        return (self.sent + self.answered) / 2


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """Their clock minus ours in nanoseconds, accurate to `unsure`; `at` is our clock, `wall_ms` the wall clocks'."""

    nanoseconds: float
    unsure: float
    at: float
    wall_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class ClockCheck:
    """A client's offset before and after a load; `after` is null if it could no longer be measured."""

    before: ClockOffset
    after: ClockOffset | None = None

    @property
    def unsure_ms(self) -> float:
        """The error bound of the offset, from the worse check."""
        return max(one.unsure for one in (self.before, self.after) if one is not None) / 1e6

    @property
    def drift_ppm(self) -> float | None:
        """Microseconds per second by which their clock runs faster than ours."""
        if self.after is None or self.after.at <= self.before.at:
            return None
        return (self.after.nanoseconds - self.before.nanoseconds) / (self.after.at - self.before.at) * 1e6

    @property
    def drift_unsure_ppm(self) -> float | None:
        """The error bound of the drift."""
        if self.after is None or self.after.at <= self.before.at:
            return None
        return (self.after.unsure + self.before.unsure) / (self.after.at - self.before.at) * 1e6

    def to_our_clock(self, theirs: float) -> float:
        """Convert a reading of their clock to ours."""
        guess = theirs - self.before.nanoseconds
        drift = (self.drift_ppm or 0.0) / 1e6
        return self.before.at + (guess - self.before.at) / (1 + drift)

    def to_their_clock(self, ours: float) -> float:
        """Convert a reading of our clock to theirs."""
        drift = (self.drift_ppm or 0.0) / 1e6
        return ours + self.before.nanoseconds + (ours - self.before.at) * drift

    def notes(self) -> list[str]:
        """Notes on unusual offsets and drifts."""
        notes = []
        if self.unsure_ms > UNSURE_MS:
            notes.append(
                f"its clock offset is known only to ±{self.unsure_ms:,.1f} ms, and so is the common window"
            )
        if abs(self.before.wall_ms) > WALL_MS:
            side = "ahead of" if self.before.wall_ms > 0 else "behind"
            notes.append(
                f"its wall clock is {abs(self.before.wall_ms):,.0f} ms {side} the driver's; the window is corrected"
            )
        drift, unsure = self.drift_ppm, self.drift_unsure_ppm
        if drift is not None and unsure is not None and abs(drift) - unsure > DRIFT_PPM:
            notes.append(f"its clock drifts from the driver's by {drift:,.0f} ± {unsure:,.0f} µs per second")
        return notes


def offset_of(trips: Sequence[RoundTrip]) -> ClockOffset:
    """The offset by the fastest round trip, whose duration bounds the error: all of it may have been one way."""
    best = min(trips, key=lambda trip: trip.delay)
    nanoseconds = ((best.heard - best.sent) + (best.said - best.answered)) / 2
    wall = (best.their_wall - best.our_wall) / 1e6
    return ClockOffset(nanoseconds, max(best.delay, 0) / 2, best.middle, wall)


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
        notes = [f"client {one.name}: {note}" for one in self.members for note in one.notes]
        seconds = self.report.seconds
        if self.window is None:
            notes.append(
                "the clients share no window: the speed covers the time from the first start to the last end"
            )
        elif self.window.seconds < SMALL_SHARE * seconds:
            notes.append(f"all clients were active for only {self.window.seconds:,.2f} of {seconds:,.2f} s")
        return tuple(notes)


def on_duty(members: Sequence[ClientResult]) -> tuple[float, float] | None:
    """Start and end, in seconds from the common start, of the time in which all returning clients were active."""
    spans = [(one.began, one.ended) for one in members if one.began is not None and one.ended is not None]
    if not spans:
        return None
    begin, end = max(began for began, _ in spans), min(ended for _, ended in spans)
    return (begin, end) if end > begin else None


def client_notes(member: ClientResult, last: float) -> tuple[str, ...]:
    """Notes on a client's timing; `last` is when the last client ended."""
    notes = member.clock.notes()
    sure = member.clock.unsure_ms / 1e3
    if member.began is not None and member.began - sure > LATE_SECONDS:
        notes.append(f"it started {member.began:,.2f} s late")
    if member.ended is not None and last - member.ended - sure > EARLY_SHARE * max(last, 0.0):
        notes.append(f"it ended {last - member.ended:,.2f} s before the last one")
    return tuple(notes)


def lost_sentence(members: Sequence[ClientResult]) -> str:
    """The lost clients, by name; empty if there are none."""
    gone = [one for one in members if one.lost]
    if not gone:
        return ""
    names = "; ".join(f"client {one.name} {LOST} ({one.lost})" for one in gone)
    rest = len(members) - len(gone)
    return f"{names}: the figures cover the other {rest}" if rest else names
