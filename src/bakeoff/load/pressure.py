"""One store under load: closed loops by threads, an open loop at a rate, or the highest rate that keeps a promise."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from bakeoff.cache import write_file
from bakeoff.errors import SettingError
from bakeoff.load.building import Built, build
from bakeoff.load.clock import Latency, Loop, statistics
from bakeoff.load.closed import HARNESS_LIMIT, WARM_UP, closed_loop, harness_seconds, warm_up
from bakeoff.load.datasets import VectorSet
from bakeoff.load.open import Arrivals, OpenLoop, open_loop
from bakeoff.load.rates import MaxRate, Slo, lowest_rate, max_rate, parse_slo
from bakeoff.load.resources import Resources, Sampler
from bakeoff.load.settings import Candidate
from bakeoff.machine import machine, versions


@dataclass(frozen=True, slots=True)
class Demand:
    """What load is put on; exactly one of threads, rate and slo is given."""

    threads: tuple[int, ...]
    rate: float | None
    slo: Slo | None
    seconds: float
    workers: int
    arrivals: Arrivals
    k: int
    timeout: float
    seed: int

    @classmethod
    def checked(
        cls,
        threads: str | None,
        rate: float | None,
        slo: str | None,
        seconds: float,
        workers: int,
        arrivals: str,
        k: int,
        timeout: float,
        seed: int,
    ) -> Demand:
        """From the words of a command line."""
        if sum(one is not None for one in (threads, rate, slo)) > 1:
            raise SettingError("--threads, --rate and --find-max-rate are three loads: give one of them.")
        if arrivals not in get_args(Arrivals):
            raise SettingError(f"--arrivals is {arrivals!r}; it must be fixed or poisson.")
        if k < 1 or not timeout > 0 or not seconds > 0:
            raise SettingError("--k, --timeout and --seconds must be positive.")
        counts = () if rate is not None or slo is not None else _counts(threads or "1")
        promise = parse_slo(slo) if slo is not None else None
        kind: Arrivals = "fixed" if arrivals == "fixed" else "poisson"
        return cls(counts, rate, promise, seconds, workers, kind, k, timeout, seed)


@dataclass(frozen=True, slots=True)
class LoadRow:
    """One loop in figures; latencies of an open loop count from the intended arrival."""

    name: str
    sent: int
    answered: int
    qps: float | None
    latencies: tuple[Latency, ...]
    lags: tuple[Latency, ...]
    errors: int
    timeouts: int
    stopped: str
    reached: bool | None

    @property
    def notes(self) -> tuple[str, ...]:
        """Why figures are missing or partial."""
        missing = [row.note for row in self.latencies if row.note]
        slow = [f"{self.name} was not reached"] if self.reached is False else []
        return (*missing, *slow, *([self.stopped] if self.stopped else []))

    def cells(self) -> list[str]:
        """The row for a table."""
        late = next((row.milliseconds for row in self.lags if row.name == "p99_ms"), None)
        middle = [_text(row.milliseconds, 3) for row in self.latencies if row.name != "mean_ms"]
        counts = [str(self.errors), str(self.timeouts)]
        head = [self.name, f"{self.sent:,}", f"{self.answered:,}", _text(self.qps, 0)]
        return [*head, *middle, _text(late, 3), *counts]


@dataclass(frozen=True, slots=True)
class Pressed:
    """All loops of one store; `harness` is the null store's cost in seconds a query by threads."""

    system: str
    setting: str
    rows: tuple[LoadRow, ...]
    highest: MaxRate | None
    harness: dict[int, float]
    resources: Resources
    build_seconds: float
    stopped: str

    def sentence(self) -> str:
        """What was found."""
        name = f"{self.system} ({self.setting})"
        if self.stopped:
            return f"Partial: {self.stopped}."
        if self.highest is not None:
            rate = self.highest.rate
            return (
                f"{name} keeps it up to {rate:,.0f} queries a second."
                if rate
                else f"{name} keeps it at no rate."
            )
        if self.rows[-1].reached is False:
            return f"{name} does not hold {self.rows[-1].name}: {self.rows[-1].qps or 0:,.0f} a second were answered."
        best = max(self.rows, key=lambda row: row.qps or 0.0)
        return f"{name}: {best.qps or 0:,.0f} queries a second at {best.name}{self._harness()}."

    def _harness(self) -> str:
        marked = [
            row.name
            for row, seconds in zip(self.rows, self.harness.values(), strict=False)
            if row.qps and seconds * row.qps > HARNESS_LIMIT
        ]
        return f"; the harness is over 5 % of the figure at {', '.join(marked)}" if marked else ""


