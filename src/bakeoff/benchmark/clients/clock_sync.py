"""The offset of another machine's clock, measured several times before and after a load, as NTP does.

A client's latencies are differences on its own clock and need none of this. What several clients did at the same time
does: their readings are brought to the driver's clock by the offset, which changes evenly between the two checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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

    def ours(self, theirs: float) -> float:
        """Convert a reading of their clock to ours."""
        guess = theirs - self.before.nanoseconds
        drift = (self.drift_ppm or 0.0) / 1e6
        return self.before.at + (guess - self.before.at) / (1 + drift)

    def theirs(self, ours: float) -> float:
        """Convert a reading of our clock to theirs."""
        drift = (self.drift_ppm or 0.0) / 1e6
        return ours + self.before.nanoseconds + (ours - self.before.at) * drift

    def notes(self) -> list[str]:
        """Notes on unusual offsets and drifts."""
        found = []
        if self.unsure_ms > UNSURE_MS:
            found.append(
                f"its clock offset is known only to ±{self.unsure_ms:,.1f} ms, and so is the common window"
            )
        if abs(self.before.wall_ms) > WALL_MS:
            side = "ahead of" if self.before.wall_ms > 0 else "behind"
            found.append(
                f"its wall clock is {abs(self.before.wall_ms):,.0f} ms {side} the driver's; the window is corrected"
            )
        drift, unsure = self.drift_ppm, self.drift_unsure_ppm
        if drift is not None and unsure is not None and abs(drift) - unsure > DRIFT_PPM:
            found.append(f"its clock drifts from the driver's by {drift:,.0f} ± {unsure:,.0f} µs per second")
        return found


def offset_of(trips: Sequence[RoundTrip]) -> ClockOffset:
    """The offset by the fastest round trip, whose duration bounds the error: all of it may have been one way."""
    best = min(trips, key=lambda trip: trip.delay)
    nanoseconds = ((best.heard - best.sent) + (best.said - best.answered)) / 2
    wall = (best.their_wall - best.our_wall) / 1e6
    return ClockOffset(nanoseconds, max(best.delay, 0) / 2, best.middle, wall)
