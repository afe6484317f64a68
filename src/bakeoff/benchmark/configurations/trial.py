"""One configuration in its own process: documents read and embedded, an index built, every depth searched."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from bakeoff.benchmark.resources.memory import (
    NO_FILES,
    UNSEEN,
    IndexMemory,
    measure_growth,
    resident_bytes,
    server_growth,
    server_use,
)
from bakeoff.benchmark.resources.usage import Resources, ResourceUse, Sampler
from bakeoff.benchmark.vectors import quality
from bakeoff.benchmark.vectors.exact_neighbours import distances
from bakeoff.config.modes import MODES, Hybrid
from bakeoff.config.plan import Plan, PluginSpec, System
from bakeoff.errors import SettingError, StoreError
from bakeoff.fingerprint import fingerprint
from bakeoff.measures.names import Measure, parse
from bakeoff.measures.neighbours import knn_recall
from bakeoff.pipeline import vector_file
from bakeoff.pipeline.blank_leaks import blank_leaked_sentences
from bakeoff.pipeline.chunk import ChunkedCorpus
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.embed import ChunkVectors, QueryVectors, embed_chunks, embed_queries
from bakeoff.pipeline.index import IndexContent, OpenIndex, index_name
from bakeoff.pipeline.measure_system import make_system_task, scoring_inputs
from bakeoff.pipeline.query_executor import QueryExecutor
from bakeoff.pipeline.query_pipeline import QueryPipeline, StepResult, check_hits
from bakeoff.pipeline.read import ReadCorpus, Sample
from bakeoff.pipeline.scoring.inputs import ScoringInputs
from bakeoff.pipeline.scoring.score import measure_values
from bakeoff.pipeline.shared_artifacts import SharedArtifacts
from bakeoff.pipeline.timing import samples_needed
from bakeoff.protocols import SupportsDrop
from bakeoff.runs.checks.context import plan_truth, read_corpus
from bakeoff.storage.cache import Cache
from bakeoff.truth.queries import QuerySet, read_queries
from bakeoff.types import Hits, Role

SEARCH_SECONDS = 0.3
"""How long the queries of one depth are repeated at least: processor and memory need samples."""
MEASURES = ("R", "P_unique", "RR", "nDCG")
USES = ("avg_cpu_percent", "peak_cpu_percent", "avg_memory_mb", "peak_memory_mb")
A = TypeVar("A", bound=SharedArtifacts)
Searched = tuple[StepResult, float, Resources]
"""Answers with the milliseconds of all passes, the seconds of the passes, and what they took of the machine."""
TUNED = "a weight tuned on folds belongs to one set of rankings: the depths of this system are not measured"


@dataclass(frozen=True, slots=True)
class TrialFigure:
    """One measured value; `top_k` is None for ingestion, and a null value has its reason in `note`."""

    name: str
    value: float | None
    top_k: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class IngestionJob:
    """What one process reads, cuts and embeds: all documents, or a sample of them; its cache is in `home`."""

    plan: Plan
    chunker: PluginSpec
    embedder: PluginSpec | None
    home: Path
    sample: Sample | None = None


@dataclass(frozen=True, slots=True)
class TrialIngestion:
    """Vectors for the stores of one run: their name in the cache, the file of the queries' vectors, and the times."""

    home: Path
    vectors: str
    queries: Path | None
    figures: tuple[TrialFigure, ...]


@dataclass(frozen=True, slots=True)
class SystemJob:
    """What one process indexes and searches; `salt` names its collections.

    `pids` and `server_data` are the processes and the data folder of its store's server, where it was started here.
    """

    plan: Plan
    system: System
    ingestion: TrialIngestion
    home: Path
    salt: str
    pids: tuple[int, ...] = ()
    server_data: Path | None = None
    sample: Sample | None = None


