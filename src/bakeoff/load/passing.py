"""One load on one target, by threads of this process or by client processes, as a pass."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bakeoff.errors import StoreError
from bakeoff.load.demand import Demand, Load
from bakeoff.load.energy import Energy
from bakeoff.load.launching import Launcher
from bakeoff.load.messages import Share
from bakeoff.load.null import Nothing, NullStore, harness_seconds
from bakeoff.load.open import OpenLoop, open_loop
from bakeoff.load.passes import Pass, closed_pass, open_pass
from bakeoff.load.rates import Sent
from bakeoff.load.resources import Resources, Sampler
from bakeoff.load.targets import Pids, Target
from bakeoff.load.team import Team, gathered
from bakeoff.load.teamloop import TeamLoop
from bakeoff.stages.client_loop import closed_loop
from bakeoff.stages.client_threads import INTERRUPTED

WAITS = 3
"""Time-outs that a closed pass may add to its seconds: for connecting, for its last searches, and one to spare."""
NULL_SECONDS = 0.5
NULL_ASKED = 1000
COPIES = "an embedded store: each client process has opened it for itself, so this is what so many of them do"
ELSEWHERE = Energy(None, "clients on other machines are not in this machine's counters")
Harness = dict[Load, float]
Send = Callable[[Load, int], tuple[Sent, Pass]]


@dataclass(frozen=True, slots=True)
class Ground:
    """What every pass stands on: the demand, who knows the servers' processes, and who starts client processes."""

    demand: Demand
    pids: Pids
    launcher: Launcher

    def sampler(self, target: Target, *, team: bool = False) -> Sampler:
        """Of the target's server; what a driver of clients started itself answers none of their queries."""
        return Sampler(pids=self.pids(target.store, target.params), children=not team)

    def team(self, target: Target, load: Load) -> contextlib.AbstractContextManager[Team]:
        """The client processes of a load, with the target open."""
        if target.recipe is None:
            raise StoreError(f"{target.label} cannot be opened by another process.")
        return gathered(self.launcher, load.team, target.recipe, self.demand.timeout)


def one_pass(ground: Ground, target: Target, load: Load, run: int, known: Harness) -> Pass:
    """One load; `known` is what the harness costs by load."""
    if load.rate is not None:
        with sending(ground, target, known) as send:
            return send(load, run)[1]
    demand = ground.demand
    deadline = demand.seconds + WAITS * demand.timeout
    if load.team:
        share = _share(demand, load, deadline)
        with ground.team(target, load) as team:
            return _by_team(ground, team, target, load, run, known, share)[1]
    with ground.sampler(target) as sampler:
        loop = closed_loop(
            target.search, target.asked, target.k, target.query, threads=load.concurrency, seconds=demand.seconds,
            timeout=demand.timeout, deadline=deadline, keep=True, before=target.connect,
        )  # fmt: skip
    return closed_pass(target, load, run, loop, known.get(load), sampler.found)


@contextlib.contextmanager
def sending(ground: Ground, target: Target, known: Harness) -> Iterator[Send]:
    """Sends open loops one after the other; client processes stay for all of them."""
    demand = ground.demand

    def from_here(load: Load, run: int) -> tuple[Sent, Pass]:
        with ground.sampler(target) as sampler:
            loop = _open(target, load, demand, keep=True)
        if load not in known and loop.stopped != INTERRUPTED:  # who stopped it waits for nothing more
            known[load] = harness(target, load, demand)
        probe = demand.slo is not None
        return loop, open_pass(target, load, run, loop, known.get(load), sampler.found, probe=probe)

    if not demand.processes:
        yield from_here
        return
    with ground.team(target, demand.open_load(1.0)) as team:
        yield lambda load, run: _by_team(
            ground, team, target, load, run, known, _share(demand, load, 2 * demand.seconds + demand.timeout)
        )


