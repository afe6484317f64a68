"""Prepares a run before its first query: chunks, the truth on them, vectors and indexes."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from bakeoff import registry
from bakeoff.config.plan import Plan, PluginSpec, System
from bakeoff.corpus.languages import LANGUAGES
from bakeoff.errors import CacheError, ConsentError, ExperimentError, TruthError, describe_error
from bakeoff.fingerprint import fingerprint
from bakeoff.measures.names import parse
from bakeoff.pipeline.artifact_keys import model_name, passage_encoders
from bakeoff.pipeline.canary import Canary
from bakeoff.pipeline.chunk import ChunkedCorpus
from bakeoff.pipeline.embed import vector_notes
from bakeoff.pipeline.lengths import TokenLengths, unread_note
from bakeoff.pipeline.read import ReadCorpus
from bakeoff.pipeline.reading.readings import lost_notes, unread_notes, with_quoted_passages
from bakeoff.pipeline.shared_artifacts import SharedArtifacts
from bakeoff.pipeline.vector_forms import form_notes
from bakeoff.protocols import Executor
from bakeoff.runs.checks.blocking import blocking_findings, counts_chunks, refuse_errors
from bakeoff.runs.checks.ceilings import Ceilings, refused_measures
from bakeoff.runs.checks.context import ValidationContext, chunkers, experiment_text, plan_truth
from bakeoff.runs.checks.filters import check_filters
from bakeoff.runtime.events import Emit, WarningRaised
from bakeoff.runtime.signals import interrupting_threads
from bakeoff.storage.catalogue import entries
from bakeoff.truth.alignment import align_truth
from bakeoff.truth.human_judgments import judged_by_models
from bakeoff.truth.leaked_sentences import LEAK
from bakeoff.truth.queries import QuerySet
from bakeoff.truth.resolve import Truth, require_sound
from bakeoff.truth.units import bound_chunkings


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInputs:
    """Everything a run's systems are measured with."""

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
    canaries: tuple[Canary, ...] = ()
    truths: Mapping[str, Truth] = field(default_factory=dict)
    """The truth on the text of each of several readings, by label."""

    def truth_for(self, system: System) -> Truth:
        """The truth a system is scored with."""
        reading = system.chunker.reading
        return self.truths.get(reading.label, self.truth) if reading else self.truth


def prepare_run(
    plan: Plan, queries: QuerySet, corpus: ReadCorpus, artifacts: SharedArtifacts, emit: Emit
) -> RunInputs:
    """Chunk, resolve the truth, and build everything that is not timed per query."""
    corpus = with_quoted_passages(corpus, queries)
    notes, leaked = blocking_findings(queries, corpus, plan.settings.allow)
    chunkings = _chunkings(plan, artifacts, emit)
    first = {part.label: chunkings[part.label] for part in chunkers(plan) if part.label in chunkings}
    tables = {chunking.fingerprint: chunking.chunks for chunking in first.values()}
    truth = plan_truth(plan, queries, corpus, tables)
    require_sound(truth)
    notes = [*_filter_notes(plan, queries, corpus, first, truth), *unread_notes(corpus), *notes]
    _refuse_measures(ValidationContext(plan, queries, corpus, first, truth, experiment_text(plan, plan.file)))
    _refuse_unfair(truth, [*chunkings, *(one.label for one in plan.systems if one.retriever is not None)])
    notes = [*judged_by_models(truth.judgments), *_leaks_in_retrievers(plan, queries), *notes]
    notes += _foreign_models(plan, corpus.language)
    truths = {
        label: align_truth(truth, corpus.documents, one.documents) for label, one in corpus.readings.items()
    }
    notes += lost_notes(truths, queries)
    for text in (*(problem.message for problem in truth.problems), *notes):
        emit(WarningRaised(text))
    _build(plan, artifacts)
    _open(plan, artifacts)
    canaries = artifacts.models.known_canaries()
    changed = [one.note for one in canaries if one.note]
    for text in changed:
        emit(WarningRaised(text))
    lengths = tuple(artifacts.models.known_lengths())
    return RunInputs(
        plan=plan,
        queries=queries,
        truth=truth,
        corpus=corpus,
        chunkings=chunkings,
        queries_key=queries_key(queries),
        truth_key=truth_key(truth),
        lengths=lengths,
        notes=(
            *notes,
            *changed,
            *artifacts.models.pooling_notes(),
            *(unread_note(one) for one in lengths if one.read is not None),
            *_chunk_count_notes(plan, chunkings),
            *vector_notes(artifacts.known_vectors()),
            *form_notes(plan.systems),
            *artifacts.collection_notes(),
        ),
        canaries=tuple(one.canary for one in canaries if one.canary is not None),
        engines=artifacts.engines(),
        leaked=leaked,
        truths=truths,
    )


def _foreign_models(plan: Plan, language: str) -> list[str]:
    """A note on catalogue models that were not made for the documents' language."""
    if not language:
        return []
    models, own = entries(), LANGUAGES[language]
    named = dict.fromkeys(one.embedder.label for one in plan.systems if one.embedder is not None)
    return [
        f"{name} is a model for {', '.join(models[name].languages)}, but the documents are in {own.title}. "
        "Compare it "
        "with use-multilingual or another model for this language."
        for name in named
        if name in models and models[name].languages and own.code not in models[name].languages
    ]