def ingest_documents(job: IngestionJob) -> TrialIngestion:
    """Read, cut and embed the corpus from an empty cache, each phase timed; the model is loaded before."""
    plan, queries = job.plan, read_queries(job.plan.queries)
    context = StageContext(Cache(job.home))
    model = _model(job.embedder)
    with Sampler() as sampler:
        begin = time.perf_counter()
        corpus = read_corpus(plan, context, job.sample)
        artifacts = _artifacts(SharedArtifacts, plan, queries, corpus, context)
        chunking = artifacts.chunking(job.chunker)
        made = embed_chunks(job.embedder, model, chunking, context) if job.embedder else None
        total = time.perf_counter() - begin
    figures = [
        TrialFigure("read_s", corpus.seconds),
        TrialFigure("chunk_s", chunking.seconds),
        *([TrialFigure("embed_s", made.seconds)] if made else []),
        TrialFigure("documents_s", total),
        TrialFigure("documents", corpus.documents.num_rows),
        TrialFigure("chunks", chunking.chunks.num_rows),
        *_uses("documents", sampler.found.client, None),
    ]
    file = None
    if job.embedder is not None:
        texts = [query.text for query in queries.queries]
        embedded = embed_queries(job.embedder, model, texts, artifacts.warm_up(), 1, context)
        file = job.home / f"queries-{fingerprint(job.embedder.label)[:12]}.npy"
        np.save(file, embedded.matrix)
        model.close()
    return TrialIngestion(job.home, made.fingerprint if made else "", file, tuple(figures))


def measure_configuration(job: SystemJob) -> list[TrialFigure]:
    """Build a system's index from nothing, then measure every depth of the plan."""
    plan, queries = job.plan, read_queries(job.plan.queries)
    params = job.system.mode.params
    if isinstance(params, Hybrid) and params.tuned:
        raise SettingError(TUNED)
    corpus = read_corpus(plan, StageContext(Cache(job.ingestion.home)), job.sample)
    artifacts = _artifacts(_IngestedArtifacts, plan, queries, corpus, StageContext(Cache(job.home)))
    artifacts.use(job)
    try:
        with _dropped_at_end(artifacts, job):
            figures = list(_index(artifacts, job))
            searched = {k: _time_search(artifacts, job, k) for k in plan.settings.top_k}
            figures += _search_figures(artifacts, job, searched)
            if job.sample is None:
                return figures + list(_scores(artifacts, job, queries, corpus, searched))
            return figures + list(
                _neighbours(artifacts, job, searched)
            )  # a sample may lack the right documents
    finally:
        artifacts.close()


class _IngestedArtifacts(SharedArtifacts):
    """Indexes and searches what another process ingested; no model is loaded, so memory is the engine's."""

    def use(self, job: SystemJob) -> None:
        """Take chunks and vectors from there, under names of this trial."""
        self._job, self._ingested = job, StageContext(Cache(job.ingestion.home))

    def chunking(self, part: PluginSpec) -> ChunkedCorpus:
        """The chunks under a name of this trial, which a server's collection has too."""

        def make() -> ChunkedCorpus:
            plain = SharedArtifacts(self.corpus, (), self._ingested, metric=self.metric, depth=1, repeats=1)
            found = plain.chunking(part)
            return replace(found, fingerprint=fingerprint(self._job.salt, found.fingerprint))

        return self._shared.once(("trial chunks", part.label), make)

    def vectors(self, embedder: PluginSpec, chunker: PluginSpec) -> ChunkVectors:
        """The vectors that were made in this run."""
        name = self._job.ingestion.vectors
        folder = self._ingested.cache.get("vectors", name)
        if folder is None:
            raise StoreError(f"the vectors of {embedder.label} for this run are gone. Run the command again.")
        salted = fingerprint(self._job.salt, name)
        return ChunkVectors(
            vector_file.read_vectors(folder).matrix, salted, 0.0, 0, 0, embedder.label, chunker.label
        )

    def query_vectors(self, embedder: PluginSpec) -> QueryVectors:
        """The queries' vectors that were made in this run."""
        file = self._job.ingestion.queries
        assert file is not None
        return QueryVectors(np.load(file), np.empty((0, 0)), embedder.label)

    def collections(self, system: System) -> Iterator[tuple[Any, str]]:
        """Each open store of a system with the name of what it holds."""
        for part, index in zip((system.store, system.keyword), self._by_part(system), strict=True):
            if part is not None and index is not None:
                embedder = system.embedder if part is system.store else None
                native = part is system.store and "native" in MODES[system.mode.name].legs
                content: IndexContent = self.index_content(system.chunker, embedder, native)
                yield index.store, index_name(part, content, self.metric)

    def _by_part(self, system: System) -> tuple[OpenIndex | None, OpenIndex | None]:
        found = iter(self.indexes(system))
        return (next(found) if system.store else None, next(found) if system.keyword else None)


