"""Stores over corpora of growing size: the jobs, in turns, each in a process of its own, and what is kept of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff.benchmark.ann.store_specs import StoreSpec
from bakeoff.benchmark.resources.memory import available_bytes
from bakeoff.benchmark.results.power_law import PowerLaw
from bakeoff.benchmark.results.scale_rows import FILTER, MIXED, SIZE, ScaleRow, fits_of, write_rows
from bakeoff.benchmark.scale.measure_size import ScaleJob, truth_file
from bakeoff.benchmark.vectors.datasets import VectorSet
from bakeoff.benchmark.vectors.exact_neighbours import truth_of
from bakeoff.benchmark.vectors.filtered_search import check_shares
from bakeoff.errors import SettingError, SystemFailure
from bakeoff.fingerprint import fingerprint
from bakeoff.measures.neighbours import TRUE_NEIGHBOURS
from bakeoff.pipeline.loops.client_threads import INTERRUPTED
from bakeoff.pipeline.loops.closed_loop import TIMEOUT
from bakeoff.runtime.machine import describe_machine, package_versions
from bakeoff.runtime.scheduler import WorkerPool
from bakeoff.storage.cache import Cache, write_file
from bakeoff.storage.temp_dir import TempDir
from bakeoff.types import Status

FORMAT = 1
BUDGET_SHARE = 0.8
COPIES, ROW_BYTES, PROCESS_BYTES = 4, 500, 300 * 10**6
"""What a build is expected to take: copies of the vectors, links and ids a row, and the process itself."""


@dataclass(frozen=True, slots=True)
class ScaleOptions:
    """What is measured; an empty tuple or None leaves a part out, `budget` is in bytes (None: 80 % of what is free)."""

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


@dataclass(slots=True)
class ScaleOutcome:
    """What is known so far; `failed` says by store and size why there are no rows."""

    dataset: VectorSet
    options: ScaleOptions
    rows: list[ScaleRow] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    status: Status = Status.PARTIAL
    stopped: str = ""

    def fits(self) -> dict[tuple[str, str], PowerLaw]:
        """How each fitted figure of each store grows."""
        return fits_of(self.rows)


Measure = Callable[[ScaleJob], list[ScaleRow]]


def default_sizes(rows: int) -> tuple[int, ...]:
    """Powers of ten from 100 (S3-19) up to the dataset's size, and that size; at most the last four."""
    powers = [10**power for power in range(2, 10) if 10**power < rows]
    return tuple([*powers, rows][-4:])


def needed_bytes(size: int, dims: int) -> int:
    """What building an index of so many rows is expected to take at its highest."""
    return COPIES * size * dims * 4 + ROW_BYTES * size + PROCESS_BYTES


def check_sizes(dataset: VectorSet, options: ScaleOptions) -> None:
    """Refuse what the dataset does not have or the memory does not hold, before anything is built."""
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
    tell: Callable[[str], None],
    workers: WorkerPool | None = None,
) -> ScaleOutcome:
    """Every job in turn; a store that fails at a size is not tried at larger ones, Ctrl-C keeps what is there."""
    check_sizes(dataset, options)
    folder.mkdir(parents=True, exist_ok=True)
    outcome = ScaleOutcome(dataset, options)
    with TempDir("scale") as data:
        try:
            _prepare(dataset, options, cache, data, tell, workers)
            for job in _jobs(stores, options, dataset, data):
                _one(outcome, job, measure, folder, tell)
        except KeyboardInterrupt:
            outcome.stopped = INTERRUPTED
    if not outcome.stopped:
        outcome.status = Status.FAILED if outcome.failed else Status.DONE
    save_scale(folder, outcome)
    return outcome


def save_scale(folder: Path, outcome: ScaleOutcome) -> None:
    """Write rows.parquet and record.json as they are now."""
    write_file(folder / "rows.parquet", write_rows(outcome.rows))
    text = json.dumps(scale_record(outcome), indent=1, ensure_ascii=False)
    write_file(folder / "record.json", text.encode())


def scale_record(outcome: ScaleOutcome) -> dict[str, Any]:
    """Everything but the rows, as plain values."""
    data = outcome.dataset
    return {
        "format": FORMAT,
        "kind": "scale",
        "status": outcome.status.value,
        "stopped": outcome.stopped,
        "dataset": {
            "name": data.name,
            "fingerprint": data.fingerprint,
            "vectors": len(data.base),
            "queries": len(data.queries),
            "dims": data.dims,
            "metric": data.metric.value,
            "notes": list(data.notes),
        },
        "options": asdict(outcome.options),
        "failed": outcome.failed,
        "fits": [
            {"system": system, "figure": figure, **asdict(found), "bends": found.bends}
            for (system, figure), found in outcome.fits().items()
        ],
        "machine": describe_machine(),
        "versions": package_versions(),
    }


def _one(
    outcome: ScaleOutcome, job: ScaleJob, measure: Measure, folder: Path, tell: Callable[[str], None]
) -> None:
    name = f"{job.spec}{_what(job)}"
    if name in outcome.failed:
        return
    tell(f"run {job.run + 1} of {outcome.options.runs}: {name}, {job.size:,} rows")
    try:
        outcome.rows += measure(job)
    except SystemFailure as exc:
        outcome.failed[name] = f"at {job.size:,} rows: {exc}"
    save_scale(folder, outcome)


def _what(job: ScaleJob) -> str:
    return {FILTER: ", filters", MIXED: ", insert while search"}.get(job.kind, "")


def _prepare(
    dataset: VectorSet,
    options: ScaleOptions,
    cache: Cache,
    folder: Path,
    tell: Callable[[str], None],
    workers: WorkerPool | None,
) -> None:
    """Base and queries as files that every process reads, and the truth of each size."""
    order = np.random.default_rng(options.seed).permutation(len(dataset.base))[: options.sizes[-1]]
    base = dataset.base[order]  # a file may be sorted: a prefix of it would be another distribution
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


def _jobs(
    stores: Sequence[StoreSpec], options: ScaleOptions, dataset: VectorSet, folder: Path
) -> Iterator[ScaleJob]:
    """All sizes of a run with the stores taking turns; filters and inserts at the largest size."""
    for run in range(options.runs):
        turn = [*stores[run % len(stores) :], *stores[: run % len(stores)]]
        for size in options.sizes:
            for store in turn:
                one = ScaleJob(
                    SIZE, store.label, size, run, folder, dataset.metric, options.k, options.timeout, options.seed,
                    options.target, options.threads, options.filters, options.insert_rate or 0.0, options.search_rate,
                    options.seconds, dataset.fingerprint,
                )  # fmt: skip
                yield one
                if size == options.sizes[-1] and options.filters:
                    yield replace(one, kind=FILTER)
                if size == options.sizes[-1] and options.insert_rate:
                    yield replace(one, kind=MIXED)
