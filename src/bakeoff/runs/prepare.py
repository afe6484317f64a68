"""What a run makes before the first query is timed: chunks, the truth on them, vectors and indexes."""

from __future__ import annotations

from collections.abc import Mapping

from bakeoff import registry
from bakeoff.errors import CacheError, ConsentError, ExperimentError, TruthError, describe_error
from bakeoff.runtime.events import Emit, WarningRaised
from bakeoff.measures.names import parse
from bakeoff.config.plan import Plan
from bakeoff.runs.recording import RunInputs, queries_key, truth_key
from bakeoff.pipeline.chunk import ChunkedCorpus
from bakeoff.pipeline.embed import vector_notes
from bakeoff.pipeline.read import ReadCorpus
from bakeoff.pipeline.shared_artifacts import SharedArtifacts
from bakeoff.truth.queries import QuerySet
from bakeoff.truth.resolve import Truth, require_sound
from bakeoff.truth.human_judgments import judged_by_models
from bakeoff.truth.units import bound_chunkings
from bakeoff.runs.checks.ceilings import Ceilings, refused_measures
from bakeoff.runs.checks.filters import check_filters
from bakeoff.runs.checks.context import ValidationContext, experiment_text, plan_truth
from bakeoff.runs.checks.blocking import counts_chunks, blocking_findings, refuse_errors


def prepare_run(plan: Plan, queries: QuerySet, corpus: ReadCorpus, artifacts: SharedArtifacts, emit: Emit) -> RunInputs:
    """Chunk, resolve the truth, and build everything that is not timed by the query."""
    said, leaked = blocking_findings(queries, corpus, plan.settings.allow)
    chunkings = _chunkings(plan, artifacts, emit)
    tables = {chunking.fingerprint: chunking.chunks for chunking in chunkings.values()}
    truth = plan_truth(plan, queries, corpus, tables)
    require_sound(truth)
    said = [*_filter_notes(queries, corpus, chunkings, truth), *said]
    _refuse_measures(ValidationContext(plan, queries, corpus, chunkings, truth, experiment_text(plan, plan.file)))
    _refuse_unfair(truth, chunkings)
    said = [*judged_by_models(truth.judgments), *said]
    for text in (*(problem.message for problem in truth.problems), *said):
        emit(WarningRaised(text))
    _build(plan, artifacts)
    _open(plan, artifacts)
    return RunInputs(
        plan,
        queries,
        truth,
        corpus,
        chunkings,
        queries_key(queries),
        truth_key(truth),
        tuple(artifacts.known_lengths()),
        (*said, *_only_within(plan, chunkings), *vector_notes(artifacts.known_vectors())),
        artifacts.engines(),
        leaked,
    )


def _refuse_measures(material: ValidationContext) -> None:
    """What validate calls an error of a measure stops the run before anything is embedded."""
    if found := refused_measures(material, Ceilings(material)):
        raise ExperimentError(lines=[f"{one.where}: {one.message}" for one in found.values()])


def _refuse_unfair(truth: Truth, chunkings: dict[str, ChunkedCorpus]) -> None:
    """What was decided on chunks compares no chunkers: long ones meet a condition more easily (F08)."""
    if len(chunkings) < 2 or not bound_chunkings(truth.judgments):
        return
    sources = sorted({hit.source for hit in truth.hits if hit.chunking})
    raise TruthError(
        f"the truth by {', '.join(sources)} is decided on chunks, so it cannot compare the chunkers "
        f"{', '.join(chunkings)}: long chunks meet a condition more easily. Use one chunker, or let these rules "
        "say over: documents or over: sections."
    )


def _only_within(plan: Plan, chunkings: dict[str, ChunkedCorpus]) -> list[str]:
    """A note on the measures beside the primary one that say nothing between chunkers."""
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
        except Exception as exc:  # noqa: BLE001 - shows again when its systems are measured
            emit(WarningRaised(f"{part.label}: {describe_error(exc)}"))
    return found


def _filter_notes(
    queries: QuerySet, corpus: ReadCorpus, chunkings: Mapping[str, ChunkedCorpus], truth: Truth
) -> list[str]:
    """Notes on filters that leave out a part of the truth; filters that cannot be used stop the run."""
    tables = {label: made.chunks for label, made in chunkings.items()}
    return refuse_errors(check_filters(queries, corpus, tables, truth.judgments))


def _build(plan: Plan, artifacts: SharedArtifacts) -> None:
    """Embed and index for all systems side by side; a failure shows again when its system is measured."""
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
    """Open every index on this thread, whose searches are timed (F52); a failure shows again with its system."""
    for system in plan.systems:
        try:
            artifacts.indexes(system)
        except CacheError:
            raise
        except Exception:  # noqa: BLE001, S112 - shows again when its systems are measured
            continue
