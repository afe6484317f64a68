"""Measures stores on growing datasets: jobs in turns, each in a separate process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from bakeoff.benchmark.resources.memory import available_bytes
from bakeoff.benchmark.results.scale_results import FILTER, MIXED, SIZE, ScaleRow
from bakeoff.benchmark.scale.measure_size import ScaleJob, truth_file
from bakeoff.benchmark.scale.session import ScaleSession
from bakeoff.benchmark.session import Job, Tell, finish_session, run_jobs
from bakeoff.benchmark.stores import StoreSpec
from bakeoff.benchmark.vectors.datasets import VectorSet
from bakeoff.benchmark.vectors.filtered_search import check_shares
from bakeoff.benchmark.vectors.neighbours import truth_of
from bakeoff.errors import SettingError
from bakeoff.fingerprint import fingerprint
from bakeoff.measures.neighbours import TRUE_NEIGHBOURS
from bakeoff.pipeline.loops.closed_loop import TIMEOUT
from bakeoff.runtime.scheduler import WorkerPool
from bakeoff.storage.cache import Cache
from bakeoff.storage.temp_dir import TempDir

BUDGET_SHARE = 0.8
COPIES, ROW_BYTES, PROCESS_BYTES = 4, 500, 300 * 10**6
"""Expected memory of a build: copies of the vectors, links and ids per row, and the process itself."""


@dataclass(frozen=True, slots=True)
class ScaleOptions:
    """What to measure; an empty tuple or None skips a part, `budget` is in bytes (None: 80 % of free memory)."""

    sizes: tuple[int, ...]
    k: int = 10
    runs: int = 3
    threads: tuple[int, ...] = ()
    filters: tuple[float, ...] = ()
    insert_rate: float | None = None
    search_rate: float | None = None
    seconds: float = 5.0
    target: float | None = None
    budget: int | None = None
    timeout: float = TIMEOUT
    seed: int = 7
    command: str = ""

    def __post_init__(self) -> None:
        if not self.sizes or any(a >= b for a, b in zip(self.sizes, self.sizes[1:], strict=False)):
            raise SettingError("--sizes must grow: 1000,10000,100000.")
        if self.k < 1 or self.runs < 1 or not self.timeout > 0 or not self.seconds > 0:
            raise SettingError("--k, --runs, --timeout and --seconds must be positive.")
        if self.sizes[0] < max(2, self.k):
            raise SettingError(
                f"--sizes begins at {self.sizes[0]}; at least {max(2, self.k)} rows are needed for --k."
            )
        for name, rate in (("--insert-while-search", self.insert_rate), ("--rate", self.search_rate)):
            if rate is not None and not 0 < rate < float("inf"):
                raise SettingError(f"{name} is {rate:g}; a rate above 0 is needed.")
        if any(threads < 1 for threads in self.threads):
            raise SettingError("--concurrency has a number under 1.")
        if self.target is not None and not 0 < self.target <= 1:
            raise SettingError(f"--target-recall is {self.target:g}; it must be above 0 and at most 1.")
        check_shares(self.filters)


@dataclass(slots=True, kw_only=True)
class ScaleOutcome(ScaleSession):
    """Stores on growing parts of a vector dataset."""

    dataset: VectorSet
    options: ScaleOptions

    def facts(self) -> Mapping[str, object]:
        """The dataset, as an entry of the record."""
        data = self.dataset
        return {
            "dataset": {
                "name": data.name,
                "fingerprint": data.fingerprint,
                "vectors": len(data.base),
                "queries": len(data.queries),
                "dims": data.dims,
                "metric": data.metric.value,
                "notes": list(data.notes),
            }
        }


Measure = Callable[[ScaleJob], list[ScaleRow]]


def needed_bytes(size: int, dims: int) -> int:
    """The expected peak memory of building an index of this size."""
    return COPIES * size * dims * 4 + ROW_BYTES * size + PROCESS_BYTES


def check_sizes(dataset: VectorSet, options: ScaleOptions) -> None:
    """Refuse sizes beyond the dataset or the memory before anything is built."""
    largest = options.sizes[-1]
    if largest > len(dataset.base):
        raise SettingError(
            f"--sizes asks for {largest:,} rows; {dataset.name} has {len(dataset.base):,} base vectors."
        )
    if too_many := [threads for threads in options.threads if threads > len(dataset.queries)]:
        raise SettingError(f"--concurrency {too_many[0]}: there are {len(dataset.queries)} queries to share.")
    budget = options.budget if options.budget is not None else int(BUDGET_SHARE * available_bytes())
    for size in options.sizes:
        needed = needed_bytes(size, dataset.dims)
        if needed > budget:
            raise SettingError(
                f"{size:,} rows of {dataset.dims} dimensions take about {needed / 1e9:.2f} GB while their index is "
                f"built; the budget is {budget / 1e9:.2f} GB. Lower --sizes or raise --memory."
            )


def measure_scale(
    dataset: VectorSet,
    stores: Sequence[StoreSpec],
    options: ScaleOptions,
    cache: Cache,
    *,
    measure: Measure,
    folder: Path,
    tell: Tell,
    workers: WorkerPool | None = None,
) -> ScaleOutcome:
    """Run every job in turn; a failed store is not tried at larger sizes, Ctrl-C keeps finished results."""
    check_sizes(dataset, options)
    folder.mkdir(parents=True, exist_ok=True)
    outcome = ScaleOutcome(dataset=dataset, options=options)
    save = partial(outcome.save, folder)
    with finish_session(outcome, save), TempDir("scale") as data:
        _prepare(dataset, options, cache, data, tell, workers)
        work = _scale_jobs(stores, options, dataset, data)
        run_jobs(outcome, (_job(outcome, one, measure) for one in work), save, tell)
    return outcome


def _job(outcome: ScaleOutcome, work: ScaleJob, measure: Measure) -> Job:
    """A job of the session; a failed store is not tried at larger sizes."""
    system = f"{work.spec}{_what(work)}"
    title = f"run {work.run + 1} of {outcome.options.runs}: {system}, {work.size:,} rows"
    return Job(system, title, lambda: outcome.rows.extend(measure(work)), f"at {work.size:,} rows: ")


def _what(job: ScaleJob) -> str:
    return {FILTER: ", filters", MIXED: ", insert while search"}.get(job.kind, "")


def _prepare(
    dataset: VectorSet,
    options: ScaleOptions,
    cache: Cache,
    folder: Path,
    tell: Tell,
    workers: WorkerPool | None,
) -> None:
    """Write base, queries and the truth of each size as files that every process reads."""
    order = np.random.default_rng(options.seed).permutation(len(dataset.base))[: options.sizes[-1]]
    base = dataset.base[order]  # a file may be sorted, so a prefix could have another distribution
    np.save(folder / "base.npy", base)
    np.save(folder / "queries.npy", dataset.queries)
    for size in options.sizes:
        tell(f"exact neighbours of {len(dataset.queries):,} queries among {size:,} vectors")
        part = replace(
            dataset,
            base=base[:size],
            neighbours=None,
            fingerprint=fingerprint("scale", dataset.fingerprint, options.seed, size),
        )
        truth = truth_of(part, max(options.k, TRUE_NEIGHBOURS), cache, workers)
        np.savez(truth_file(folder, size), ids=truth.ids, distances=truth.distances)


def _scale_jobs(
    stores: Sequence[StoreSpec], options: ScaleOptions, dataset: VectorSet, folder: Path
) -> Iterator[ScaleJob]:
    """All sizes of a run, stores taking turns; filters and inserts at the largest size."""
    for run in range(options.runs):
        turn = [*stores[run % len(stores) :], *stores[: run % len(stores)]]
        for size in options.sizes:
            for store in turn:
                one = ScaleJob(
                    kind=SIZE,
                    spec=store.label,
                    size=size,
                    run=run,
                    folder=folder,
                    metric=dataset.metric,
                    k=options.k,
                    timeout=options.timeout,
                    seed=options.seed,
                    target=options.target,
                    threads=options.threads,
                    filters=options.filters,
                    insert_rate=options.insert_rate or 0.0,
                    search_rate=options.search_rate,
                    seconds=options.seconds,
                    data=dataset.fingerprint,
                )
                yield one
                if size == options.sizes[-1] and options.filters:
                    yield replace(one, kind=FILTER)
                if size == options.sizes[-1] and options.insert_rate:
                    yield replace(one, kind=MIXED)