def _leaks_in_retrievers(plan: Plan, queries: QuerySet) -> list[str]:
    """A note on questions made from a sentence that is masked in the grid but not in a retriever's own index."""
    names = [system.label for system in plan.systems if system.retriever is not None]
    leaked = [query.id for query in queries.queries if LEAK in query.tags]
    if not names or not leaked:
        return []
    return [
        f"{len(leaked):,} of {len(queries.queries):,} questions were copied from a sentence of a document. "
        f"The grid masks it, but the index of {', '.join(names)} still has it, which makes these questions "
        "too easy there. Reword or remove them before you compare."
    ]


def _refuse_measures(context: ValidationContext) -> None:
    """Raise before anything is embedded if `validate` finds an error in a measure."""
    if refused := refused_measures(context, Ceilings(context)):
        raise ExperimentError(lines=[f"{one.where}: {one.message}" for one in refused.values()])


def _refuse_unfair(truth: Truth, chunkings: Sequence[str]) -> None:
    """Raise if truth decided on chunks would compare chunkers or retrievers: it favours long chunks (F08)."""
    if len(chunkings) < 2 or not bound_chunkings(truth.judgments):
        return
    sources = sorted({hit.source for hit in truth.hits if hit.chunking})
    raise TruthError(
        f"the truth by {', '.join(sources)} is decided on chunks, so it can't compare the chunkers "
        f"{', '.join(chunkings)}: long chunks meet a condition more easily. Use one chunker, or over: "
        "documents or over: sections in these rules."
    )


def _chunk_count_notes(plan: Plan, chunkings: dict[str, ChunkedCorpus]) -> list[str]:
    """A note on secondary measures that count chunks: they can't compare chunkers."""
    names = [name for name in plan.measures if counts_chunks(parse(name))]
    if len(chunkings) < 2 or not names:
        return []
    return [f"{', '.join(names)} count chunks: compare only systems with the same chunker by them."]


def _chunkings(plan: Plan, artifacts: SharedArtifacts, emit: Emit) -> dict[str, ChunkedCorpus]:
    chunkings = {}
    for part in chunkers(plan):
        try:
            chunkings[part.label] = artifacts.chunking(part)
        except CacheError:
            raise
        except Exception as exc:  # noqa: BLE001 - reported when its systems are measured
            emit(WarningRaised(f"{part.label}: {describe_error(exc)}"))
    return chunkings


def _filter_notes(
    plan: Plan, queries: QuerySet, corpus: ReadCorpus, chunkings: Mapping[str, ChunkedCorpus], truth: Truth
) -> list[str]:
    """Notes on filters that exclude a part of the truth; raises if a filter can't be used."""
    tables = {label: chunking.chunks for label, chunking in chunkings.items()}
    return refuse_errors(check_filters(plan, queries, corpus, tables, truth.judgments))


def _build(plan: Plan, artifacts: SharedArtifacts) -> None:
    """Embed with one local model at a time, so that its speed is its own; then index in parallel.

    Failures are reported when their system is measured.
    """
    local = registry.load("executors", "local")
    with contextlib.closing(local(local.Params())) as executor, interrupting_threads():
        pairs = _embedded_pairs(plan)
        remote = [
            pair for pair in pairs if getattr(registry.load(pair[0].kind, pair[0].name), "remote", False)
        ]
        waiting: list[Future[object]] = [executor.submit(artifacts.vectors, *pair) for pair in remote]
        for pair in pairs:
            if pair not in remote:
                _wait(executor, [executor.submit(artifacts.vectors, *pair)])
        _wait(executor, waiting)
        _wait(executor, [executor.submit(artifacts.prepare, system) for system in plan.systems])


def _embedded_pairs(plan: Plan) -> list[tuple[PluginSpec, PluginSpec]]:
    """Each model with each chunker whose chunks it embeds; existing collections already have vectors."""
    pairs: dict[tuple[str, str], tuple[PluginSpec, PluginSpec]] = {}
    for system in plan.systems:
        existing = system.store is not None and system.store.existing is not None
        for part in system.models:
            if not (existing and part is system.embedder):
                pairs[model_name(part), system.chunker.label] = (part, system.chunker)
        for part in passage_encoders(system):
            pairs[model_name(part), system.chunker.label] = (part, system.chunker)
    return list(pairs.values())


def _wait(executor: Executor, futures: Sequence[Future[object]]) -> None:
    for future in executor.as_completed(futures):
        if isinstance(fault := future.exception(), ConsentError):
            raise fault


def _open(plan: Plan, artifacts: SharedArtifacts) -> None:
    """Open indexes and retrievers on this thread, which also searches (F52); failures are reported with their
    system."""
    for system in plan.systems:
        try:
            artifacts.engines_of(system)
        except (CacheError, ConsentError):
            raise
        except Exception:  # noqa: BLE001, S112 - reported when its systems are measured
            continue


def queries_key(queries: QuerySet) -> str:
    """Fingerprint of a query file's content."""
    return fingerprint("queries", queries.content())


def truth_key(truth: Truth) -> str:
    """Fingerprint of a set of judgments, and of what is missing in it."""
    judged = {name: truth.judgments[name].to_pylist() for name in truth.judgments.column_names}
    return fingerprint("truth", judged, *([truth.unread] if truth.unread else []))
