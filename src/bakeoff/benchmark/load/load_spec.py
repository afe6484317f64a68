"""What load is put on: clients in a closed loop, rates in an open one, or the search for the highest rate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from bakeoff.benchmark.load.highest_rate import Slo, parse_slo
from bakeoff.benchmark.open_loop import Arrivals
from bakeoff.errors import SettingError

Clients = Literal["threads", "processes"]
MOST_CLIENTS = 256


@dataclass(frozen=True, slots=True)
class LoadStep:
    """One closed loop of so many threads, or one open loop at a rate a second with so many threads in each process.

    `processes` client processes share it; 0: it is sent from this one, or from one for each thread by `clients`.
    """

    kind: Literal["closed", "open"]
    concurrency: int
    rate: float | None = None
    clients: Clients = "threads"
    processes: int = 0

    @property
    def name(self) -> str:
        """How it is shown: `4 threads`, `200/s`, `2 processes`, `200/s from 2 processes`."""
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
        """How many client processes there are; 0 where it is sent from this one."""
        each = self.clients == "processes" and self.kind == "closed"
        return self.processes or (self.concurrency if each else 0)


@dataclass(frozen=True, slots=True)
class LoadSpec:
    """Closed loops by `concurrency`, open loops by `rates`, or the highest rate that keeps `slo`: one of the three.

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
                "--clients processes is for closed loops; for an open one say how many: --clients 2."
            )
        if not 0 <= self.processes <= MOST_CLIENTS:
            raise SettingError(f"--clients is {self.processes}; between 1 and {MOST_CLIENTS} processes.")
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
        """The most client processes that are at work at once; 0 where there are none."""
        return self.processes or (max(self.concurrency) if self.clients == "processes" else 0)

    def open_load(self, rate: float) -> LoadStep:
        """The open loop at a rate."""
        return LoadStep("open", self.workers, rate, self.clients, self.processes)

    @property
    def loads(self) -> tuple[LoadStep, ...]:
        """The loops to run, in the order asked for; none where a rate is searched for."""
        if self.slo is not None:
            return ()
        if self.rates:
            return tuple(self.open_load(rate) for rate in self.rates)
        return tuple(
            LoadStep("closed", count, None, self.clients, self.processes) for count in self.concurrency
        )


def parse_clients(text: str) -> tuple[Clients, int]:
    """`threads`, `processes`, or how many processes share a load."""
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
    """The three kinds of load from the words of a command line; at most one may be given.

    Without one it is a closed loop of one thread, or of one in each process.
    """
    if sum(one is not None for one in (concurrency, rates, slo)) > 1:
        raise SettingError("--concurrency, --rates and --find-max-rate are three loads: give one of them.")
    return (
        _counts(concurrency or str(processes or 1)),
        _rates(rates) if rates is not None else (),
        parse_slo(slo) if slo is not None else None,
    )


def _counts(text: str) -> tuple[int, ...]:
    try:
        counts = tuple(int(part) for part in text.split(","))
    except ValueError as exc:
        raise SettingError(f"--concurrency is {text!r}; write whole numbers by comma: 1,2,4.") from exc
    if min(counts) < 1 or max(counts) > MOST_CLIENTS or len(set(counts)) != len(counts):
        raise SettingError(f"--concurrency is {text!r}; between 1 and {MOST_CLIENTS}, each once.")
    return counts


def _rates(text: str) -> tuple[float, ...]:
    try:
        rates = tuple(float(part) for part in text.split(","))
    except ValueError as exc:
        raise SettingError(f"--rates is {text!r}; write queries a second by comma: 100,200,400.") from exc
    if not all(_positive(rate) for rate in rates) or len(set(rates)) != len(rates):
        raise SettingError(f"--rates is {text!r}; queries a second above 0, each once.")
    return rates


def threads_text(count: int) -> str:
    """`1 thread`, `4 threads`."""
    return _several(count, "thread", "threads")


def _several(count: int, one: str, more: str) -> str:
    return f"{count} {one if count == 1 else more}"


def _positive(value: float) -> bool:
    return math.isfinite(value) and value > 0
