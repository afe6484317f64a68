"""bakeoff load from start to finish: opens systems, measures them under load, computes costs and stores results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bakeoff.benchmark.clients.launch import Launcher, choose_launcher
from bakeoff.benchmark.load.experiment_targets import ExperimentTargets
from bakeoff.benchmark.load.record import save_load
from bakeoff.benchmark.load.session import LoadOrigin, LoadSession, run_systems_under_load
from bakeoff.benchmark.load_spec import LoadSpec
from bakeoff.benchmark.results.load_results import LOADS
from bakeoff.benchmark.session import record_failure
from bakeoff.benchmark.stores import parse_store_specs
from bakeoff.benchmark.targets import LoadTarget, Pids, check_dataset, vector_target
from bakeoff.benchmark.vectors.datasets import open_dataset
from bakeoff.benchmark.vectors.neighbours import truth_of
from bakeoff.config import experiment
from bakeoff.config.experiment_file import Prices
from bakeoff.config.plan import ModelFile, System
from bakeoff.errors import SettingError
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.loops.client_threads import HUNG
from bakeoff.pipeline.loops.closed_loop import check_workers
from bakeoff.pipeline.shared_artifacts import STAND_IN
from bakeoff.runs.cost import Cost, PricedCost, TokenUse, Usage, estimate_cost, run_usage
from bakeoff.runs.live.plan_of_run import choose_systems, plan_of_run
from bakeoff.stats.repeat_summary import summarise
from bakeoff.storage.dated_folder import result_folder
from bakeoff.storage.temp_dir import TempDir
from bakeoff.types import Metric

RUNS = Path("runs")
EMBEDDED_BEFORE = "queries were embedded beforehand; --end-to-end includes that time"
Opening = list[tuple[str, Callable[[], LoadTarget]]]


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """The user's request; `what` is a run's folder, an experiment or a vector dataset.

    `executor` says where client processes run, if not on this machine; `keep` leaves collections on their server.
    """

    what: str
    demand: LoadSpec
    systems: str | None = None
    end_to_end: bool = False
    experiment: Path | None = None
    models: Path | None = None
    stores: str | None = None
    setting: int | None = None
    k: int | None = None
    queries: int | None = None
    metric: Metric | None = None
    out: Path | None = None
    executor: str | None = None
    keep: bool = False


@dataclass(frozen=True, slots=True)
class LoadOutcome:
    """A finished load: what it found, where it is, and at which prices."""

    found: LoadSession
    folder: Path
    prices: Prices | None


@dataclass(frozen=True, slots=True)
class LoadDeps:
    """The artifact cache, the progress listener and the look-up of server processes."""

    context: StageContext
    tell: Callable[[str], None]
    warn: Callable[[str], None]
    pids: Pids


def run_load(job: LoadRequest, tools: LoadDeps) -> LoadOutcome:
    """Measure the named systems under load."""
    if job.k is not None and job.k < 1:
        raise SettingError(f"--k is {job.k}; it must be at least 1.")
    clients = job.demand.most_processes
    if job.executor and not clients:
        raise SettingError("--executor needs a number of client processes: add --clients 2.")
    with choose_launcher(job.executor, clients) as launcher:
        return _run(job, tools, launcher)


def _run(job: LoadRequest, tools: LoadDeps, launcher: Launcher) -> LoadOutcome:
    path = Path(job.what)
    if not job.what.startswith("synthetic:") and (_is_run(path) or _is_experiment(path)):
        _refuse(job, "a vector dataset", {"stores": job.stores, "setting": job.setting, "metric": job.metric})
        return _systems(job, path, tools, launcher)
    _refuse(
        job,
        "a run or an experiment",
        {"systems": job.systems, "experiment": job.experiment, "models": job.models},
    )
    if job.end_to_end:
        raise SettingError("--end-to-end applies only to runs and experiments: vectors need no embedding.")
    return _dataset(job, tools, launcher)


def _systems(job: LoadRequest, path: Path, tools: LoadDeps, launcher: Launcher) -> LoadOutcome:
    if _is_run(path):
        plan, file, result = plan_of_run(path, job.experiment, job.models)
    else:
        plan, file, result = experiment.load(path, ModelFile(job.models)), path, None
    file = file / "bakeoff.yaml" if file.is_dir() else file
    chosen = choose_systems(plan, job.systems, result.letters if result else None)
    opened = ExperimentTargets(plan, file, tools.context, k=job.k, result=result, queries=job.queries)
    origin = LoadOrigin(
        "run" if result else "experiment",
        path.name if result else plan.name,
        plan.fingerprint(),
        opened.count,
    )
    _check_clients(job.demand, opened.count)
    session, prices = LoadSession(origin, job.demand), plan.settings.prices
    by_label = {system.label: system for system in chosen}
    parent, name = (path / LOADS, "") if result else (RUNS, f"load-{_slug(plan.name)}")

    def keep(folder: Path, session: LoadSession) -> None:
        if prices is not None:
            session.costs = _costs(session, by_label, opened, prices, job.end_to_end)
        save_load(folder, session, prices)

    opening: Opening = [
        (label, partial(opened.target, system, job.end_to_end, tools.pids))
        for label, system in by_label.items()
    ]
    with result_folder(job.out, parent, name) as folder:
        try:
            run_systems_under_load(
                session,
                opening,
                save=partial(keep, folder),
                tell=tools.tell,
                pids=tools.pids,
                launcher=launcher,
            )
        finally:
            if not session.hung:
                opened.close()
    return LoadOutcome(session, folder, prices)


def _dataset(job: LoadRequest, tools: LoadDeps, launcher: Launcher) -> LoadOutcome:
    chosen, seed = parse_store_specs((job.stores or "faiss").split(",")), job.demand.seed
    dataset = open_dataset(job.what, metric=job.metric, queries=job.queries, seed=seed)
    for note in dataset.notes:
        tools.warn(note)
    k = job.k or 10
    check_dataset(chosen, dataset, k, job.setting)
    _check_clients(job.demand, len(dataset.queries))
    tools.tell(f"exact neighbours of {len(dataset.queries):,} queries among {len(dataset.base):,} vectors")
    truth = truth_of(dataset, k, tools.context.cache)
    session = LoadSession(
        LoadOrigin("dataset", dataset.name, dataset.fingerprint, len(dataset.queries)), job.demand
    )
    with TempDir("load") as home, result_folder(job.out, RUNS, f"load-{_slug(dataset.name)}") as folder:
        opening: Opening = [
            (
                one.label,
                partial(
                    vector_target, one, dataset, home / str(number), name=job.what, k=k, setting=job.setting,
                    seed=seed, truth=truth, pids=tools.pids(one.name, one.params), keep=job.keep,
                ),
            )
            for number, one in enumerate(chosen)
        ]  # fmt: skip
        try:
            run_systems_under_load(
                session,
                opening,
                save=partial(save_load, folder),
                tell=tools.tell,
                pids=tools.pids,
                launcher=launcher,
            )
        finally:
            _close(session, tools.warn)
    return LoadOutcome(session, folder, None)


def _close(session: LoadSession, warn: Callable[[str], None]) -> None:
    """Close every store; collections left on a server become a warning."""
    left: dict[str, str] = {}
    for target in session.targets:
        with record_failure(left, target.label):
            target.close(hung=HUNG in session.failed.get(target.label, session.stopped))
    for label, why in left.items():
        warn(f"{label}: {why}")


def _costs(
    session: LoadSession,
    systems: dict[str, System],
    opened: ExperimentTargets,
    prices: Prices,
    end_to_end: bool,
) -> dict[str, Cost]:
    """The cost of each system at its measured speed; a run adds the cost of a refresh."""
    costs = {}
    for target in session.targets:
        system = systems[target.label.removesuffix(STAND_IN)]
        one = estimate_cost(prices, _usage(session, target, system, opened))
        if system.embedder is not None and not end_to_end and one.million_queries.amount is not None:
            note = "; ".join(filter(None, (one.million_queries.note, EMBEDDED_BEFORE)))
            one = replace(one, million_queries=PricedCost(one.million_queries.amount, note))
        costs[target.label] = one
    return costs


def _usage(session: LoadSession, target: LoadTarget, system: System, opened: ExperimentTargets) -> Usage:
    qps = best_qps(session, target.label)
    row = opened.stored_row(target.label)
    if row is not None and opened.result is not None:
        usage = run_usage(opened.result, row)
        return replace(usage, qps=qps, qps_is="measured", index_bytes=target.opening.index_bytes)
    names = (system.embedder.label, system.embedder.name) if system.embedder else ()
    unknown = TokenUse(None)
    return Usage(names, qps, opened.query_tokens, unknown, None, target.opening.index_bytes)


def best_qps(session: LoadSession, system: str) -> float | None:
    """The highest rate that met the SLO, the best of a closed loop, or the highest rate that was reached."""
    if session.demand.slo is not None:
        rates = [one.rate for one in session.highest.get(system, []) if one.rate is not None]
        return summarise(rates).median if rates else None
    points = [point for point in session.points() if point.system == system and point.reached is not False]
    return max((point.qps.median for point in points if point.qps.median is not None), default=None)


def _check_clients(demand: LoadSpec, queries: int) -> None:
    for load in demand.loads:
        if load.kind == "closed":
            check_workers(load.concurrency, queries)


def _refuse(job: LoadRequest, whose: str, options: dict[str, object]) -> None:
    for name, value in options.items():
        if value is not None:
            raise SettingError(f"--{name} applies only to {whose}; {job.what} is not one.")


def _is_run(path: Path) -> bool:
    return (path / "run.json").is_file()


def _is_experiment(path: Path) -> bool:
    return path.suffix in (".yaml", ".yml") or (path / "bakeoff.yaml").is_file()


def _slug(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name.lower()).strip("-")