def harness(target: Target, load: Load, demand: Demand) -> float:
    """What the loop of this process costs a query, in seconds: on the store that answers at once."""
    asked = _asked(target, max(NULL_ASKED, load.concurrency))
    if load.rate is None:
        return harness_seconds(asked, target.k, threads=load.concurrency)
    seconds = _null_seconds(demand, load.rate)
    loop = _open(
        replace(target, search=NullStore(Nothing(), Path()).search), load, replace(demand, seconds=seconds)
    )
    median = next(row.milliseconds for row in loop.latencies() if row.name == "p50_ms")
    return (median or 0.0) / 1e3


def _by_team(
    ground: Ground, team: Team, target: Target, load: Load, run: int, known: Harness, share: Share
) -> tuple[TeamLoop, Pass]:
    """A load by client processes; the first time they ask the null store before."""
    if load not in known:
        known[load] = _team_harness(team, load, share, ground.demand)
    with ground.sampler(target, team=True) as sampler:
        loop = team.run(share)
    return loop, team_pass(target, load, run, loop, known[load], sampler.found, ground.demand.slo is not None)


def team_pass(
    target: Target, load: Load, run: int, loop: TeamLoop, harness: float | None, used: Resources, probe: bool
) -> Pass:
    """The figures of several clients as one pass."""
    apart = len({one.host for one in loop.members}) > 1
    resources = replace(used, client=loop.use, energy=ELSEWHERE if apart else used.energy)
    closed = load.rate is None
    return Pass(
        target.label,
        load,
        run,
        loop.sent,
        loop.answered,
        loop.errors,
        loop.timeouts,
        loop.intended - loop.sent,
        sum(one.short for one in loop.told) if closed and target.full else None,
        loop.seconds,
        loop.mean_ms,
        loop.latency,
        loop.lag,
        None,
        loop.drift,
        harness,
        None if closed else loop.reached,
        resources,
        loop.error,
        loop.stopped,
        probe,
        loop.window,
        loop.members,
        (*loop.notes(), *([COPIES] if target.opening.index_bytes is not None else [])),
    )


def _team_harness(team: Team, load: Load, share: Share, demand: Demand) -> float:
    """Seconds a query of the whole team (closed), or of the median latency (open), on the null store."""
    asked: dict[str, float] = (
        {"requests": max(NULL_ASKED, load.concurrency) * load.team}
        if load.rate is None
        else {"seconds": _null_seconds(demand, load.rate)}
    )
    loop = team.run(share.model_copy(update={"null": True, **asked}))
    if loop.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    if loop.stopped:
        raise StoreError(f"{loop.stopped}.")
    if load.rate is None:
        each = [(one.ended - one.began) / one.answered for one in loop.told if one.answered]
        return float(np.median(each)) / load.team / 1e9
    return (loop.latency.percentile(50) or 0.0) / 1e9


def _share(demand: Demand, load: Load, deadline: float) -> Share:
    return Share(
        number=0,
        clients=load.team,
        threads=load.concurrency,
        timeout=demand.timeout,
        deadline=deadline,
        rate=load.rate,
        seconds=demand.seconds,
        arrivals=demand.arrivals,
        seed=demand.seed,
    )


def _open(target: Target, load: Load, demand: Demand, *, keep: bool = False) -> OpenLoop:
    assert load.rate is not None
    return open_loop(
        target.search, target.asked, target.k, target.query, rate=load.rate, seconds=demand.seconds,
        workers=load.concurrency, arrivals=demand.arrivals, seed=demand.seed, timeout=demand.timeout,
        keep=keep, before=target.connect,
    )  # fmt: skip


def _null_seconds(demand: Demand, rate: float) -> float:
    return min(demand.seconds, max(NULL_SECONDS, 20 / rate))


def _asked(target: Target, count: int) -> list[object]:
    """The queries in turn, so many."""
    size = len(target.asked)
    return [target.asked[i % size] for i in range(count)]
