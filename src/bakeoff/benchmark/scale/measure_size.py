"""One store at one size in one run, measured by `bakeoff scale` in a separate process."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from bakeoff.benchmark.ann import recall_tuning
from bakeoff.benchmark.ann.sweep import SweepJob, measure_sweep, tune_stores
from bakeoff.benchmark.load.insert_while_search import insert_while_search
from bakeoff.benchmark.null_store import harness_seconds
from bakeoff.benchmark.resources.memory import (
    NO_FILES,
    IndexMemory,
    ServerUse,
    measure_growth,
    resident_bytes,
    server_growth,
    server_use,
    uses_server,
)
from bakeoff.benchmark.resources.usage import Sampler
from bakeoff.benchmark.results.scale_results import FILTER, MIXED, SIZE, THREADS, ScaleRow
from bakeoff.benchmark.results.speeds import reaches_target, recall_text
from bakeoff.benchmark.scale.session import ScaleOptions
from bakeoff.benchmark.stores import BuiltStore, StoreSpec, build_store, parse_store_specs
from bakeoff.benchmark.vectors.datasets import VectorSet
from bakeoff.benchmark.vectors.filtered_search import buckets, fill_store, search_filtered, supports
from bakeoff.benchmark.vectors.neighbours import ExactNeighbours
from bakeoff.benchmark.vectors.quality import AnswerQuality
from bakeoff.fingerprint import fingerprint
from bakeoff.pipeline.loops.closed_loop import closed_loop
from bakeoff.pipeline.loops.loop_times import statistics
from bakeoff.storage.temp_dir import TempDir
from bakeoff.types import Metric

UNSEEN_TIME = "the engine is a server whose CPU time cannot be measured from here"
NO_FILTER = "the store does not filter by payload"


@dataclass(frozen=True, slots=True)
class ScaleJob:
    """What one process measures; `folder` holds base.npy, queries.npy and the truth of each size.

    `data` is the fingerprint of the whole dataset; `pids` and `server_data` are the processes and the folder of the
    store's server, where it was started here.
    """

    kind: str
    spec: str
    size: int
    run: int
    folder: Path
    metric: Metric
    options: ScaleOptions
    data: str = ""
    pids: tuple[int, ...] = ()
    server_data: Path | None = None

    def row(
        self,
        figure: str,
        value: float | None,
        note: str = "",
        *,
        setting: str = "default",
        kind: str = "",
        at: float | None = None,
    ) -> ScaleRow:
        """One figure of this job."""
        return ScaleRow(
            kind or self.kind,
            self.spec,
            setting,
            self.size,
            self.run,
            at,
            figure=figure,
            value=value,
            note=note,
        )


def run_job(job: ScaleJob) -> list[ScaleRow]:
    """The rows of one job."""
    (candidate,) = parse_store_specs([job.spec])
    # inside the driver's folder, so that it is removed even if this process is killed
    with TempDir("index", job.folder) as home:
        work = {SIZE: _size, FILTER: _filters, MIXED: _mixed_rows}[job.kind]
        return list(work(job, candidate, home / "index"))


def truth_file(folder: Path, size: int) -> Path:
    """The file of the exact neighbours among the first `size` rows."""
    return folder / f"truth-{size}.npz"


def _dataset(job: ScaleJob) -> VectorSet:
    base = np.array(np.load(job.folder / "base.npy", mmap_mode="r")[: job.size])
    queries = np.load(job.folder / "queries.npy")
    return VectorSet(
        name="scale",
        base=base,
        queries=queries,
        metric=job.metric,
        neighbours=None,
        duplicates=0,
        leaked=0,
        notes=(),
        fingerprint=fingerprint("scale", job.data, job.options.seed, job.size),
    )


def _truth(job: ScaleJob) -> ExactNeighbours:
    stored = np.load(truth_file(job.folder, job.size))
    return ExactNeighbours(stored["ids"], stored["distances"])


def _size(job: ScaleJob, candidate: StoreSpec, home: Path) -> Iterator[ScaleRow]:
    """Build, memory, disk, recall, latency, and queries per second by client threads."""
    dataset, options = _dataset(job), job.options
    work = SweepJob(
        dataset=dataset,
        truth=_truth(job),
        k=options.k,
        threads=1,
        timeout=options.timeout,
        harness={1: harness_seconds(dataset.queries, options.k)},
        seed=options.seed,
    )
    with Sampler():
        before = resident_bytes()  # exclude the memory of the sampler itself
    server = server_use(job.pids, job.server_data)
    spent = time.process_time()
    with contextlib.closing(build_store(candidate, work.dataset, home)) as built:
        spent = time.process_time() - spent
        yield from _figures(job, built, work, before, spent, server)


def _figures(
    job: ScaleJob, built: BuiltStore, work: SweepJob, before: int, spent: float, server: ServerUse
) -> Iterator[ScaleRow]:
    """The rows of one built store; `before` is the memory before it was built, `spent` the processor seconds.

    `server` is what the store's server took before.
    """
    candidate, after = built.candidate, server_use(job.pids, job.server_data)
    value, work, short = _setting(job, built, work)
    one = measure_sweep(built, value, job.run, work)
    elsewhere = _is_elsewhere(built)
    in_memory = built.index_bytes if built.in_memory else 0
    memory = (
        server_growth(server.memory, after.memory)
        if elsewhere
        else measure_growth(before, candidate.params, in_memory or 0, elsewhere=elsewhere)
    )
    row = partial(job.row, setting=candidate.setting(value))
    yield from _build_figures(built, row, spent, memory, server, after)
    yield row("knn", one.quality.knn, _shortfall(job, one.quality, short))
    yield row("qps", dict(one.qps_measured)[1])
    yield row("harness_share", one.harness_share)
    for latency in statistics(one.nanoseconds, one.unfinished):
        yield row(latency.name, latency.milliseconds, latency.note)
    for threads in job.options.threads:
        row = partial(job.row, setting=candidate.setting(value), kind=THREADS, at=threads)
        loop = closed_loop(
            built.store.search,
            work.dataset.queries,
            work.k,
            candidate.query(value),
            threads=threads,
            timeout=work.timeout,
        )
        yield row("qps", loop.qps_measured, loop.stopped)
        for latency in statistics(loop.done, len(loop.nanoseconds) - len(loop.done)):
            yield row(latency.name, latency.milliseconds, latency.note)


def _build_figures(
    built: BuiltStore,
    row: Callable[..., ScaleRow],
    spent: float,
    memory: IndexMemory,
    server: ServerUse,
    after: ServerUse,
) -> Iterator[ScaleRow]:
    """Build seconds and bytes: of the store's server if it has one, else of this process."""
    yield row("build_s", built.build_seconds)
    elsewhere = _is_elsewhere(built)
    if elsewhere and server.cpu_seconds is not None and after.cpu_seconds is not None:
        yield row("build_cpu_s", max(0.0, after.cpu_seconds - server.cpu_seconds), "of the server")
    else:
        yield row("build_cpu_s", None if elsewhere else spent, UNSEEN_TIME if elsewhere else "")
    yield row("insert_s", built.insert_seconds)
    yield row("index_s", built.index_seconds)
    yield row("memory_mb", memory.mb, memory.note)
    if elsewhere:
        disk = server_growth(server.disk, after.disk)
        yield row("disk_mb", disk.mb, disk.note)
    else:
        on_disk = None if built.in_memory or built.index_bytes is None else built.index_bytes / 1e6
        yield row("disk_mb", on_disk, "" if on_disk is not None else NO_FILES)


