"""How long judging takes (S4-46): by the reviewers' pace if known, else by a first guess, marked as such."""

from __future__ import annotations

import datetime
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bakeoff.review.ledger import LedgerEntry

PAUSE_S = 300.0
"""A longer gap between two entries is a pause and does not count for the pace."""
BURST_S = 0.2
"""A shorter gap is not a person: judgments imported from files arrive at once."""
RECENT = 50
LEAST_GAPS = 5
GUESS_S = (18.0, 36.0)
"""Assumed seconds per judgment: 400 in two to three hours, 200 in one to two (S4-46)."""
SPREAD = 1.5
"""A measured pace may be off by this factor either way: passages differ in length."""


@dataclass(frozen=True, slots=True)
class Effort:
    """Lowest and highest seconds that one person needs for `passages` open passages, and the basis of the estimate."""

    passages: int
    low_s: float
    high_s: float
    basis: str

    @property
    def sentence(self) -> str:
        """The estimate in words."""
        if not self.passages:
            return "Nothing is left to judge."
        spans = [_span(seconds) for seconds in (self.low_s, self.high_s)]
        return f"about {spans[0]} to {spans[1]} for one person, {self.basis}"


def estimate(passages: int, entries: Iterable[LedgerEntry] = ()) -> Effort:
    """The time that one person needs for the open passages; `entries` are the judgments so far."""
    by: dict[str, list[str]] = {}
    for entry in entries:
        by.setdefault(entry.reviewer, []).append(entry.time)
    paces = [each for times in by.values() if (each := pace(sorted(set(times)))) is not None]
    if not paces:
        low, high = GUESS_S
        return Effort(
            passages, passages * low, passages * high, f"a first guess at {low:g} to {high:g} s per passage"
        )
    each = sum(paces) / len(paces)
    basis = f"at {each:.0f} s per passage, the pace so far, give or take half"
    return Effort(passages, passages * each / SPREAD, passages * each * SPREAD, basis)


def pace(times: Sequence[str]) -> float | None:
    """The mean seconds between recent moments, without pauses; None if there are too few."""
    gaps = _gaps(times[-RECENT - 1 :])
    return sum(gaps) / len(gaps) if len(gaps) >= LEAST_GAPS else None


def median_pace(times: Sequence[str]) -> float | None:
    """The median seconds between moments, without pauses; None if there are too few."""
    gaps = _gaps(times)
    return statistics.median(gaps) if len(gaps) >= LEAST_GAPS else None


def _gaps(times: Sequence[str]) -> list[float]:
    stamps = [now_text(time) for time in times]
    gaps = [(b - a).total_seconds() for a, b in pairwise(stamps) if a is not None and b is not None]
    return [gap for gap in gaps if BURST_S <= gap <= PAUSE_S]


def now_text(time: str) -> datetime.datetime | None:
    """The moment an entry's time names, or None where it names none exactly."""
    try:
        moment = datetime.datetime.fromisoformat(time)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def _span(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    return f"{minutes} min" if minutes < 100 else f"{minutes / 60:.1f} h"