def press(candidate: Candidate, value: int | None, dataset: VectorSet, demand: Demand) -> Pressed:
    """Build the store, warm it with other vectors, and put the load on."""
    if value is not None and not candidate.knob:
        raise SettingError(f"{candidate.label} has no ef or probes to set; leave --setting out.")
    if demand.threads and max(demand.threads) > len(dataset.queries):
        raise SettingError(
            f"{max(demand.threads)} threads and {len(dataset.queries)} queries: lower --threads."
        )
    harness = {n: harness_seconds(dataset.queries, demand.k, threads=n) for n in demand.threads}
    with tempfile.TemporaryDirectory(prefix="bakeoff-load-", ignore_cleanup_errors=True) as folder:
        built = build(candidate, dataset, Path(folder))
        with Sampler() as sampler:
            rows, highest = _pressed(built, value, dataset, demand)
        stopped = next((row.stopped for row in rows if row.stopped and demand.slo is None), "")
        stopped = highest.stopped if highest is not None else stopped
        if not any("did not come back" in row.stopped for row in rows):
            built.store.close()
    return Pressed(
        candidate.label,
        candidate.setting(value),
        rows,
        highest,
        harness,
        sampler.found,
        built.build_seconds,
        stopped,
    )


def write(folder: Path, found: Pressed, dataset: VectorSet, demand: Demand) -> dict[str, Any]:
    """Write record.json and return what it holds."""
    record = {
        "format": 1,
        "kind": "load",
        "status": "partial" if found.stopped else "done",
        "dataset": {"name": dataset.name, "fingerprint": dataset.fingerprint, "vectors": len(dataset.base)},
        "demand": asdict(demand),
        "found": asdict(found),
        "sentence": found.sentence(),
        "machine": machine(),
        "versions": versions(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / "record.json", json.dumps(record, indent=1, ensure_ascii=False).encode())
    return record


def _pressed(
    built: Built, value: int | None, dataset: VectorSet, demand: Demand
) -> tuple[tuple[LoadRow, ...], MaxRate | None]:
    search, query = built.store.search, built.candidate.query(value)
    asked, k, timeout = dataset.queries, demand.k, demand.timeout
    chosen = np.random.default_rng(demand.seed).choice(
        len(dataset.base), min(WARM_UP, len(dataset.base)), False
    )
    warm_up(search, dataset.base[chosen], k, query, timeout=timeout)
    if demand.threads:
        loops = [closed_loop(search, asked, k, query, threads=n, timeout=timeout) for n in demand.threads]
        return tuple(_closed_row(loop) for loop in loops), None
    rows: list[LoadRow] = []

    def send(rate: float) -> OpenLoop:
        loop = open_loop(
            search, asked, k, query, rate=rate, seconds=demand.seconds, workers=demand.workers,
            arrivals=demand.arrivals, seed=demand.seed, timeout=timeout,
        )  # fmt: skip
        rows.append(_open_row(loop))
        return loop

    if demand.slo is None:
        assert demand.rate is not None
        send(demand.rate)
        return tuple(rows), None
    highest = max_rate(send, demand.slo, lowest_rate(demand.slo, demand.seconds))
    return tuple(rows), highest


def _closed_row(loop: Loop) -> LoadRow:
    sent = len(loop.nanoseconds)
    found = statistics(loop.done, sent - len(loop.done))
    name = f"{loop.threads} thread{'s' if loop.threads > 1 else ''}"
    errors, timeouts = len(loop.errors), loop.timeouts
    return LoadRow(
        name, sent, len(loop.done), loop.qps_measured, found, (), errors, timeouts, loop.stopped, None
    )


def _open_row(loop: OpenLoop) -> LoadRow:
    return LoadRow(
        f"{loop.rate:,.0f}/s",
        len(loop.latency) - loop.unsent,
        loop.answered,
        loop.rate_measured,
        loop.latencies(),
        loop.lags(),
        len(loop.errors),
        loop.timeouts,
        loop.stopped,
        loop.reached,
    )


def _counts(text: str) -> tuple[int, ...]:
    try:
        counts = tuple(int(part) for part in text.split(","))
    except ValueError as exc:
        raise SettingError(f"--threads is {text!r}; write whole numbers by comma: 1,2,4.") from exc
    if min(counts) < 1 or max(counts) > 256 or len(set(counts)) != len(counts):
        raise SettingError(f"--threads is {text!r}; between 1 and 256, each once.")
    return counts


def _text(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"
