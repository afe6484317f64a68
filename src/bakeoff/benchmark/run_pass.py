"""Runs one load on one target, by threads of this process or by client processes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bakeoff.benchmark.clients.driver import ClientDriver, gather_clients
from bakeoff.benchmark.clients.launch import Launcher
from bakeoff.benchmark.clients.messages import LoadShare
from bakeoff.benchmark.load_spec import LoadSpec, LoadStep
from bakeoff.benchmark.loop_report import closed_report, open_report
from bakeoff.benchmark.null_store import NoParams, NullStore, harness_seconds
from bakeoff.benchmark.open_loop import OpenLoop, open_loop
from bakeoff.benchmark.passes import Pass, quality_under_load
from bakeoff.benchmark.resources.usage import Energy, Sampler
from bakeoff.benchmark.targets import LoadTarget, Pids
from bakeoff.errors import StoreError
from bakeoff.pipeline.loops.client_threads import INTERRUPTED
from bakeoff.pipeline.loops.closed_loop import closed_loop

WAITS = 3
"""Timeouts that a closed pass may add to its seconds: for connecting, for its last searches, and one spare."""
NULL_SECONDS = 0.5
NULL_ASKED = 1000
COPIES = "each client process opened its own embedded store: this is their combined throughput"
ELSEWHERE = Energy(None, "this machine's counters do not cover clients on other machines")
Harness = dict[LoadStep, float]
Send = Callable[[LoadStep, int], Pass]


@dataclass(frozen=True, slots=True)
class PassContext:
    """What every pass needs: the load, the look-up of server processes, and the launcher of client processes."""

    demand: LoadSpec
    pids: Pids
    launcher: Launcher

    def sampler(self, target: LoadTarget, *, team: bool = False) -> Sampler:
        """Process ids of the target's server, without client processes, which answer no queries."""
        return Sampler(pids=self.pids(target.store, target.params), children=not team)

    def team(self, target: LoadTarget, load: LoadStep) -> contextlib.AbstractContextManager[ClientDriver]:
        """The client processes of a load, with the target open."""
        if target.recipe is None:
            raise StoreError(f"{target.label} cannot be opened by another process.")
        return gather_clients(self.launcher, load.team, target.recipe, self.demand.timeout)


def one_pass(context: PassContext, target: LoadTarget, load: LoadStep, run: int, harness: Harness) -> Pass:
    """One load; `harness` is what the harness costs by load."""
    if load.rate is not None:
        with open_loop_sender(context, target, harness) as send:
            return send(load, run)
    demand = context.demand
    deadline = demand.seconds + WAITS * demand.timeout
    if load.team:
        with context.team(target, load) as team:
            return _by_team(context, team, target, load, run, known=harness, deadline=deadline)
    with context.sampler(target) as sampler:
        loop = closed_loop(
            target.search, target.queries, target.k, target.query, threads=load.concurrency, seconds=demand.seconds,
            timeout=demand.timeout, deadline=deadline, keep=True, before=target.connect,
        )  # fmt: skip
    used = sampler.result
    report = closed_report(loop, target, used.client)
    complete = not loop.stopped and any(hits is not None for hits in loop.answers)
    return Pass(
        system=target.label,
        load=load,
        run=run,
        loop=report,
        harness_seconds=harness.get(load),
        resources=used,
        quality=quality_under_load(target, loop.answers) if complete else None,
        short=report.short if target.full else None,
    )


@contextlib.contextmanager
def open_loop_sender(context: PassContext, target: LoadTarget, harness: Harness) -> Iterator[Send]:
    """Sends open loops one after the other with the same client processes."""
    demand = context.demand

    def from_here(load: LoadStep, run: int) -> Pass:
        with context.sampler(target) as sampler:
            loop = _open(target, load, demand, keep=True)
        if load not in harness and loop.stopped != INTERRUPTED:  # after a stop, do not wait
            harness[load] = harness_overhead(target, load, demand)
        used = sampler.result
        return Pass(
            system=target.label,
            load=load,
            run=run,
            loop=open_report(loop, target, used.client, began=0, ended=round(loop.seconds * 1e9)),
            harness_seconds=harness.get(load),
            resources=used,
            probe=demand.slo is not None,
        )

    if not demand.processes:
        yield from_here
        return
    deadline = 2 * demand.seconds + demand.timeout
    with context.team(target, demand.open_load(1.0)) as team:
        yield lambda load, run: _by_team(context, team, target, load, run, known=harness, deadline=deadline)


