"""The systems of an experiment over samples of growing size of its documents, each read, indexed and searched anew."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from bakeoff import registry
from bakeoff.benchmark.configurations.trial import (
    IngestionJob,
    SystemJob,
    TrialFigure,
    TrialIngestion,
    ingest_documents,
    measure_configuration,
)
from bakeoff.benchmark.results.scale_rows import DOCUMENTS, SIZE, ScaleRow, fits_of, write_rows
from bakeoff.benchmark.run_in_subprocess import run_isolated
from bakeoff.benchmark.scale.measure_sizes import FORMAT, default_sizes
from bakeoff.benchmark.targets import Pids
from bakeoff.config.plan import Plan, System
from bakeoff.errors import SettingError, SystemFailure
from bakeoff.fingerprint import fingerprint
from bakeoff.pipeline.loops.client_threads import INTERRUPTED
from bakeoff.pipeline.read import Sample
from bakeoff.runtime.machine import describe_machine, package_versions
from bakeoff.storage.cache import write_file
from bakeoff.storage.temp_dir import TempDir
from bakeoff.truth.queries import read_queries
from bakeoff.types import SourceItem, Status

NAMES = {"kNN": "knn", "memory_growth_mb": "memory_mb"}
"""Figures of a configuration under the names that `bakeoff scale` has for them."""
INDEXING = ("insert_s", "index_s", "ready_s")
KEPT = (
    "documents", "chunks", "read_s", "chunk_s", "embed_s", *INDEXING, "latency_ms", "p50_ms", "p95_ms", "qps",
    "disk_mb",
)  # fmt: skip


Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class DocumentScaleOptions:
    """Which sizes are measured how often; without sizes, powers of ten up to the corpus."""

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
    """Who knows the processes and the data folder of a store's server."""

    pids: Pids
    data_folder: Callable[[str, Any], Path | None]


@dataclass(slots=True)
class DocumentScaled:
    """What is known so far; `failed` has the reason why a system has no rows from a size on."""

    plan: Plan
    options: DocumentScaleOptions
    documents: int
    queries: int
    rows: list[ScaleRow] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    status: Status = Status.PARTIAL
    stopped: str = ""

    def record(self) -> dict[str, Any]:
        """Everything but the rows, as plain values."""
        return {
            "format": FORMAT,
            "kind": "scale",
            "unit": DOCUMENTS,
            "status": self.status.value,
            "stopped": self.stopped,
            "dataset": {
                "name": self.plan.name,
                "fingerprint": self.plan.fingerprint(),
                "documents": self.documents,
                "queries": self.queries,
                "metric": self.plan.settings.metric.value,
                "notes": [],
            },
            "options": asdict(self.options),
            "failed": self.failed,
            "fits": [
                {"system": system, "figure": figure, **asdict(found), "bends": found.bends}
                for (system, figure), found in fits_of(self.rows).items()
            ],
            "machine": describe_machine(),
            "versions": package_versions(),
        }

    def save(self, folder: Path) -> None:
        """Write rows.parquet and record.json as they are now."""
        write_file(folder / "rows.parquet", write_rows(self.rows))
        write_file(folder / "record.json", json.dumps(self.record(), indent=1, ensure_ascii=False).encode())


def measure_document_scale(
    plan: Plan,
    systems: Sequence[System],
    options: DocumentScaleOptions,
    servers: Servers,
    *,
    folder: Path,
    tell: Tell,
) -> DocumentScaled:
    """Every size in every run; a system that fails is not tried at larger ones, Ctrl-C keeps what is there."""
    count = _count_documents(plan)
    options = _checked(options, count)
    plan = _with_depth(plan, options.k)
    outcome = DocumentScaled(plan, options, count, len(read_queries(plan.queries).queries))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for run in range(options.runs):
            for size in options.sizes:
                with TempDir("scale") as home:
                    sampled = _Sampled(plan, Sample(size, options.seed), run, home, folder.name)
                    for _ in _one_size(outcome, systems, sampled, servers, tell):
                        outcome.save(folder)
    except KeyboardInterrupt:
        outcome.stopped = INTERRUPTED
    if not outcome.stopped:
        outcome.status = Status.FAILED if outcome.failed else Status.DONE
    outcome.save(folder)
    return outcome


def _count_documents(plan: Plan) -> int:
    """How many documents the source lists; not all of them may be readable."""
    source = registry.load("sources", plan.source.name)(plan.source.params)
    return sum(isinstance(item, SourceItem) for item in source.items())


def _checked(options: DocumentScaleOptions, count: int) -> DocumentScaleOptions:
    """The options with sizes that the corpus has."""
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
        """Every figure of one system over this sample, measured in processes of its own."""
        ingestion = self._ingestion(system)
        store = system.store or system.keyword
        assert store is not None
        own = self.home / fingerprint(system.label)[:12]
        own.mkdir()
        salt = fingerprint("scale", self.name, system.label, self.sample.size, self.run)
        job = SystemJob(
            self.plan, system, ingestion, own, salt, tuple(servers.pids(store.name, store.params)),
            servers.data_folder(store.name, store.params), self.sample,
        )  # fmt: skip
        return [*ingestion.figures, *run_isolated(measure_configuration, job)]

    def _ingestion(self, system: System) -> TrialIngestion:
        labels = [part.label if part else "" for part in (system.chunker, system.embedder)]
        place = self.home / fingerprint("ingestion", labels)[:12]
        if place not in self.made:
            place.mkdir(exist_ok=True)
            job = IngestionJob(self.plan, system.chunker, system.embedder, place, self.sample)
            self.made[place] = run_isolated(ingest_documents, job)
        return self.made[place]


def _one_size(
    outcome: DocumentScaled, systems: Sequence[System], sampled: _Sampled, servers: Servers, tell: Tell
) -> Iterator[None]:
    """All systems over one sample, taking turns in going first; yields after each."""
    turn, size = sampled.run % len(systems), sampled.sample.size
    for system in [*systems[turn:], *systems[:turn]]:
        if system.label in outcome.failed:
            continue
        tell(f"run {sampled.run + 1} of {outcome.options.runs}: {system.label}, {size:,} documents")
        try:
            outcome.rows += _rows(system.label, size, sampled.run, sampled.measure(system, servers))
        except SystemFailure as exc:
            outcome.failed[system.label] = f"at {size:,} documents: {exc}"
        yield


def _rows(system: str, size: int, run: int, figures: Sequence[TrialFigure]) -> Iterator[ScaleRow]:
    """The figures that `bakeoff scale` keeps, with the seconds of the index and of everything."""

    def row(figure: str, value: float | None, note: str = "") -> ScaleRow:
        return ScaleRow(SIZE, system, "default", size, run, None, figure, value, note)

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
