"""Configurations, each in fresh processes and from an empty cache: ingestion, index, and search at every depth."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from pydantic import BaseModel

from bakeoff import registry
from bakeoff.benchmark.configurations.ingested_artifacts import IngestedArtifacts, make_artifacts
from bakeoff.benchmark.configurations.jobs import IngestionJob, SystemJob, TrialFigure, TrialIngestion
from bakeoff.benchmark.configurations.quality import neighbour_figures, score_figures
from bakeoff.benchmark.resources.memory import (
    NO_FILES,
    UNSEEN,
    IndexMemory,
    measure_growth,
    resident_bytes,
    server_growth,
    server_use,
)
from bakeoff.benchmark.resources.usage import Resources, ResourceUse, Sampler, sum_or_none
from bakeoff.benchmark.run_in_subprocess import run_isolated
from bakeoff.benchmark.targets import Pids
from bakeoff.config.modes import Hybrid
from bakeoff.config.plan import Plan, PluginSpec, System
from bakeoff.errors import SettingError, StoreError
from bakeoff.fingerprint import fingerprint
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.embed import embed_chunks, embed_queries, plain_numbers
from bakeoff.pipeline.query_executor import QueryExecutor
from bakeoff.pipeline.query_pipeline import QueryPipeline, StepResult
from bakeoff.pipeline.read import Sample
from bakeoff.pipeline.reading.readings import read_corpus
from bakeoff.pipeline.shared_artifacts import SharedArtifacts
from bakeoff.pipeline.timing import samples_needed
from bakeoff.protocols import Embedder, SupportsDrop
from bakeoff.storage.cache import Cache
from bakeoff.truth.queries import read_queries
from bakeoff.types import Answer, Role

SEARCH_SECONDS = 0.3
"""The shortest time to repeat the queries of one depth: CPU and memory need samples."""
USES = ("avg_cpu_percent", "peak_cpu_percent", "avg_memory_mb", "peak_memory_mb")
TUNED = "its fusion weight is tuned on one set of rankings, so its depths are not measured"
ENCODED = "sparse and token vectors are measured by `bakeoff run` and `bakeoff load`, not at several depths or sizes"


@dataclass(frozen=True, slots=True)
class TimedSearch:
    """Answers with the milliseconds and seconds of all passes and the resources used."""

    answers: StepResult
    seconds: float
    resources: Resources


def ingest_documents(job: IngestionJob) -> TrialIngestion:
    """Read, chunk and embed the corpus from an empty cache, timing each phase; the model is already loaded."""
    plan, queries = job.plan, read_queries(job.plan.queries)
    context = StageContext(Cache(job.home))
    model = _model(job.embedder) if job.embedder else None
    with Sampler() as sampler:
        begin = time.perf_counter()
        corpus = read_corpus(plan, context, job.sample)
        artifacts = make_artifacts(SharedArtifacts, plan, queries, corpus, context)
        chunking = artifacts.chunking(job.chunker)
        vectors = embed_chunks(job.embedder, model, chunking, context) if job.embedder and model else None
        total = time.perf_counter() - begin
    figures = [
        TrialFigure("read_s", corpus.seconds),
        TrialFigure("chunk_s", chunking.seconds),
        *([TrialFigure("embed_s", vectors.seconds)] if vectors else []),
        TrialFigure("documents_s", total),
        TrialFigure("documents", corpus.documents.num_rows),
        TrialFigure("chunks", chunking.chunks.num_rows),
        *_uses("documents", sampler.result.client, None),
    ]
    file = None
    if job.embedder is not None and model is not None:
        texts = [query.text for query in queries.queries]
        embedded = embed_queries(job.embedder, model, texts, artifacts.warm_up(), 1, context)
        file = job.home / f"queries-{fingerprint(job.embedder.label)[:12]}.npy"
        np.save(file, plain_numbers(embedded.matrix))
        model.close()
    return TrialIngestion(job.home, vectors.fingerprint if vectors else "", file, tuple(figures))


def measure_configuration(job: SystemJob) -> list[TrialFigure]:
    """Build a system's index from scratch, then measure every depth of the plan."""
    plan, queries = job.plan, read_queries(job.plan.queries)
    params = job.system.mode.params
    if isinstance(params, Hybrid) and params.tuned:
        raise SettingError(TUNED)
    if job.system.encoder is not None:
        raise SettingError(ENCODED)
    corpus = read_corpus(plan, StageContext(Cache(job.ingestion.home)), job.sample)
    artifacts = make_artifacts(IngestedArtifacts, plan, queries, corpus, StageContext(Cache(job.home)))
    artifacts.use(job)
    try:
        with _drop_at_end(artifacts, job):
            figures = list(_index(artifacts, job))
            searched = {k: _time_search(artifacts, job, k) for k in plan.settings.top_k}
            figures += _search_figures(artifacts, job, searched)
            answers = {k: search.answers for k, search in searched.items()}
            if job.sample is None:
                return figures + list(score_figures(artifacts, job, queries, corpus, answers))
            # a sample may lack the right documents; only neighbours can be scored
            return figures + list(neighbour_figures(artifacts, job, answers))
    finally:
        artifacts.close()


