"""What a run makes before its first query: chunks, the truth on them, vectors and indexes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bakeoff import registry
from bakeoff.config.plan import Plan
from bakeoff.errors import CacheError, ConsentError, ExperimentError, TruthError, describe_error
from bakeoff.fingerprint import fingerprint
from bakeoff.measures.names import parse
from bakeoff.pipeline.chunk import ChunkedCorpus
from bakeoff.pipeline.embed import vector_notes
from bakeoff.pipeline.lengths import TokenLengths
from bakeoff.pipeline.read import ReadCorpus
from bakeoff.pipeline.shared_artifacts import SharedArtifacts
from bakeoff.runs.checks.blocking import blocking_findings, counts_chunks, refuse_errors
from bakeoff.runs.checks.ceilings import Ceilings, refused_measures
from bakeoff.runs.checks.context import ValidationContext, experiment_text, plan_truth
from bakeoff.runs.checks.filters import check_filters
from bakeoff.runtime.events import Emit, WarningRaised
from bakeoff.truth.human_judgments import judged_by_models
from bakeoff.truth.queries import QuerySet
from bakeoff.truth.resolve import Truth, require_sound
from bakeoff.truth.units import bound_chunkings


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInputs:
    """Everything the systems of a run are measured with."""

    plan: Plan
    queries: QuerySet
    truth: Truth
    corpus: ReadCorpus
    chunkings: dict[str, ChunkedCorpus]
    queries_key: str
    truth_key: str
    lengths: tuple[TokenLengths, ...] = ()
    notes: tuple[str, ...] = ()
    engines: Mapping[str, str] = field(default_factory=dict)
    leaked: tuple[str, ...] = ()


def prepare_run(
    plan: Plan, queries: QuerySet, corpus: ReadCorpus, artifacts: SharedArtifacts, emit: Emit
) -> RunInputs:
    """Chunk, resolve the truth, and build everything that is not timed per query."""
    notes, leaked = blocking_findings(queries, corpus, plan.settings.allow)
    chunkings = _chunkings(plan, artifacts, emit)
    tables = {chunking.fingerprint: chunking.chunks for chunking in chunkings.values()}
    truth = plan_truth(plan, queries, corpus, tables)
    require_sound(truth)
    notes = [*_filter_notes(queries, corpus, chunkings, truth), *notes]
    _refuse_measures(
        ValidationContext(plan, queries, corpus, chunkings, truth, experiment_text(plan, plan.file))
    )
    _refuse_unfair(truth, chunkings)
    notes = [*judged_by_models(truth.judgments), *notes]
    for text in (*(problem.message for problem in truth.problems), *notes):
        emit(WarningRaised(text))
    _build(plan, artifacts)
    _open(plan, artifacts)
    return RunInputs(
        plan=plan,
        queries=queries,
        truth=truth,
        corpus=corpus,
        chunkings=chunkings,
        queries_key=queries_key(queries),
        truth_key=truth_key(truth),
        lengths=tuple(artifacts.known_lengths()),
        notes=(*notes, *_chunk_count_notes(plan, chunkings), *vector_notes(artifacts.known_vectors())),
        engines=artifacts.engines(),
        leaked=leaked,
    )


def _refuse_measures(context: ValidationContext) -> None:
    """Stop before anything is embedded where `validate` finds an error in a measure."""
    if found := refused_measures(context, Ceilings(context)):
        raise ExperimentError(lines=[f"{one.where}: {one.message}" for one in found.values()])


def _refuse_unfair(truth: Truth, chunkings: dict[str, ChunkedCorpus]) -> None:
    """Truth decided on chunks cannot compare chunkers: long chunks meet a condition more easily (F08)."""
    if len(chunkings) < 2 or not bound_chunkings(truth.judgments):
        return
    sources = sorted({hit.source for hit in truth.hits if hit.chunking})
    raise TruthError(
        f"the truth by {', '.join(sources)} is decided on chunks, so it cannot compare the chunkers "
        f"{', '.join(chunkings)}: long chunks meet a condition more easily. Use one chunker, or write "
        "over: documents or over: sections in these rules."
    )


def _chunk_count_notes(plan: Plan, chunkings: dict[str, ChunkedCorpus]) -> list[str]:
    """A note on the other measures that count chunks: they do not compare chunkers."""
    names = [name for name in plan.measures if counts_chunks(parse(name))]
    if len(chunkings) < 2 or not names:
        return []
    return [f"{', '.join(names)} count chunks: compare systems by them only where the chunker is the same."]


def _chunkings(plan: Plan, artifacts: SharedArtifacts, emit: Emit) -> dict[str, ChunkedCorpus]:
    found = {}
    for part in {system.chunker.label: system.chunker for system in plan.systems}.values():
        try:
            found[part.label] = artifacts.chunking(part)
        except CacheError:
            raise
        except Exception as exc:  # noqa: BLE001 - reported when its systems are measured
            emit(WarningRaised(f"{part.label}: {describe_error(exc)}"))
    return found


def _filter_notes(
    queries: QuerySet, corpus: ReadCorpus, chunkings: Mapping[str, ChunkedCorpus], truth: Truth
) -> list[str]:
    """Notes on filters that leave out a part of the truth; filters that cannot be used stop the run."""
    tables = {label: made.chunks for label, made in chunkings.items()}
    return refuse_errors(check_filters(queries, corpus, tables, truth.judgments))


def _build(plan: Plan, artifacts: SharedArtifacts) -> None:
    """Embed and index for all systems in parallel; a failure is reported when its system is measured."""
    executor = registry.load("executors", "local")
    workers = executor(executor.Params())
    try:
        for future in workers.as_completed(
            [workers.submit(artifacts.prepare, system) for system in plan.systems]
        ):
            if isinstance(fault := future.exception(), ConsentError):
                raise fault
    finally:
        workers.close()


def _open(plan: Plan, artifacts: SharedArtifacts) -> None:
    """Open every index on this thread, which also searches (F52); a failure is reported with its system."""
    for system in plan.systems:
        try:
            artifacts.indexes(system)
        except CacheError:
            raise
        except Exception:  # noqa: BLE001, S112 - reported when its systems are measured
            continue


def queries_key(queries: QuerySet) -> str:
    """The name of a query file's content."""
    return fingerprint("queries", queries.content())


def truth_key(truth: Truth) -> str:
    """The name of a set of judgments, and of what is missing in it."""
    judged = {name: truth.judgments[name].to_pylist() for name in truth.judgments.column_names}
    return fingerprint("truth", judged, *([truth.unread] if truth.unread else []))
