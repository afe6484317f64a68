"""What a run makes before the first query is timed: chunks, the truth on them, vectors and indexes."""

from __future__ import annotations

from collections.abc import Mapping

from bakeoff import registry
from bakeoff.errors import CacheError, ConsentError, ExperimentError, TruthError, told
from bakeoff.events import Emit, Warned
from bakeoff.measures.names import parse
from bakeoff.plan import Plan
from bakeoff.recording import Ingredients, queries_key, truth_key
from bakeoff.stages.chunk import Chunking
from bakeoff.stages.embed import vector_notes
from bakeoff.stages.kitchen import Kitchen
from bakeoff.stages.read import Corpus
from bakeoff.truth.queries import QuerySet
from bakeoff.truth.resolve import Truth, require_sound
from bakeoff.truth.reviewed import judged_by_models
from bakeoff.truth.units import bound_chunkings
from bakeoff.validation.ceilings import Ceilings, refused_measures
from bakeoff.validation.filters import check_filters
from bakeoff.validation.material import Material, experiment_text, plan_truth
from bakeoff.validation.strict import counts_chunks, held_against, refuse_errors


def prepare(plan: Plan, queries: QuerySet, corpus: Corpus, kitchen: Kitchen, emit: Emit) -> Ingredients:
    """Chunk, resolve the truth, and build everything that is not timed by the query."""
    said, leaked = held_against(queries, corpus, plan.settings.allow)
    chunkings = _chunkings(plan, kitchen, emit)
    tables = {chunking.fingerprint: chunking.chunks for chunking in chunkings.values()}
    truth = plan_truth(plan, queries, corpus, tables)
    require_sound(truth)
    said = [*_filter_notes(queries, corpus, chunkings, truth), *said]
    _refuse_measures(Material(plan, queries, corpus, chunkings, truth, experiment_text(plan, plan.file)))
    _refuse_unfair(truth, chunkings)
    said = [*judged_by_models(truth.judgments), *said]
    for text in (*(problem.message for problem in truth.problems), *said):
        emit(Warned(text))
    _build(plan, kitchen)
    _open(plan, kitchen)
    return Ingredients(
        plan,
        queries,
        truth,
        corpus,
        chunkings,
        queries_key(queries),
        truth_key(truth),
        tuple(kitchen.known_lengths()),
        (*said, *_only_within(plan, chunkings), *vector_notes(kitchen.known_vectors())),
        kitchen.engines(),
        leaked,
    )


def _refuse_measures(material: Material) -> None:
    """What validate calls an error of a measure stops the run before anything is embedded."""
    if found := refused_measures(material, Ceilings(material)):
        raise ExperimentError(lines=[f"{one.where}: {one.message}" for one in found.values()])


def _refuse_unfair(truth: Truth, chunkings: dict[str, Chunking]) -> None:
    """What was decided on chunks compares no chunkers: long ones meet a condition more easily (F08)."""
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


def _filter_notes(
    queries: QuerySet, corpus: Corpus, chunkings: Mapping[str, Chunking], truth: Truth
) -> list[str]:
    """Notes on filters that leave out a part of the truth; filters that cannot be used stop the run."""
    tables = {label: made.chunks for label, made in chunkings.items()}
    return refuse_errors(check_filters(queries, corpus, tables, truth.judgments))


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


def _open(plan: Plan, kitchen: Kitchen) -> None:
    """Open every index on this thread, whose searches are timed (F52); a failure shows again with its system."""
    for system in plan.systems:
        try:
            kitchen.indexes(system)
        except CacheError:
            raise
        except Exception:  # noqa: BLE001, S112 - shows again when its systems are measured
            continue
