"""Measures an experiment's systems on growing samples of its documents, each ingested and searched from scratch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff import registry
from bakeoff.benchmark.configurations.jobs import IngestionJob, SystemJob, TrialFigure, TrialIngestion
from bakeoff.benchmark.configurations.trial import ingest_documents, measure_configuration
from bakeoff.benchmark.results.scale_results import DOCUMENTS, SIZE, ScaleRow
from bakeoff.benchmark.run_in_subprocess import run_isolated
from bakeoff.benchmark.scale.session import ScaleSession, default_sizes
from bakeoff.benchmark.session import Job, Tell, finish_session, run_jobs
from bakeoff.benchmark.targets import Pids
from bakeoff.config.plan import Plan, System
from bakeoff.errors import SettingError
from bakeoff.fingerprint import fingerprint
from bakeoff.pipeline.read import Sample, count_documents
from bakeoff.storage.temp_dir import TempDir
from bakeoff.truth.queries import read_queries

if TYPE_CHECKING:
    from pydantic import BaseModel


NAMES = {"kNN": "knn", "memory_growth_mb": "memory_mb"}
"""Figures of a configuration → their names in `bakeoff scale`."""
INDEXING = ("insert_s", "index_s", "ready_s")
KEPT = (
    "documents",
    "chunks",
    "read_s",
    "chunk_s",
    "embed_s",
    *INDEXING,
    "latency_ms",
    "p50_ms",
    "p95_ms",
    "qps",
    "disk_mb",
)


@dataclass(frozen=True, slots=True)
class DocumentScaleOptions:
    """The sizes and number of runs; by default, powers of ten up to the corpus."""

    sizes: tuple[int, ...] = ()
    k: int = 10
    runs: int = 3
    seed: int = 7
    command: str = ""
    target: None = None

    def __post_init__(self) -> None:
        if any(a >= b for a, b in zip(self.sizes, self.sizes[1:], strict=False)):
            raise SettingError("--sizes must grow: 100,1000,10000.")
        if self.k < 1 or self.runs < 1 or any(size < 1 for size in self.sizes):
            raise SettingError("--k, --runs and --sizes must be positive.")


@dataclass(frozen=True, slots=True)
class Servers:
    """Looks up the processes and the data folder of a store's server."""

    pids: Pids
    data_folder: Callable[[str, BaseModel | None], Path | None]


@dataclass(slots=True, kw_only=True)
class DocumentScaleOutcome(ScaleSession):
    """The systems of an experiment over growing samples of its documents."""

    plan: Plan
    options: DocumentScaleOptions
    documents: int
    queries: int

    def facts(self) -> Mapping[str, object]:
        """The corpus, as entries of the record."""
        return {
            "unit": DOCUMENTS,
            "dataset": {
                "name": self.plan.name,
                "fingerprint": self.plan.fingerprint(),
                "documents": self.documents,
                "queries": self.queries,
                "metric": self.plan.settings.metric.value,
                "notes": [],
            },
        }


def measure_document_scale(
    plan: Plan,
    systems: Sequence[System],
    options: DocumentScaleOptions,
    servers: Servers,
    *,
    folder: Path,
    tell: Tell,
) -> DocumentScaleOutcome:
    """Measure every size in every run; a failed system is not tried at larger sizes, Ctrl-C keeps finished results."""
    count = count_documents(registry.load("sources", plan.source.name)(plan.source.params))
    options = _check_sizes(options, count)
    plan = _with_depth(plan, options.k)
    queries = len(read_queries(plan.queries).queries)
    outcome = DocumentScaleOutcome(plan=plan, options=options, documents=count, queries=queries)
    folder.mkdir(parents=True, exist_ok=True)
    save = partial(outcome.save, folder)
    with finish_session(outcome, save):
        for run in range(options.runs):
            for size in options.sizes:
                with TempDir("scale") as home:
                    sampled = _Sampled(plan, Sample(size, options.seed), run, home, folder.name)
                    run_jobs(outcome, _jobs(outcome, systems, sampled, servers), save, tell)
    return outcome