def _model(part: PluginSpec) -> Embedder:
    """The model with its weights loaded, which many do at the first call."""
    if part.kind != "embedders":
        raise SettingError(ENCODED)
    model: Embedder = registry.load("embedders", part.name)(part.params)
    model.embed(["warm up"], Role.DOCUMENT)
    return model


@contextlib.contextmanager
def _drop_at_end(artifacts: IngestedArtifacts, job: SystemJob) -> Iterator[None]:
    """Remove the trial's collections from a server, however it ends."""
    try:
        yield
    finally:
        with contextlib.suppress(StoreError):  # report the first failure
            for store, name in artifacts.collections(job.system):
                if isinstance(store, SupportsDrop):
                    store.drop(name)


def _index(artifacts: IngestedArtifacts, job: SystemJob) -> Iterator[TrialFigure]:
    """Seconds of inserting, indexing and becoming ready, and the resources the engine used."""
    system = job.system
    artifacts.chunking(system.chunker)
    before, server = resident_bytes(), server_use(job.pids, job.server_data)
    with Sampler(pids=job.pids) as sampler:
        begin = time.perf_counter()
        artifacts.prepare(system)
        indexes = artifacts.indexes(system)
        total = time.perf_counter() - begin
    yield TrialFigure("engine_s", total)
    for phase in ("insert", "index", "ready"):
        seconds = [getattr(index, f"{phase}_seconds") for index in indexes]
        complete = all(one is not None for one in seconds)
        yield TrialFigure(
            f"{phase}_s", sum(seconds) if complete else None, note="" if complete else "not timed"
        )
    sizes = [index.bytes for index in indexes]
    yield TrialFigure(
        "index_mb",
        None if None in sizes else sum(size or 0 for size in sizes) / 1e6,
        note=UNSEEN if None in sizes else "",
    )
    elsewhere = None in sizes
    yield from _engine_uses("ingestion", sampler.result, elsewhere)
    part = system.store or system.keyword
    assert part is not None
    in_memory = sum(size or 0 for size in sizes) if not job.home.joinpath("index").exists() else 0
    after = server_use(job.pids, job.server_data)
    growth = (
        server_growth(server.memory, after.memory)
        if elsewhere
        else measure_growth(before, part.params, in_memory)
    )
    yield TrialFigure("memory_growth_mb", growth.mb, note=growth.note)
    disk = server_growth(server.disk, after.disk) if elsewhere else _own_disk(job.home, sizes)
    yield TrialFigure("disk_mb", disk.mb, note=disk.note)


def _own_disk(home: Path, sizes: Sequence[int | None]) -> IndexMemory:
    """What an embedded engine stores on disk; an in-memory engine stores nothing."""
    if not (home / "index").exists():
        return IndexMemory(None, NO_FILES)
    return IndexMemory(sum(size or 0 for size in sizes) / 1e6)


def _search_figures(
    artifacts: IngestedArtifacts, job: SystemJob, searched: Mapping[int, TimedSearch]
) -> Iterator[TrialFigure]:
    """Latency, rate and resources of every depth."""
    elsewhere = any(index.bytes is None for index in artifacts.indexes(job.system))
    for k, search in searched.items():
        yield from _speed(search.answers.milliseconds.ravel(), search.seconds, k)
        yield from _engine_uses("search", search.resources, elsewhere, k)


def _pipeline(executor: QueryExecutor, system: System, k: int) -> QueryPipeline:
    """How one query gets `k` results: a plain search asks its store for exactly `k` rows."""
    plain = len(system.legs) == 1 and not system.rerank
    return replace(executor.pipeline(replace(system, depth=k) if plain else system), depth=k)


