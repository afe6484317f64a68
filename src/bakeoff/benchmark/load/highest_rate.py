"""The highest rate at which a store keeps a promise such as p99<50ms, by open loops."""

from __future__ import annotations

import re
from collections.abc import Callable, Sized
from dataclasses import dataclass
from typing import Protocol

from bakeoff.errors import SettingError
from bakeoff.pipeline.loops.client_threads import INTERRUPTED
from bakeoff.pipeline.loops.loop_times import LatencySummary
from bakeoff.pipeline.timing import PERCENTILES, samples_needed

UNITS = {"us": 1e-3, "µs": 1e-3, "ms": 1.0, "s": 1e3}
HIGHEST = 50_000.0
STEPS = 5
_SLO = re.compile(r"\s*p(\d+)\s*<=?\s*([0-9.]+)\s*(us|µs|ms|s)\s*")


class RateTrial(Protocol):
    """An open loop that was sent, by one client or by several."""

    @property
    def reached(self) -> bool:
        """Whether the rate was held."""
        ...

    @property
    def stopped(self) -> str:
        """Why it ended early, if it did."""
        ...

    @property
    def errors(self) -> Sized | int:
        """The searches that failed, or how many."""
        ...

    @property
    def timeouts(self) -> int:
        """Answers that came too late or never."""
        ...

    def latencies(self) -> tuple[LatencySummary, ...]:
        """Percentiles in milliseconds."""
        ...


@dataclass(frozen=True, slots=True)
class Slo:
    """A promise: this percentile stays under so many milliseconds, with no error and the rate held."""

    percentile: int
    milliseconds: float

    def kept(self, loop: RateTrial) -> bool:
        """Whether a loop kept it."""
        found = next(row for row in loop.latencies() if row.name == f"p{self.percentile}_ms")
        within = found.milliseconds is not None and found.milliseconds < self.milliseconds
        return within and loop.reached and not loop.errors and not loop.timeouts


@dataclass(frozen=True, slots=True)
class MaxRate:
    """The highest rate that kept the promise, None where none did; `tried` in the order tried."""

    rate: float | None
    tried: tuple[tuple[float, bool], ...]
    stopped: str = ""


def parse_slo(text: str) -> Slo:
    """`p99<50ms` and the like."""
    match = _SLO.fullmatch(text)
    known = ", ".join(f"p{one}" for one in PERCENTILES)
    if (
        match is None
        or int(match[1]) not in PERCENTILES
        or match[2].count(".") > 1
        or not match[2].strip(".")
    ):
        raise SettingError(
            f"--slo is {text!r}; write a percentile and a limit, p99<50ms. Percentiles: {known}."
        )
    return Slo(int(match[1]), float(match[2]) * UNITS[match[3]])


def lowest_rate(slo: Slo, seconds: float) -> float:
    """The rate from which a loop of so many seconds has samples enough for the percentile."""
    return max(10.0, samples_needed(slo.percentile) / seconds)


def max_rate(send: Callable[[float], RateTrial], slo: Slo, start: float, highest: float = HIGHEST) -> MaxRate:
    """Doubling from `start` until the promise breaks, then bisection; a stop by Ctrl-C ends it early."""
    tried: list[tuple[float, bool]] = []
    stopped = ""

    def kept(rate: float) -> bool:
        nonlocal stopped
        loop = send(rate)
        stopped = loop.stopped if loop.stopped == INTERRUPTED else ""
        tried.append((rate, slo.kept(loop)))
        return tried[-1][1]

    good, rate = 0.0, min(start, highest)
    while kept(rate):
        good = rate
        if rate >= highest or stopped:
            return MaxRate(good, tuple(tried), stopped)
        rate = min(2 * rate, highest)
    bad = rate
    for _ in range(STEPS if good else 0):
        if stopped:
            break
        middle = (good + bad) / 2
        good, bad = (middle, bad) if kept(middle) else (good, middle)
    return MaxRate(good or None, tuple(tried), stopped)