def harness_overhead(target: LoadTarget, load: LoadStep, demand: LoadSpec) -> float:
    """This process's loop overhead in seconds per query, measured on the null store."""
    queries = _repeat_queries(target, max(NULL_ASKED, load.concurrency))
    if load.rate is None:
        return harness_seconds(queries, target.k, threads=load.concurrency)
    seconds = _null_seconds(demand, load.rate)
    loop = _open(
        replace(target, search=NullStore(NoParams(), Path()).search), load, replace(demand, seconds=seconds)
    )
    median = next(row.milliseconds for row in loop.latencies() if row.name == "p50_ms")
    return (median or 0.0) / 1e3


def _by_team(
    context: PassContext,
    team: ClientDriver,
    target: LoadTarget,
    load: LoadStep,
    run: int,
    known: Harness,
    deadline: float,
) -> Pass:
    """A load by client processes, which first measure the null store once."""
    share = _share(context.demand, load, deadline)
    if load not in known:
        known[load] = _team_harness(team, load, share, context.demand)
    with context.sampler(target, team=True) as sampler:
        loop = team.run(share)
    used, report = sampler.result, loop.report
    return Pass(
        system=target.label,
        load=load,
        run=run,
        loop=report,
        harness_seconds=known[load],
        resources=replace(used, client=report.use, energy=used.energy if loop.one_machine else ELSEWHERE),
        short=report.short if load.rate is None and target.full else None,
        probe=context.demand.slo is not None,
        window=loop.window,
        team=loop.members,
        notes=(*loop.notes(), *([COPIES] if target.opening.index_bytes is not None else [])),
    )


def _team_harness(team: ClientDriver, load: LoadStep, share: LoadShare, demand: LoadSpec) -> float:
    """Seconds per query of all clients (closed loop), or the median latency (open loop), on the null store."""
    seconds: dict[str, float] = (
        {"requests": max(NULL_ASKED, load.concurrency) * load.team}
        if load.rate is None
        else {"seconds": _null_seconds(demand, load.rate)}
    )
    loop = team.run(share.model_copy(update={"null": True, **seconds}))
    stopped = loop.report.stopped
    if stopped == INTERRUPTED:
        raise KeyboardInterrupt
    if stopped:
        raise StoreError(f"{stopped}.")
    if load.rate is None:
        reports = [one.report for one in loop.members if one.report and one.report.answered]
        return float(np.median([one.seconds / one.answered for one in reports])) / load.team
    return (loop.report.latency.histogram().percentile(50) or 0.0) / 1e9


def _share(demand: LoadSpec, load: LoadStep, deadline: float) -> LoadShare:
    return LoadShare(
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


def _open(target: LoadTarget, load: LoadStep, demand: LoadSpec, *, keep: bool = False) -> OpenLoop:
    assert load.rate is not None
    return open_loop(
        target.search, target.queries, target.k, target.query, rate=load.rate, seconds=demand.seconds,
        workers=load.concurrency, arrivals=demand.arrivals, seed=demand.seed, timeout=demand.timeout,
        keep=keep, before=target.connect,
    )  # fmt: skip


def _null_seconds(demand: LoadSpec, rate: float) -> float:
    return min(demand.seconds, max(NULL_SECONDS, 20 / rate))


def _repeat_queries(target: LoadTarget, count: int) -> list[object]:
    """A number of queries, cycling through the given ones."""
    size = len(target.queries)
    return [target.queries[i % size] for i in range(count)]