def _check_sizes(options: DocumentScaleOptions, count: int) -> DocumentScaleOptions:
    """The options with sizes checked against the corpus."""
    if options.sizes and options.sizes[-1] > count:
        raise SettingError(f"--sizes has {options.sizes[-1]:,}; the corpus has {count:,} documents.")
    return replace(options, sizes=options.sizes or default_sizes(count))


def _with_depth(plan: Plan, k: int) -> Plan:
    return replace(plan, settings=plan.settings.model_copy(update={"top_k": [k]}))


@dataclass(slots=True)
class _Sampled:
    """One sample in one run: ingested once for the systems that share it, from an empty cache in `home`."""

    plan: Plan
    sample: Sample
    run: int
    home: Path
    name: str
    made: dict[Path, TrialIngestion] = field(default_factory=dict)

    def measure(self, system: System, servers: Servers) -> list[TrialFigure]:
        """Every figure of one system on this sample, measured in separate processes."""
        ingestion = self._ingestion(system)
        store = system.store or system.keyword
        assert store is not None
        own = self.home / fingerprint(system.label)[:12]
        own.mkdir()
        salt = fingerprint("scale", self.name, system.label, self.sample.size, self.run)
        job = SystemJob(
            plan=self.plan,
            system=system,
            ingestion=ingestion,
            home=own,
            salt=salt,
            pids=tuple(servers.pids(store.name, store.params)),
            server_data=servers.data_folder(store.name, store.params),
            sample=self.sample,
        )
        return [*ingestion.figures, *run_isolated(measure_configuration, job)]

    def _ingestion(self, system: System) -> TrialIngestion:
        labels = [part.label if part else "" for part in (system.chunker, system.embedder)]
        place = self.home / fingerprint("ingestion", labels)[:12]
        if place not in self.made:
            place.mkdir(exist_ok=True)
            job = IngestionJob(self.plan, system.chunker, system.embedder, place, self.sample)
            self.made[place] = run_isolated(ingest_documents, job)
        return self.made[place]


def _jobs(
    outcome: DocumentScaleOutcome, systems: Sequence[System], sampled: _Sampled, servers: Servers
) -> Iterator[Job]:
    """All systems on one sample; each run starts with another."""
    turn, size, run = sampled.run % len(systems), sampled.sample.size, sampled.run
    for system in [*systems[turn:], *systems[:turn]]:
        title = f"run {run + 1} of {outcome.options.runs}: {system.label}, {size:,} documents"
        measure = partial(_measure, outcome, sampled, system, servers)
        yield Job(system.label, title, measure, f"at {size:,} documents: ")


def _measure(outcome: DocumentScaleOutcome, sampled: _Sampled, system: System, servers: Servers) -> None:
    figures = sampled.measure(system, servers)
    outcome.rows += _rows(system.label, sampled.sample.size, sampled.run, figures)


def _rows(system: str, size: int, run: int, figures: Sequence[TrialFigure]) -> Iterator[ScaleRow]:
    """The figures that `bakeoff scale` keeps, with the index and total seconds."""

    def row(figure: str, value: float | None, note: str = "") -> ScaleRow:
        return ScaleRow(
            kind=SIZE,
            system=system,
            setting="default",
            size=size,
            run=run,
            at=None,
            figure=figure,
            value=value,
            note=note,
        )

    found = {one.name: one for one in figures}
    for name in KEPT:
        if name in found:
            yield row(name, found[name].value, found[name].note)
    for name, shown in NAMES.items():
        if name in found:
            yield row(shown, found[name].value, found[name].note)
    parts = [found[name].value for name in INDEXING]
    yield row("build_s", None if None in parts else sum(part or 0.0 for part in parts))
    whole = [found[name].value for name in ("documents_s", "engine_s")]
    yield row("total_s", None if None in whole else sum(part or 0.0 for part in whole))
