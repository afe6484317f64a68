"""Measures an experiment's systems on growing samples of its documents, each ingested and searched from scratch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bakeoff import registry
from bakeoff.benchmark.configurations.jobs import TrialFigure
from bakeoff.benchmark.configurations.trial import Servers, Trials
from bakeoff.benchmark.resources.usage import sum_or_none
from bakeoff.benchmark.results.scale_results import DOCUMENTS, SIZE, ScaleRow
from bakeoff.benchmark.scale.session import ScaleSession, default_sizes
from bakeoff.benchmark.session import Job, Tell, finish_session, rotate, run_jobs
from bakeoff.config.plan import Plan, System
from bakeoff.errors import SettingError
from bakeoff.fingerprint import fingerprint
from bakeoff.pipeline.read import Sample, count_documents
from bakeoff.storage.temp_dir import TempDir
from bakeoff.truth.queries import read_queries

INDEXING = ("insert_s", "index_s", "ready_s")
_SAME = (
    "documents", "chunks", "read_s", "chunk_s", "embed_s", *INDEXING, "latency_ms", "p50_ms", "p95_ms", "qps",
    "disk_mb",
)  # fmt: skip
KEPT = {**{name: name for name in _SAME}, "kNN": "knn", "memory_growth_mb": "memory_mb"}
"""Figures of a configuration → their names in `bakeoff scale`."""


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
                    trials = Trials(plan, home, servers, Sample(size, options.seed))
                    jobs = _jobs(outcome, systems, trials, size, run, folder.name)
                    run_jobs(outcome, jobs, save, tell)
    return outcome


def _check_sizes(options: DocumentScaleOptions, count: int) -> DocumentScaleOptions:
    """The options with sizes checked against the corpus."""
    if options.sizes and options.sizes[-1] > count:
        raise SettingError(f"--sizes has {options.sizes[-1]:,}; the corpus has {count:,} documents.")
    return replace(options, sizes=options.sizes or default_sizes(count))


def _with_depth(plan: Plan, k: int) -> Plan:
    return replace(plan, settings=plan.settings.model_copy(update={"top_k": [k]}))


def _jobs(
    outcome: DocumentScaleOutcome, systems: Sequence[System], trials: Trials, size: int, run: int, name: str
) -> Iterator[Job]:
    """All systems on one sample; each run starts with another."""

    def measure(system: System) -> None:
        salt = fingerprint("scale", name, system.label, size, run)
        outcome.rows += _rows(system.label, size, run, trials.measure(system, salt))

    for system in rotate(systems, run):
        title = f"run {run + 1} of {outcome.options.runs}: {system.label}, {size:,} documents"
        yield Job(system.label, title, partial(measure, system), f"at {size:,} documents: ")


def _rows(system: str, size: int, run: int, figures: Sequence[TrialFigure]) -> Iterator[ScaleRow]:
    """The figures that `bakeoff scale` keeps, with the index and total seconds."""

    def row(figure: str, value: float | None, note: str = "") -> ScaleRow:
        return ScaleRow(SIZE, system, "default", size, run, None, figure=figure, value=value, note=note)

    by_name = {one.name: one for one in figures}
    for name, title in KEPT.items():
        if name in by_name:
            yield row(title, by_name[name].value, by_name[name].note)
    yield row("build_s", sum_or_none([by_name[name].value for name in INDEXING]))
    yield row("total_s", by_name["total_s"].value)
