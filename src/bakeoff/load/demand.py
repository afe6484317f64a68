"""What load is put on: clients in a closed loop, rates in an open one, or the search for the highest rate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from bakeoff.errors import SettingError
from bakeoff.load.open import Arrivals
from bakeoff.load.rates import Slo, parse_slo

Clients = Literal["threads", "processes"]
MOST_CLIENTS = 256


@dataclass(frozen=True, slots=True)
class Load:
    """One closed loop of so many clients, or one open loop at a rate a second."""

    kind: Literal["closed", "open"]
    concurrency: int
    rate: float | None = None
    clients: Clients = "threads"

    @property
    def name(self) -> str:
        """How it is shown: `4 threads`, `200/s`."""
        if self.rate is not None:
            return f"{self.rate:,.4g}/s" if self.rate < 1000 else f"{self.rate:,.0f}/s"
        one = {"threads": "thread", "processes": "process"}[self.clients]
        return f"{self.concurrency} {one if self.concurrency == 1 else self.clients}"


@dataclass(frozen=True, slots=True)
class Demand:
    """Closed loops by `concurrency`, open loops by `rates`, or the highest rate that keeps `slo`: one of the three.

    `seconds` is how long a pass lasts about, `timeout` how long one query may take, `workers` the open loop's threads.
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

    def __post_init__(self) -> None:
        if self.runs < 1 or self.workers < 1 or not self.timeout > 0 or not _positive(self.seconds):
            raise SettingError("--runs, --workers, --timeout and --seconds must be positive.")
        if self.arrivals not in get_args(Arrivals):
            raise SettingError(f"--arrivals is {self.arrivals!r}; it must be fixed or poisson.")
        if self.clients not in get_args(Clients):
            raise SettingError(f"--clients is {self.clients!r}; it must be threads or processes.")
        if self.clients == "processes" and (self.rates or self.slo):
            raise SettingError("--clients processes is for closed loops; an open loop sends from threads.")

    @property
    def loads(self) -> tuple[Load, ...]:
        """The loops to run, in the order asked for; none where a rate is searched for."""
        if self.slo is not None:
            return ()
        if self.rates:
            return tuple(Load("open", self.workers, rate) for rate in self.rates)
        return tuple(Load("closed", count, None, self.clients) for count in self.concurrency)


def parse_loads(
    concurrency: str | None, rates: str | None, slo: str | None
) -> tuple[tuple[int, ...], tuple[float, ...], Slo | None]:
    """The three kinds of load from the words of a command line; at most one may be given."""
    if sum(one is not None for one in (concurrency, rates, slo)) > 1:
        raise SettingError("--concurrency, --rates and --find-max-rate are three loads: give one of them.")
    return (
        _counts(concurrency or "1"),
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


def _positive(value: float) -> bool:
    return math.isfinite(value) and value > 0
