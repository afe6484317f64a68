"""Systems under load, taking turns: the null store first, then every load in every run; a pass is kept when it ends."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bakeoff.errors import StoreError, SystemFailure
from bakeoff.load.ann import ENGINE_FAULTS
from bakeoff.load.closed import WarmUp, closed_loop, harness_seconds, warm_up
from bakeoff.load.cost import Cost
from bakeoff.load.demand import Demand, Load
from bakeoff.load.null import Nothing, NullStore
from bakeoff.load.open import OpenLoop, open_loop
from bakeoff.load.passes import Pass, closed_pass, open_pass
from bakeoff.load.points import LoadPoint, load_points
from bakeoff.load.processes import process_loop
from bakeoff.load.rates import MaxRate, lowest_rate, max_rate
from bakeoff.load.resources import Sampler
from bakeoff.load.targets import Pids, Target
from bakeoff.load.workers import INTERRUPTED
from bakeoff.types import Status

MOST_ASKED = 50_000
"""Requests of one closed pass at most: enough for any percentile, and their answers fit in memory."""
NULL_SECONDS = 0.5
HUNG = "did not come back"


@dataclass(frozen=True, slots=True)
class Origin:
    """What was put under load: a `run`, an `experiment` or a `dataset`, by name and content."""

    kind: str
    name: str
    fingerprint: str
    queries: int


@dataclass(slots=True)
class Pressed:
    """What is known so far; `failed` says why by system, `cold` is what came before the measured queries.

    `pace` is a query's milliseconds in the fastest warm-up so far, from which the length of a pass is guessed.
    """

    origin: Origin
    demand: Demand
    targets: list[Target] = field(default_factory=list)
    harness: dict[Load, float] = field(default_factory=dict)
    cold: dict[str, WarmUp] = field(default_factory=dict)
    pace: dict[str, float] = field(default_factory=dict)
    passes: list[Pass] = field(default_factory=list)
    highest: dict[str, list[MaxRate]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    costs: dict[str, Cost] = field(default_factory=dict)
    status: Status = Status.PARTIAL
    stopped: str = ""

    def points(self) -> tuple[LoadPoint, ...]:
        """One point a system and load."""
        return load_points(self.passes)

    @property
    def hung(self) -> bool:
        """Whether a search was left behind, so that its store must not be closed."""
        return any(HUNG in why for why in (self.stopped, *self.failed.values()))


Save = Callable[[Pressed], object]
Tell = Callable[[str], None]


def press(
    found: Pressed, opening: Sequence[tuple[str, Callable[[], Target]]], *, save: Save, tell: Tell, pids: Pids
) -> None:
    """Open every target, then measure; one that fails is recorded and the others go on; Ctrl-C keeps what is there."""
    try:
        for label, opened in opening:
            tell(f"{label}: opening")
            with _failing(found, label):
                found.targets.append(opened())
        if found.targets:
            _null_store(found, tell)
            save(found)
            _measured(found, save, tell, pids)
    except KeyboardInterrupt:
        found.stopped = INTERRUPTED
    if not found.stopped:
        found.status = Status.FAILED if found.failed else Status.DONE
    save(found)


def _null_store(found: Pressed, tell: Tell) -> None:
    """What the harness itself costs under each load, in seconds a query (F38)."""
    tell("null store: what the harness itself costs")
    target = found.targets[0]
    for load in found.demand.loads:
        found.harness[load] = _harness(target, load, found.demand)


def _harness(target: Target, load: Load, demand: Demand) -> float:
    asked, k = _asked(target, max(1000, load.concurrency)), target.k
    if load.clients == "processes":
        return harness_seconds(asked, k) / load.concurrency
    if load.rate is None:
        return harness_seconds(asked, k, threads=load.concurrency)
    seconds = min(demand.seconds, max(NULL_SECONDS, 20 / load.rate))
    short = replace(demand, seconds=seconds)
    loop = _open(replace(target, search=NullStore(Nothing(), Path()).search), load, short)
    median = next(row.milliseconds for row in loop.latencies() if row.name == "p50_ms")
    return (median or 0.0) / 1e3


def _measured(found: Pressed, save: Save, tell: Tell, pids: Pids) -> None:
    """Every run goes through every load; within a load systems take turns, and each run begins with another (F35)."""
    for run in range(found.demand.runs):
        for load in found.demand.loads or (None,):
            for target in _turn(found.targets, run):
                if target.label in found.failed:
                    continue
                what = load.name if load else "searching the highest rate"
                tell(f"run {run + 1} of {found.demand.runs}: {target.label}, {what}")
                with _failing(found, target.label):
                    _one(found, target, load, run, pids)
                save(found)
                if found.stopped:
                    return


def _turn(targets: Sequence[Target], run: int) -> list[Target]:
    shift = run % len(targets) if targets else 0
    return [*targets[shift:], *targets[:shift]]


def _one(found: Pressed, target: Target, load: Load | None, run: int, pids: Pids) -> None:
    """Warm up with other queries, put one load on, keep what it gave, and say why it ended early if it did."""
    warm = warm_up(target.search, target.others, target.k, target.query, timeout=found.demand.timeout)
    found.cold.setdefault(target.label, warm)
    found.pace[target.label] = min(warm.rest_mean_ms or 0.001, found.pace.get(target.label, float("inf")))
    if load is None:
        _highest(found, target, run, pids)
        return
    made = (_closed if load.kind == "closed" else _opened)(found, target, load, run, pids)
    found.passes.append(made)
    _judge_end(found, made)


def _judge_end(found: Pressed, made: Pass) -> None:
    if made.stopped == INTERRUPTED:
        found.stopped = made.stopped
    elif made.stopped and (made.load.kind == "closed" or HUNG in made.stopped):
        found.failed[made.system] = made.stopped
    elif not made.answered:
        raise StoreError(f"every search failed: {made.error or 'no reason given'}")


def _closed(found: Pressed, target: Target, load: Load, run: int, pids: Pids) -> Pass:
    demand, harness = found.demand, found.harness.get(load)
    each = found.pace[target.label] / 1e3
    count = requests(len(target.asked), each, demand.seconds)
    deadline = max(4 * demand.seconds, 4 * count * each) + demand.timeout
    with Sampler(pids=pids(target.store, target.params)) as sampler:
        if load.clients == "processes":
            assert target.recipe is not None
            shared = process_loop(
                target.recipe,
                count,
                load.concurrency,
                timeout=demand.timeout,
                deadline=deadline,
                sampler=sampler,
            )
            loop, short = shared.loop, shared.short
        else:
            loop = closed_loop(
                target.search, _asked(target, count), target.k, target.query,
                threads=load.concurrency, timeout=demand.timeout, deadline=deadline,
            )  # fmt: skip
            short = None
    return closed_pass(target, load, run, loop, harness, sampler.found, short)


def _opened(found: Pressed, target: Target, load: Load, run: int, pids: Pids) -> Pass:
    with Sampler(pids=pids(target.store, target.params)) as sampler:
        loop = _open(target, load, found.demand)
    return open_pass(target, load, run, loop, found.harness.get(load), sampler.found, probe=False)


def _highest(found: Pressed, target: Target, run: int, pids: Pids) -> None:
    """The search for the highest rate; every loop it makes is a pass of its own."""
    demand = found.demand
    assert demand.slo is not None

    def send(rate: float) -> OpenLoop:
        load = Load("open", demand.workers, rate)
        with Sampler(pids=pids(target.store, target.params)) as sampler:
            loop = _open(target, load, demand)
        found.harness.setdefault(load, _harness(target, load, demand))
        found.passes.append(
            open_pass(target, load, run, loop, found.harness[load], sampler.found, probe=True)
        )
        return loop

    made = max_rate(send, demand.slo, lowest_rate(demand.slo, demand.seconds))
    found.highest.setdefault(target.label, []).append(made)
    found.stopped = made.stopped
    if HUNG in found.passes[-1].stopped and made.rate is None:
        found.failed[target.label] = found.passes[-1].stopped


def _open(target: Target, load: Load, demand: Demand) -> OpenLoop:
    assert load.rate is not None
    return open_loop(
        target.search, target.asked, target.k, target.query, rate=load.rate, seconds=demand.seconds,
        workers=load.concurrency, arrivals=demand.arrivals, seed=demand.seed, timeout=demand.timeout,
    )  # fmt: skip


def requests(queries: int, each: float, seconds: float) -> int:
    """How many requests a closed pass makes: every query at least once, then in turn for about so many seconds."""
    return max(queries, min(MOST_ASKED, round(seconds / max(each, 1e-9))))


def _asked(target: Target, count: int) -> list[object]:
    """The queries in turn, so many."""
    size = len(target.asked)
    return [target.asked[i % size] for i in range(count)]


@contextlib.contextmanager
def _failing(found: Pressed, label: str) -> Iterator[None]:
    """A failure of one system is written down; the others go on (F39)."""
    try:
        yield
    except SystemFailure as exc:
        found.failed[label] = str(exc)
    except ENGINE_FAULTS as exc:
        found.failed[label] = f"{type(exc).__name__}: {exc}"
