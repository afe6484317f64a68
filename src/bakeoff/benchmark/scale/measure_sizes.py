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
from bakeoff.benchmark.scale.session import ScaleOptions, ScaleSession
from bakeoff.benchmark.session import Job, Tell, finish_session, rotate, run_jobs
from bakeoff.benchmark.stores import StoreSpec
from bakeoff.benchmark.vectors.datasets import VectorSet
from bakeoff.benchmark.vectors.neighbours import truth_of
from bakeoff.errors import SettingError
from bakeoff.fingerprint import fingerprint
from bakeoff.measures.neighbours import TRUE_NEIGHBOURS
from bakeoff.runtime.scheduler import WorkerPool
from bakeoff.storage.cache import Cache
from bakeoff.storage.temp_dir import TempDir

BUDGET_SHARE = 0.8
COPIES, ROW_BYTES, PROCESS_BYTES = 4, 500, 300 * 10**6
"""Expected memory of a build: copies of the vectors, links and ids per row, and the process itself."""


@dataclass(slots=True, kw_only=True)
class ScaleOutcome(ScaleSession):
    """Stores on growing parts of a vector dataset."""

    dataset: VectorSet
    options: ScaleOptions

    def facts(self) -> Mapping[str, object]:
        """The dataset, as an entry of the record."""
        return {"dataset": {**self.dataset.facts(), "notes": list(self.dataset.notes)}}


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
        for size in options.sizes:
            for store in rotate(stores, run):
                one = ScaleJob(
                    kind=SIZE,
                    spec=store.label,
                    size=size,
                    run=run,
                    folder=folder,
                    metric=dataset.metric,
                    options=options,
                    data=dataset.fingerprint,
                )
                yield one
                if size == options.sizes[-1] and options.filters:
                    yield replace(one, kind=FILTER)
                if size == options.sizes[-1] and options.insert_rate:
                    yield replace(one, kind=MIXED)
