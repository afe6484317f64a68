"""What a run makes before the first query is timed: chunks, the truth on them, vectors and indexes."""

from __future__ import annotations

from collections.abc import Mapping

from bakeoff import registry
from bakeoff.errors import CacheError, ConsentError, ExperimentError, TruthError, told
from bakeoff.events import Emit, Warned
from bakeoff.measures.conventions import Conventions
from bakeoff.measures.names import parse
from bakeoff.plan import Plan
from bakeoff.recording import Ingredients, queries_key, truth_key
from bakeoff.stages.chunk import Chunking
from bakeoff.stages.embed import vector_notes
from bakeoff.stages.kitchen import Kitchen
from bakeoff.stages.read import Corpus
from bakeoff.truth.queries import QuerySet
from bakeoff.truth.resolve import Truth, resolve
from bakeoff.truth.reviewed import judged_by_models, read_judgments, with_judgments
from bakeoff.truth.units import bound_chunkings
from bakeoff.validation.strict import counts_chunks, held_against, unfair


def prepare(
    plan: Plan, queries: QuerySet, corpus: Corpus, kitchen: Kitchen, conventions: Conventions, emit: Emit
) -> Ingredients:
    """Chunk, resolve the truth, and build everything that is not timed by the query."""
    said = held_against(queries, corpus, plan.settings.allow)
    chunkings = _chunkings(plan, kitchen, emit)
    tables = {chunking.fingerprint: chunking.chunks for chunking in chunkings.values()}
    truth = _reviewed(plan, queries, corpus, resolve(queries, corpus.documents, tables, strict=True))
    _refuse_unfair(plan, truth, chunkings)
    said = [*judged_by_models(truth.judgments), *said]
    for text in (*(problem.message for problem in truth.problems), *said):
        emit(Warned(text))
    _check_filters(plan, queries, kitchen, chunkings, emit)
    _build(plan, kitchen)
    return Ingredients(
        plan,
        queries,
        truth,
        corpus,
        chunkings,
        conventions,
        queries_key(queries),
        truth_key(truth),
        tuple(kitchen.known_lengths()),
        (*said, *_only_within(plan, chunkings), *vector_notes(kitchen.known_vectors())),
        kitchen.engines(),
    )


def _reviewed(plan: Plan, queries: QuerySet, corpus: Corpus, truth: Truth) -> Truth:
    """The truth with people's judgments in it, where the experiment names a judgment set."""
    if plan.settings.judgments is None:
        return truth
    judged = read_judgments(plan.folder / plan.settings.judgments)
    return with_judgments(truth, queries, corpus.documents, judged)


def _refuse_unfair(plan: Plan, truth: Truth, chunkings: dict[str, Chunking]) -> None:
    """What counts chunks or was decided on them compares no chunkers: long ones meet a condition more easily (F08)."""
    if why := unfair(parse(plan.primary), list(chunkings)):
        raise ExperimentError(why)
    if len(chunkings) < 2 or not bound_chunkings(truth.judgments):
        return
    sources = sorted({hit.source for hit in truth.hits if hit.chunking})
    raise TruthError(
        f"the truth by {', '.join(sources)} is decided on chunks, so it cannot compare the chunkers "
        f"{', '.join(chunkings)}: long chunks meet a condition more easily. Use one chunker, or let these rules "
        "say over: documents or over: sections."
    )


def _only_within(plan: Plan, chunkings: dict[str, Chunking]) -> list[str]:
    """A note on the measures beside the primary one that say nothing between chunkers."""
    names = [name for name in plan.measures if counts_chunks(parse(name))]
    if len(chunkings) < 2 or not names:
        return []
    return [f"{', '.join(names)} count chunks: compare systems by them only where the chunker is the same."]


def _chunkings(plan: Plan, kitchen: Kitchen, emit: Emit) -> dict[str, Chunking]:
    found = {}
    for part in {system.chunker.label: system.chunker for system in plan.systems}.values():
        try:
            found[part.label] = kitchen.chunking(part)
        except CacheError:
            raise
        except Exception as exc:  # noqa: BLE001 - shows again when its systems are measured
            emit(Warned(f"{part.label}: {told(exc)}"))
    return found


def _check_filters(
    plan: Plan, queries: QuerySet, kitchen: Kitchen, chunkings: Mapping[str, Chunking], emit: Emit
) -> None:
    """A filter on a field that is not there stops the run; one that leaves no chunk is told."""
    if not any(queries.filters):
        return
    parts = {system.chunker.label: system.chunker for system in plan.systems}
    for label in chunkings:
        beside = kitchen.payload(parts[label])
        for query, where in zip(queries.queries, kitchen.wheres(parts[label]), strict=True):
            if where and not beside.count(where):
                emit(Warned(f"query {query.id}: its filter leaves no chunk of {label}, so it finds nothing."))


def _build(plan: Plan, kitchen: Kitchen) -> None:
    """Embed and index for all systems side by side; a failure shows again when its system is measured."""
    executor = registry.load("executors", "local")
    workers = executor(executor.Params())
    try:
        for future in workers.as_completed(
            [workers.submit(kitchen.prepare, system) for system in plan.systems]
        ):
            if isinstance(fault := future.exception(), ConsentError):
                raise fault
    finally:
        workers.close()
