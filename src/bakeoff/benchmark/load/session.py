"""Measures systems under load in turns: the null store first, then every load in every run; each pass is saved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from bakeoff.benchmark.clients.launch import Launcher, Processes
from bakeoff.benchmark.load_spec import HIGHEST, LoadSpec, LoadStep, MaxRate, lowest_rate, max_rate
from bakeoff.benchmark.passes import LOST, LoadPoint, Pass, load_points
from bakeoff.benchmark.run_pass import PassContext, harness_overhead, one_pass, open_loop_sender
from bakeoff.benchmark.session import Job, Session, Tell, finish_session, record_failure, rotate, run_jobs
from bakeoff.benchmark.targets import LoadTarget, Pids
from bakeoff.errors import StoreError
from bakeoff.pipeline.loops.client_threads import GONE, HUNG, INTERRUPTED
from bakeoff.pipeline.loops.closed_loop import WarmUp, warm_up
from bakeoff.runs.cost import Cost


@dataclass(frozen=True, slots=True)
class LoadOrigin:
    """What was measured: a `run`, an `experiment` or a `dataset`, by name and content."""

    kind: str
    name: str
    fingerprint: str
    queries: int


@dataclass(slots=True)
class LoadSession(Session):
    """Results so far; `cold` is the warm-up before the first measured queries, by system."""

    origin: LoadOrigin
    demand: LoadSpec
    targets: list[LoadTarget] = field(default_factory=list)
    harness: dict[LoadStep, float] = field(default_factory=dict)
    cold: dict[str, WarmUp] = field(default_factory=dict)
    passes: list[Pass] = field(default_factory=list)
    highest: dict[str, list[MaxRate]] = field(default_factory=dict)
    costs: dict[str, Cost] = field(default_factory=dict)

    def points(self) -> tuple[LoadPoint, ...]:
        """One point per system and load."""
        return load_points(self.passes)

    @property
    def hung(self) -> bool:
        """Whether a search still hangs, so that its store must not be closed."""
        return any(HUNG in why for why in (self.stopped, *self.failed.values()))


Save = Callable[[LoadSession], object]


def run_systems_under_load(
    session: LoadSession,
    opening: Sequence[tuple[str, Callable[[], LoadTarget]]],
    *,
    save: Save,
    tell: Tell,
    pids: Pids,
    launcher: Launcher | None = None,
) -> None:
    """Open every target, then measure; a failure is recorded and the others continue; Ctrl-C keeps finished passes."""
    context = PassContext(session.demand, pids, launcher or Processes())
    keep = partial(save, session)
    with finish_session(session, keep):
        for label, opened in opening:
            tell(f"{label}: opening")
            with record_failure(session.failed, label):
                session.targets.append(opened())
        if session.targets:
            _null_store(session, tell)
            keep()
            run_jobs(session, _jobs(session, context), keep, tell)


def _null_store(session: LoadSession, tell: Tell) -> None:
    """The harness overhead under each load, in seconds per query (F38); client processes measure their own."""
    tell("null store: overhead of the harness")
    for load in session.demand.loads:
        if not load.team:
            session.harness[load] = harness_overhead(session.targets[0], load, session.demand)


def _jobs(session: LoadSession, context: PassContext) -> Iterator[Job]:
    """Every load in every run; systems take turns within a load, and each run starts with another (F35)."""
    for run in range(session.demand.runs):
        for load in session.demand.loads or (None,):
            for target in rotate(session.targets, run):
                what = load.name if load else "searching the highest rate"
                title = f"run {run + 1} of {session.demand.runs}: {target.label}, {what}"
                yield Job(target.label, title, partial(_run_job, session, target, load, run, context))


def _run_job(
    session: LoadSession, target: LoadTarget, load: LoadStep | None, run: int, context: PassContext
) -> None:
    """Warm up with other queries, run one load, keep its result, and return why it ended early, if it did."""
    warm = warm_up(target.search, target.others, target.k, target.query, timeout=session.demand.timeout)
    session.cold.setdefault(target.label, warm)
    if load is None:
        _highest(session, target, run, context)
        return
    result = one_pass(context, target, load, run, session.harness)
    session.passes.append(result)
    _check_end(session, result)
    if GONE in result.loop.stopped and target.label not in session.failed:
        target.connect()  # an open loop lost its engine: check whether it is still gone


def _check_end(session: LoadSession, result: Pass) -> None:
    stopped = result.loop.stopped
    if stopped == INTERRUPTED:
        session.stopped = stopped
    elif stopped and (result.load.kind == "closed" or HUNG in stopped or LOST in stopped):
        session.failed[result.system] = stopped
    elif not result.loop.answered:
        why = result.loop.error or "no reason given"
        raise StoreError(f"no search of run {result.run + 1} at {result.load.name} was answered: {why}")


def _highest(session: LoadSession, target: LoadTarget, run: int, context: PassContext) -> None:
    """The search for the highest rate; each of its loops is a pass."""
    demand = session.demand
    assert demand.slo is not None
    with open_loop_sender(context, target, session.harness) as send:

        def try_rate(rate: float) -> Pass:
            session.passes.append(send(demand.open_load(rate), run))
            return session.passes[-1]

        highest = HIGHEST * max(1, demand.processes)
        highest_rate = max_rate(try_rate, demand.slo, lowest_rate(demand.slo, demand.seconds), highest)
    session.highest.setdefault(target.label, []).append(highest_rate)
    session.stopped = highest_rate.stopped
    last = session.passes[-1].loop.stopped
    if LOST in last or (HUNG in last and highest_rate.rate is None):
        session.failed[target.label] = last
