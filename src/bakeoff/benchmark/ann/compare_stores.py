"""Compares stores on vectors, from exact neighbours to verdict; each pass is saved when it ends (F40)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bakeoff.benchmark.ann import recall_tuning
from bakeoff.benchmark.ann.sweep import (
    SweepJob,
    SweepPass,
    SweepPoint,
    interleave_jobs,
    measure_sweep,
    summarise_points,
    tune_stores,
)
from bakeoff.benchmark.null_store import harness_seconds
from bakeoff.benchmark.resources.memory import IndexMemory, measure_growth, resident_bytes
from bakeoff.benchmark.results.speeds import SpeedRow, SpeedRows, reaches_target, recall_text
from bakeoff.benchmark.session import Job, Session, Tell, finish_session, record_failure, run_jobs
from bakeoff.benchmark.stores import BuiltStore, StoreSpec, build_store
from bakeoff.benchmark.vectors.datasets import VectorSet
from bakeoff.benchmark.vectors.neighbours import ExactNeighbours, truth_of
from bakeoff.errors import SettingError
from bakeoff.measures.neighbours import TRUE_NEIGHBOURS
from bakeoff.pipeline.loops.client_threads import HUNG, INTERRUPTED
from bakeoff.pipeline.loops.closed_loop import TIMEOUT
from bakeoff.runtime.scheduler import WorkerPool
from bakeoff.storage.cache import Cache
from bakeoff.storage.temp_dir import TempDir


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnOptions:
    """How stores are compared; `sweep` also measures other settings, `command` repeats the comparison.

    `keep` leaves the collections on their servers.
    """

    k: int = 10
    runs: int = 3
    threads: int = 1
    target: float | None = None
    timeout: float = TIMEOUT
    seed: int = 7
    sweep: bool = False
    keep: bool = False
    command: str = ""

    def __post_init__(self) -> None:
        if self.k < 1 or self.runs < 1 or self.threads < 1 or not self.timeout > 0:
            raise SettingError("--k, --runs, --threads and --timeout must be positive.")
        if self.target is not None and not 0 < self.target <= 1:
            raise SettingError(f"--target-recall is {self.target:g}; it must be above 0 and at most 1.")


@dataclass(slots=True)
class AnnOutcome(Session):
    """Results so far; `failed`, `unreached` and `left` (on a server) give the reason by system."""

    dataset: VectorSet
    options: AnnOptions
    harness: dict[int, float] = field(default_factory=dict)
    built: list[BuiltStore] = field(default_factory=list)
    memory: dict[str, IndexMemory] = field(default_factory=dict)
    tuned: dict[str, recall_tuning.TunedSetting] = field(default_factory=dict)
    passes: list[SweepPass] = field(default_factory=list)
    unreached: dict[str, str] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)

    def points(self) -> tuple[SweepPoint, ...]:
        """All settings measured so far."""
        return summarise_points(self.passes)

    def table(self) -> SpeedRows:
        """One row per point: its recall, and the speed of each complete run at the requested number of threads."""
        compared = {(point.system, point.setting) for point in self.comparable()}
        return SpeedRows(
            tuple(
                SpeedRow(
                    point.system,
                    point.setting,
                    self._speeds(point.system, point.setting),
                    point.knn.median,
                    (point.system, point.setting) in compared,
                )
                for point in self.points()
            ),
            dict(self.failed),
            seed=self.options.seed,
        )

    def on_front(self) -> tuple[bool, ...]:
        """Which points are on the Pareto front of recall and speed."""
        table = self.table()
        front = table.front()
        return tuple((row.system, row.setting) in front for row in table.rows)

    def comparable(self) -> tuple[SweepPoint, ...]:
        """The points whose speeds may be compared: at the target recall, on queries not used for tuning."""
        target = self.options.target
        if target is None:
            return ()
        skip = {*self.failed, *self.unreached}
        chosen = {
            (built.candidate.label, built.candidate.setting(self.tuned[built.candidate.label].value))
            for built in self.built
            if built.candidate.label in self.tuned
        }
        return tuple(
            point
            for point in self.points()
            if point.system not in skip and (point.system, point.setting) in chosen
        )

    def _speeds(self, system: str, setting: str) -> tuple[float, ...]:
        rates = [
            dict(one.qps_measured).get(self.options.threads)
            for one in self.passes
            if (one.system, one.setting) == (system, setting) and not one.stopped
        ]
        return tuple(rate for rate in rates if rate is not None)


Save = Callable[[AnnOutcome, SweepPass | None], None]


def compare_stores(
    dataset: VectorSet,
    stores: Sequence[StoreSpec],
    options: AnnOptions,
    cache: Cache,
    *,
    save: Save,
    tell: Tell,
    workers: WorkerPool | None = None,
) -> AnnOutcome:
    """Measure every store; a failure is recorded and the others continue; Ctrl-C keeps finished results.

    Workers only compute the exact neighbours of large datasets.
    """
    if options.k > len(dataset.base):
        raise SettingError(f"--k is {options.k}; the base has {len(dataset.base)} vectors.")
    if options.target is not None:
        # report too few queries before building anything
        recall_tuning.split_queries(len(dataset.queries), options.seed)
    if options.threads > len(dataset.queries):
        raise SettingError(
            f"--threads is {options.threads}; there are {len(dataset.queries)} queries to share."
        )
    outcome = AnnOutcome(dataset, options)
    with finish_session(outcome, lambda: save(outcome, None)), TempDir("ann") as folder:
        try:
            truth = _truth(outcome, cache, workers, tell)
            _measure_stores(outcome, stores, truth, folder, save, tell)
        finally:
            _close(outcome)
    return outcome


def _truth(outcome: AnnOutcome, cache: Cache, workers: WorkerPool | None, tell: Tell) -> ExactNeighbours:
    dataset = outcome.dataset
    tell(f"exact neighbours of {len(dataset.queries):,} queries among {len(dataset.base):,} vectors")
    return truth_of(dataset, max(outcome.options.k, TRUE_NEIGHBOURS), cache, workers)


def _measure_stores(
    outcome: AnnOutcome,
    stores: Sequence[StoreSpec],
    truth: ExactNeighbours,
    folder: Path,
    save: Save,
    tell: Tell,
) -> None:
    dataset, options = outcome.dataset, outcome.options
    outcome.harness = {
        threads: harness_seconds(dataset.queries, options.k, threads=threads)
        for threads in {1, options.threads}
    }
    job = SweepJob(
        dataset=dataset,
        truth=truth,
        k=options.k,
        threads=options.threads,
        timeout=options.timeout,
        harness=outcome.harness,
        seed=options.seed,
    )
    for number, candidate in enumerate(stores):
        tell(f"{candidate.label}: building")
        before = resident_bytes()
        with record_failure(outcome.failed, candidate.label):
            built = build_store(candidate, dataset, folder / str(number))
            in_memory = (built.index_bytes or 0) if built.in_memory else 0
            outcome.memory[candidate.label] = measure_growth(
                before, candidate.params, in_memory, elsewhere=built.elsewhere
            )
            outcome.built.append(built)
    work, values = _settings(outcome, job, tell)
    save(outcome, None)
    run_jobs(outcome, _jobs(outcome, work, values, save), lambda: None, tell)
    if not outcome.stopped:
        _check_targets(outcome)


def _settings(
    outcome: AnnOutcome, job: SweepJob, tell: Tell
) -> tuple[SweepJob, list[tuple[int | None, ...]]]:
    """The queries to measure with, and the settings of each built store."""
    target, k = outcome.options.target, outcome.options.k
    if target is None:
        return job, [built.candidate.grid(k) for built in outcome.built]
    tuning, measured = recall_tuning.split_queries(len(job.dataset.queries), outcome.options.seed)
    values: list[tuple[int | None, ...]] = []
    for built in outcome.built:
        label = built.candidate.label
        values.append(())
        with record_failure(outcome.failed, label):
            tuned = outcome.tuned[label] = tune_stores(built, target, job.of(tuning))
            setting = built.candidate.setting(tuned.value)
            tell(f"{label}: {setting} has recall {tuned.recall:.4f} on the tuning queries")
            others = built.candidate.grid(k) if outcome.options.sweep else ()
            values[-1] = (tuned.value, *(value for value in others if value != tuned.value))
    return job.of(measured), values


def _jobs(
    outcome: AnnOutcome, work: SweepJob, values: list[tuple[int | None, ...]], save: Save
) -> Iterator[Job]:
    """Every setting of every store in every run."""

    def measure(built: BuiltStore, value: int | None, run: int) -> None:
        one = measure_sweep(built, value, run, work)
        outcome.passes.append(one)
        save(outcome, one)
        if one.stopped == INTERRUPTED:
            outcome.stopped = one.stopped
        elif one.stopped:
            outcome.failed[one.system] = one.stopped

    for run in range(outcome.options.runs):
        for number, value in interleave_jobs(values, run):
            built = outcome.built[number]
            label, setting = built.candidate.label, built.candidate.setting(value)
            title = f"run {run + 1} of {outcome.options.runs}: {label} {setting}"
            yield Job(label, title, partial(measure, built, value, run))


def _check_targets(outcome: AnnOutcome) -> None:
    """Decide by the recall measured at its tuned setting whether a store reaches the target."""
    target = outcome.options.target
    if target is None:
        return
    stores = {built.candidate.label: built.candidate for built in outcome.built}
    for point in outcome.comparable():
        if not reaches_target(point.knn.median, target):
            tuned = outcome.tuned[point.system]
            outcome.unreached[point.system] = _shortfall(stores[point.system], point, tuned, target)


def _shortfall(
    candidate: StoreSpec, point: SweepPoint, tuned: recall_tuning.TunedSetting, target: float
) -> str:
    """Why a store's measured recall is below the target."""
    if point.knn.median is None:
        return f"its recall at {point.setting} was not measured"
    measured = f"measured recall {recall_text(point.knn.median, target)} at {point.setting}, below {target:g}"
    if candidate.knob is None:
        return f"not tuned, because it declares no search knob: {measured}"
    if not tuned.reached:
        return (
            f"{measured}; no setting of {candidate.knob.name} reached it on the tuning queries with a margin"
        )
    return f"{measured}, though the tuning queries gave {tuned.recall:.4f}"


def _close(outcome: AnnOutcome) -> None:
    """Close every store, and drop its collection unless `keep` is set."""
    for built in outcome.built:
        label = built.candidate.label
        with record_failure(outcome.left, label):
            built.close(keep=outcome.options.keep, hung=HUNG in outcome.failed.get(label, ""))