def _time_search(artifacts: IngestedArtifacts, job: SystemJob, k: int) -> TimedSearch:
    """The answers at one depth, with the milliseconds and seconds of all passes and the resources used."""
    executor = QueryExecutor(artifacts)
    way = _pipeline(executor, job.system, k)
    requests, others = executor.requests(job.system), executor.warm_up_requests(job.system)
    for one in others:
        way.answer(one)
    clock = time.perf_counter_ns
    served: list[Answer] = []
    rows: list[list[int]] = []
    with Sampler(pids=job.pids) as sampler:
        begin = time.perf_counter()
        while not rows or time.perf_counter() - begin < SEARCH_SECONDS:
            row = []
            for one in requests:
                start = clock()
                answer = way.answer(one)
                row.append(clock() - start)
                if not rows:
                    served.append(answer)
            rows.append(row)
        seconds = time.perf_counter() - begin
    reader = artifacts.answer_reader(job.system)
    answers = StepResult(tuple(reader.rank(answer) for answer in served), np.array(rows, float) / 1e6)
    return TimedSearch(answers, seconds, sampler.result)


def _speed(samples: np.ndarray, seconds: float, k: int) -> Iterator[TrialFigure]:
    yield TrialFigure("latency_ms", float(samples.mean()), k)
    for percentile in (50, 95):
        enough = len(samples) >= samples_needed(percentile)
        value = float(np.percentile(samples, percentile)) if enough else None
        yield TrialFigure(
            f"p{percentile}_ms", value, k, "" if enough else f"{len(samples)} samples are too few"
        )
    yield TrialFigure("qps", len(samples) / seconds, k)


def _engine_uses(phase: str, seen: Resources, elsewhere: bool, k: int | None = None) -> Iterator[TrialFigure]:
    """The server's figures if there is one, else those of this process with its embedded engine."""
    use = seen.server if seen.server.avg_memory_mb is not None else seen.client
    if elsewhere and seen.server.avg_memory_mb is None:
        use = ResourceUse(note=UNSEEN)
    yield from _uses(phase, use, k)


def _uses(phase: str, use: ResourceUse, k: int | None) -> Iterator[TrialFigure]:
    for name in USES:
        yield TrialFigure(f"{phase}_{name}", getattr(use, name), k, use.note)


@dataclass(frozen=True, slots=True)
class Servers:
    """Looks up the processes and the data folder of a store's server."""

    pids: Pids
    data_folder: Callable[[str, BaseModel | None], Path | None] = lambda *_: None


@dataclass(slots=True)
class Trials:
    """Trials in `home`; the systems that share an ingestion share its figures, of all documents or a sample."""

    plan: Plan
    home: Path
    servers: Servers
    sample: Sample | None = None
    ingestions: dict[Path, TrialIngestion] = field(default_factory=dict)

    def measure(self, system: System, salt: str) -> list[TrialFigure]:
        """Every figure of one system, from reading to searching; `salt` names its collections."""
        ingestion = self._ingestion(system)
        store = system.store or system.keyword
        assert store is not None
        own = self.home / fingerprint(system.label)[:12]
        own.mkdir()
        job = SystemJob(
            plan=self.plan,
            system=system,
            ingestion=ingestion,
            home=own,
            salt=salt,
            pids=tuple(self.servers.pids(store.name, store.params)),
            server_data=self.servers.data_folder(store.name, store.params),
            sample=self.sample,
        )
        figures = [*ingestion.figures, *run_isolated(measure_configuration, job)]
        parts = [one.value for one in figures if one.name in ("documents_s", "engine_s")]
        return [*figures, TrialFigure("total_s", sum_or_none(parts))]

    def _ingestion(self, system: System) -> TrialIngestion:
        labels = [part.label if part else "" for part in (system.chunker, system.embedder)]
        place = self.home / fingerprint("ingestion", labels)[:12]
        if place not in self.ingestions:
            shutil.rmtree(place, ignore_errors=True)  # what failed is not resumed: its times would be partial
            place.mkdir()
            job = IngestionJob(self.plan, system.chunker, system.embedder, place, self.sample)
            self.ingestions[place] = run_isolated(ingest_documents, job)
        return self.ingestions[place]