def _artifacts(kind: type[A], plan: Plan, queries: QuerySet, corpus: ReadCorpus, context: StageContext) -> A:
    settings = plan.settings
    return kind(
        blank_leaked_sentences(corpus, queries),
        queries.queries,
        context,
        metric=settings.metric,
        depth=max(settings.depth, *settings.top_k),
        repeats=1,
        filters=queries.filters,
    )


def _model(part: PluginSpec | None) -> Any:
    """The model, loaded: many load their weights when they are first asked."""
    from bakeoff import registry

    if part is None:
        return None
    model = registry.load("embedders", part.name)(part.params)
    model.embed(["warm up"], Role.DOCUMENT)
    return model


@contextlib.contextmanager
def _dropped_at_end(artifacts: _IngestedArtifacts, job: SystemJob) -> Iterator[None]:
    """Collections that the trial made on a server are removed, however it ends."""
    try:
        yield
    finally:
        with contextlib.suppress(StoreError):  # the first failure is the one to report
            for store, name in artifacts.collections(job.system):
                if isinstance(store, SupportsDrop):
                    store.drop(name)


def _index(artifacts: _IngestedArtifacts, job: SystemJob) -> Iterator[TrialFigure]:
    """Seconds of inserting, indexing and becoming ready, and what the engine took of the machine meanwhile."""
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
        known = all(one is not None for one in seconds)
        yield TrialFigure(f"{phase}_s", sum(seconds) if known else None, note="" if known else "not timed")
    sizes = [index.bytes for index in indexes]
    yield TrialFigure(
        "index_mb",
        None if None in sizes else sum(size or 0 for size in sizes) / 1e6,
        note=UNSEEN if None in sizes else "",
    )
    elsewhere = None in sizes
    yield from _engine_uses("ingestion", sampler.found, elsewhere)
    part = system.store or system.keyword
    assert part is not None
    held = sum(size or 0 for size in sizes) if not job.home.joinpath("index").exists() else 0
    after = server_use(job.pids, job.server_data)
    growth = (
        server_growth(server.memory, after.memory) if elsewhere else measure_growth(before, part.params, held)
    )
    yield TrialFigure("memory_growth_mb", growth.mb, note=growth.note)
    disk = server_growth(server.disk, after.disk) if elsewhere else _own_disk(job.home, sizes)
    yield TrialFigure("disk_mb", disk.mb, note=disk.note)


def _own_disk(home: Path, sizes: Sequence[int | None]) -> IndexMemory:
    """What an embedded engine keeps on disk; one that holds its rows in memory keeps nothing."""
    if not (home / "index").exists():
        return IndexMemory(None, NO_FILES)
    return IndexMemory(sum(size or 0 for size in sizes) / 1e6)


def _search_figures(
    artifacts: _IngestedArtifacts, job: SystemJob, searched: Mapping[int, Searched]
) -> Iterator[TrialFigure]:
    """Latency, rate and resources of every depth."""
    elsewhere = any(index.bytes is None for index in artifacts.indexes(job.system))
    for k, (leg, seconds, seen) in searched.items():
        yield from _speed(leg.milliseconds.ravel(), seconds, k)
        yield from _engine_uses("search", seen, elsewhere, k)


def _neighbours(
    artifacts: _IngestedArtifacts, job: SystemJob, searched: Mapping[int, Searched]
) -> Iterator[TrialFigure]:
    """The share of the true nearest chunks that a plain search by vectors found, at every depth."""
    system = job.system
    if not _by_vectors(system) or system.embedder is None:
        return
    base = artifacts.vectors(system.embedder, system.chunker).matrix[:]
    queries, metric = artifacts.query_vectors(system.embedder).matrix, job.plan.settings.metric
    executor = QueryExecutor(artifacts)
    for k, (leg, _, _) in searched.items():
        wide = min(k, len(base))
        found, exact = (
            quality.quality_table(
                [Hits(hits.ids[:wide], hits.scores[:wide]) for hits in one.hits], wide, len(base)
            )
            for one in (leg, executor.reference(system))
        )
        near, true = (distances(base, queries, ids, metric) for ids in (found, exact))
        recall = knn_recall(found, exact, wide, found_distance=near, exact_distance=true)
        yield TrialFigure("kNN", float(recall.mean()), k)


