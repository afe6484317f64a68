"""The load on a system: clients in a closed loop, rates in an open loop, or a search for the highest rate."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from bakeoff.benchmark.open_loop import Arrivals
from bakeoff.errors import SettingError
from bakeoff.pipeline.loops.client_threads import INTERRUPTED
from bakeoff.pipeline.timing import PERCENTILES, samples_needed

if TYPE_CHECKING:
    from bakeoff.benchmark.passes import Pass

UNITS = {"us": 1e-3, "µs": 1e-3, "ms": 1.0, "s": 1e3}
HIGHEST = 50_000.0
STEPS = 5
_SLO = re.compile(r"\s*p(\d+)\s*<=?\s*([0-9.]+)\s*(us|µs|ms|s)\s*")


@dataclass(frozen=True, slots=True)
class Slo:
    """A service-level objective: a percentile below a limit in milliseconds, without errors, at the intended rate."""

    percentile: int
    milliseconds: float

    def is_kept(self, one: Pass) -> bool:
        """Whether a pass met it."""
        milliseconds = one.percentile(self.percentile)
        within = milliseconds is not None and milliseconds < self.milliseconds
        return within and bool(one.reached) and not one.loop.errors and not one.loop.timeouts


@dataclass(frozen=True, slots=True)
class MaxRate:
    """The highest rate that met the SLO, None if none did; `tried` lists all rates in order."""

    rate: float | None
    tried: tuple[tuple[float, bool], ...]
    stopped: str = ""


def parse_slo(text: str) -> Slo:
    """Parse an SLO such as `p99<50ms`."""
    match = _SLO.fullmatch(text)
    choices = ", ".join(f"p{one}" for one in PERCENTILES)
    if (
        match is None
        or int(match[1]) not in PERCENTILES
        or match[2].count(".") > 1
        or not match[2].strip(".")
    ):
        raise SettingError(
            f"--slo is {text!r}; write a percentile and a limit, p99<50ms. Percentiles: {choices}."
        )
    return Slo(int(match[1]), float(match[2]) * UNITS[match[3]])


def lowest_rate(slo: Slo, seconds: float) -> float:
    """The lowest rate at which a loop of this length has enough samples for the percentile."""
    return max(10.0, samples_needed(slo.percentile) / seconds)


def max_rate(send: Callable[[float], Pass], slo: Slo, start: float, highest: float = HIGHEST) -> MaxRate:
    """Double from `start` until the SLO is missed, then bisect; Ctrl-C ends it early."""
    tried: list[tuple[float, bool]] = []
    stopped = ""

    def kept(rate: float) -> bool:
        nonlocal stopped
        one = send(rate)
        stopped = one.loop.stopped if one.loop.stopped == INTERRUPTED else ""
        tried.append((rate, slo.is_kept(one)))
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


Clients = Literal["threads", "processes"]
MOST_CLIENTS = 256


@dataclass(frozen=True, slots=True)
class LoadStep:
    """A closed loop with N threads, or an open loop at a rate per second with N threads in each process.

    `processes` client processes share it; 0: it is sent from this one, or from one for each thread by `clients`.
    """

    kind: Literal["closed", "open"]
    concurrency: int
    rate: float | None = None
    clients: Clients = "threads"
    processes: int = 0

    @property
    def name(self) -> str:
        """Its display name: `4 threads`, `200/s`, `2 processes`, `200/s from 2 processes`."""
        shared = _several(self.team, "process", "processes") if self.team else ""
        if self.rate is not None:
            rate = f"{self.rate:,.4g}/s" if self.rate < 1000 else f"{self.rate:,.0f}/s"
            return f"{rate} from {shared}" if shared else rate
        if self.team == self.concurrency:
            return shared
        threads = threads_text(self.concurrency)
        return f"{threads} in {shared}" if shared else threads

    @property
    def team(self) -> int:
        """The number of client processes; 0 if this process sends."""
        each = self.clients == "processes" and self.kind == "closed"
        return self.processes or (self.concurrency if each else 0)


@dataclass(frozen=True, slots=True)
class LoadSpec:
    """Closed loops by `concurrency`, open loops by `rates`, or the highest rate that meets `slo`: one of the three.

    `seconds` is how long a pass lasts, `timeout` how long one query may take, `workers` the open loop's threads
    in each process. `processes` client processes share a load; of `clients` "processes" there is one for each thread.
    """

    concurrency: tuple[int, ...] = (1,)
    rates: tuple[float, ...] = ()
    slo: Slo | None = None
    clients: Clients = "threads"
    runs: int = 3
    seconds: float = 5.0
    workers: int = 16
    arrivals: Arrivals = "poisson"
    timeout: float = 10.0
    seed: int = 7
    processes: int = 0

    def __post_init__(self) -> None:
        if self.runs < 1 or self.workers < 1 or not self.timeout > 0 or not _positive(self.seconds):
            raise SettingError("--runs, --workers, --timeout and --seconds must be positive.")
        if self.arrivals not in get_args(Arrivals):
            raise SettingError(f"--arrivals is {self.arrivals!r}; it must be fixed or poisson.")
        if self.clients not in get_args(Clients):
            raise SettingError(f"--clients is {self.clients!r}; it must be threads or processes.")
        if self.clients == "processes" and not self.processes and (self.rates or self.slo):
            raise SettingError(
                "--clients processes applies only to closed loops; for an open loop give a number: --clients 2."
            )
        if not 0 <= self.processes <= MOST_CLIENTS:
            raise SettingError(f"--clients is {self.processes}; it must be between 1 and {MOST_CLIENTS}.")
        if self.closed and self.processes > min(self.concurrency):
            raise SettingError(
                f"--clients is {self.processes} and --concurrency {min(self.concurrency)}: each client process needs "
                "a thread. Raise --concurrency."
            )

    @property
    def closed(self) -> bool:
        """Whether closed loops are asked for."""
        return not self.rates and self.slo is None

    @property
    def most_processes(self) -> int:
        """The most client processes at a time; 0 if there are none."""
        return self.processes or (max(self.concurrency) if self.clients == "processes" else 0)

    def open_load(self, rate: float) -> LoadStep:
        """The open loop at a rate."""
        return LoadStep("open", self.workers, rate, self.clients, self.processes)

    @property
    def loads(self) -> tuple[LoadStep, ...]:
        """The loops to run, in the given order; empty if a rate is searched for."""
        if self.slo is not None:
            return ()
        if self.rates:
            return tuple(self.open_load(rate) for rate in self.rates)
        return tuple(
            LoadStep("closed", count, None, self.clients, self.processes) for count in self.concurrency
        )


def parse_clients(text: str) -> tuple[Clients, int]:
    """Parse `threads`, `processes`, or a number of processes."""
    if text in get_args(Clients):
        return ("processes" if text == "processes" else "threads"), 0
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MOST_CLIENTS:
        raise SettingError(
            f"--clients is {text!r}; it must be threads, processes, or a number of processes from 1 to {MOST_CLIENTS}."
        )
    return "processes", int(text)


def parse_loads(
    concurrency: str | None, rates: str | None, slo: str | None, processes: int = 0
) -> tuple[tuple[int, ...], tuple[float, ...], Slo | None]:
    """The load of a command line; at most one of three kinds may be given.

    Without one it is a closed loop of one thread, or of one in each process.
    """
    if sum(one is not None for one in (concurrency, rates, slo)) > 1:
        raise SettingError("--concurrency, --rates and --find-max-rate exclude each other: give one of them.")
    return (
        _counts(concurrency or str(processes or 1)),
        _rates(rates) if rates is not None else (),
        parse_slo(slo) if slo is not None else None,
    )


def _counts(text: str) -> tuple[int, ...]:
    try:
        counts = tuple(int(part) for part in text.split(","))
    except ValueError as exc:
        raise SettingError(
            f"--concurrency is {text!r}; write whole numbers separated by commas: 1,2,4."
        ) from exc
    if min(counts) < 1 or max(counts) > MOST_CLIENTS or len(set(counts)) != len(counts):
        raise SettingError(
            f"--concurrency is {text!r}; numbers must be between 1 and {MOST_CLIENTS} and differ."
        )
    return counts


def _rates(text: str) -> tuple[float, ...]:
    try:
        rates = tuple(float(part) for part in text.split(","))
    except ValueError as exc:
        raise SettingError(
            f"--rates is {text!r}; write queries per second separated by commas: 100,200,400."
        ) from exc
    if not all(_positive(rate) for rate in rates) or len(set(rates)) != len(rates):
        raise SettingError(f"--rates is {text!r}; rates must be above 0 and differ.")
    return rates


def threads_text(count: int) -> str:
    """`1 thread`, `4 threads`."""
    return _several(count, "thread", "threads")


def _several(count: int, one: str, more: str) -> str:
    return f"{count} {one if count == 1 else more}"


def _positive(value: float) -> bool:
    return math.isfinite(value) and value > 0