def _is_elsewhere(built: BuiltStore) -> bool:
    """Whether the data is in another process."""
    return built.elsewhere or uses_server(built.candidate.params)


def _setting(job: ScaleJob, built: BuiltStore, work: SweepJob) -> tuple[int | None, SweepJob, str]:
    """The store's default setting, or the smallest at the target recall, then measured on other queries.

    The last of the three is a note where no setting reached the target.
    """
    target = job.options.target
    if target is None:
        return None, work, ""
    tuning, measured = recall_tuning.split_queries(len(work.dataset.queries), work.seed)
    tuned = tune_stores(built, target, work.of(tuning))
    short = "" if tuned.reached else "; no setting reached it on the tuning queries with a margin"
    return tuned.value, work.of(measured), short


def _shortfall(job: ScaleJob, quality: AnswerQuality, short: str) -> str:
    """Why the speed at this size misses the target recall, or nothing."""
    target = job.options.target
    if target is None or reaches_target(quality.knn, target):
        return ""
    measured = (
        "no recall was measured" if quality.knn is None else f"recall {recall_text(quality.knn, target)}"
    )
    return f"at {job.size:,} rows: {measured}, below {target:g}{short}"


def _filters(job: ScaleJob, candidate: StoreSpec, home: Path) -> Iterator[ScaleRow]:
    options = job.options
    if not supports(candidate):
        yield from (job.row("knn", None, NO_FILTER, at=share) for share in options.filters)
        return
    dataset = _dataset(job)
    field = buckets(job.size, options.seed)
    (store, collection), query = fill_store(candidate, dataset, field, home), candidate.query()
    try:
        for share in options.filters:
            results = search_filtered(
                store, query, dataset, field, share=share, k=options.k, timeout=options.timeout
            )
            for figure, value in results.items():
                unknown = figure == "p99_ms" and value is None
                yield job.row(figure, value, "too few samples for p99" if unknown else "", at=share)
    finally:
        collection.end(store)


def _mixed_rows(job: ScaleJob, candidate: StoreSpec, home: Path) -> Iterator[ScaleRow]:
    options = job.options
    rate = options.insert_rate or 0.0
    results = insert_while_search(
        candidate,
        _dataset(job),
        home,
        k=options.k,
        rate=rate,
        seconds=options.seconds,
        timeout=options.timeout,
        search_rate=options.search_rate,
    )
    row = partial(job.row, at=rate)
    for name, milliseconds in results.alone:
        yield row(f"alone_{name}", milliseconds)
    for name, milliseconds in results.during:
        yield row(f"beside_{name}", milliseconds)
    yield row("written", results.written, "; ".join(results.errors))
    yield row("rate_reached", results.rate_reached)
    yield row("visible", results.visible)
    yield row("kept", results.kept)
    yield row("visible_after_ready", results.after_ready, results.ready_error)