def _scores(
    artifacts: _IngestedArtifacts,
    job: SystemJob,
    queries: QuerySet,
    corpus: ReadCorpus,
    searched: Mapping[int, Searched],
) -> Iterator[TrialFigure]:
    """The quality of what every depth returned."""
    chunking = artifacts.chunking(job.system.chunker)
    truth = plan_truth(job.plan, queries, corpus, {chunking.fingerprint: chunking.chunks})
    task = make_system_task(
        artifacts,
        run="",
        system=job.system,
        queries=queries,
        truth=truth,
        measures=job.plan.measures,
        conventions=job.plan.conventions,
        seed=job.plan.settings.seed,
    )
    executor = QueryExecutor(artifacts)
    for k, (leg, _, _) in searched.items():
        scores = np.concatenate([hits.scores for hits in leg.hits])
        yield TrialFigure("similarity", float(scores.mean()) if len(scores) else None, k)
        scored = scoring_inputs(task, artifacts, leg, _exact(executor, job, leg))
        yield from _quality(scored, k, job)


def _exact(
    executor: QueryExecutor, job: SystemJob, leg: StepResult
) -> Callable[[], tuple[StepResult, StepResult] | None]:
    """What the store found and what exact search finds, for a plain search by vectors."""
    return lambda: (leg, executor.reference(job.system)) if _by_vectors(job.system) else None


def _by_vectors(system: System) -> bool:
    return MODES[system.mode.name].legs == ("dense",) and not system.rerank


def _quality(scored: ScoringInputs, k: int, job: SystemJob) -> Iterator[TrialFigure]:
    names = [f"{name}@{k}(document)" for name in MEASURES]
    measures = [parse(name) for name in [*names, *([f"kNN@{k}(vector)"] if _by_vectors(job.system) else [])]]
    columns: dict[Measure, np.ndarray] = measure_values(scored, measures)
    for measure in measures:
        known = columns[measure][~np.isnan(columns[measure])]
        note = "" if len(known) else "no query could be scored"
        yield TrialFigure(measure.name, float(known.mean()) if len(known) else None, k, note)


def _pipeline(executor: QueryExecutor, system: System, k: int) -> QueryPipeline:
    """How one query is answered with `k` results: a plain search asks its store for `k` rows and no more."""
    plain = len(MODES[system.mode.name].legs) == 1 and not system.rerank
    return replace(executor.pipeline(replace(system, depth=k) if plain else system), depth=k)


def _time_search(artifacts: _IngestedArtifacts, job: SystemJob, k: int) -> Searched:
    """The answers at one depth, with the milliseconds of all passes, their seconds and what they took."""
    executor = QueryExecutor(artifacts)
    way = _pipeline(executor, job.system, k)
    asked, others = executor.requests(job.system), executor.warm_up_requests(job.system)
    for one in others:
        way.answer(one)
    clock = time.perf_counter_ns
    hits: list[Hits] = []
    rows: list[list[int]] = []
    with Sampler(pids=job.pids) as sampler:
        begin = time.perf_counter()
        while not rows or time.perf_counter() - begin < SEARCH_SECONDS:
            row = []
            for one in asked:
                start = clock()
                answer = way.answer(one)
                row.append(clock() - start)
                if not rows:
                    hits.append(answer)
            rows.append(row)
        seconds = time.perf_counter() - begin
    for answer in hits:
        check_hits(answer)
    return StepResult(tuple(hits), np.array(rows, float) / 1e6), seconds, sampler.found


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
    """The server's side where one was seen, else this process, which holds an embedded engine by itself."""
    use = seen.server if seen.server.avg_memory_mb is not None else seen.client
    if elsewhere and seen.server.avg_memory_mb is None:
        use = ResourceUse(note=UNSEEN)
    yield from _uses(phase, use, k)


def _uses(phase: str, use: ResourceUse, k: int | None) -> Iterator[TrialFigure]:
    for name in USES:
        yield TrialFigure(f"{phase}_{name}", getattr(use, name), k, use.note)
