"""Writes a run's record at the start and the end, and the tables of all its systems."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff import __version__, registry
from bakeoff.config.plan import Plan, System
from bakeoff.corpus.document_kinds import format_of
from bakeoff.corpus.skipped_files import describe_skipped, summarise_skipped
from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import parse
from bakeoff.pipeline import embed, query_pipeline
from bakeoff.pipeline.chunk import ChunkedCorpus, chunk_sizes
from bakeoff.pipeline.loops.latency_check import latency_disagreements
from bakeoff.pipeline.read import ReadCorpus
from bakeoff.pipeline.reading.encodings import encoding_sentence, other_encodings
from bakeoff.pipeline.system_tables import CELL, PASSAGES, SystemResult
from bakeoff.pipeline.timing import unexplained_time_notes, unknown_reference_notes
from bakeoff.protocols import declared_guarantees
from bakeoff.runs.choose_folder import experiment_place
from bakeoff.runs.empty_searches import noteworthy_empty_searches
from bakeoff.runs.folder import QUERIES, RunFolder
from bakeoff.runs.placements import placement_records
from bakeoff.runs.prepare import RunInputs
from bakeoff.runs.record import (
    CanaryRecord,
    ChunkingRecord,
    CorpusRecord,
    EncodingRecord,
    ExcludedQuery,
    GuaranteeRecord,
    LeftOutRecord,
    LengthRecord,
    RuleHit,
    RunRecord,
    UnreadRecord,
)
from bakeoff.runtime.machine import describe_machine, package_versions
from bakeoff.storage.arrow_take import StringColumn
from bakeoff.truth.clusters import query_clusters
from bakeoff.truth.queries import QuerySet
from bakeoff.truth.resolve import Truth
from bakeoff.truth.rules import Rule
from bakeoff.types import Skipped, Status

if TYPE_CHECKING:
    import pyarrow as pa


RUNS = Path("runs")
NAMED = 1_000
NAMED_IN_NOTE = 5


def new_run_record(plan: Plan, folder: Path) -> RunRecord:
    """The record of a run that starts now."""
    settings = plan.settings
    return RunRecord(
        run=folder.name,
        name=plan.name,
        status="running",
        plan=plan.fingerprint(),
        started=_now().isoformat(timespec="seconds"),
        bakeoff=__version__,
        experiment=plan.text,
        models=plan.models,
        models_only=list(plan.model_file.only),
        experiment_file=plan.file,
        experiment_place=experiment_place(plan, folder),
        primary=plan.primary,
        measures=list(plan.measures),
        depth=settings.depth,
        seed=settings.seed,
        runs=settings.runs,
        warm_up={
            "search": query_pipeline.WARM_UP_SEARCHES,
            "embed": embed.WARM_UP,
            "rerank": query_pipeline.WARM_UP_RERANKS,
        },
        preset=settings.preset,
        current=settings.current,
        limits=settings.limits.model_dump(),
        targets=settings.targets,
        conventions=plan.conventions.to_dict(),
        machine=describe_machine(),
        versions=package_versions(),
        systems=[system.label for system in plan.systems],
    )


def _guarantees(system: System, label: str) -> list[GuaranteeRecord]:
    """Declared consistency, durability and refresh settings of a system's stores (F53)."""
    guarantees = []
    for part, query in ((system.store, system.search), (system.keyword, system.keyword_search)):
        if part is not None and query is not None:
            declared = declared_guarantees(registry.load("stores", part.name), part.params, query)
            guarantees += [GuaranteeRecord(system=label, store=part.label, **asdict(one)) for one in declared]
    return guarantees


def finish_run_record(
    record: RunRecord, inputs: RunInputs, results: list[SystemResult], notes: Iterable[str]
) -> RunRecord:
    """The record of a run whose systems have all finished or failed; `notes` come from its workers."""
    labels = [result.systems["system"][0].as_py() for result in results]
    failed = [result for result in results if result.systems["status"][0].as_py() != Status.DONE]
    corpus, unread = inputs.corpus, {one.query_id for one in inputs.truth.unread}
    return record.model_copy(
        update={
            "status": "partial" if failed else "done",
            "finished": _now().isoformat(timespec="seconds"),
            "corpus": _corpus_record(corpus),
            "chunkings": [_chunking(chunking) for chunking in inputs.chunkings.values()],
            "canaries": [
                CanaryRecord(
                    embedder=one.embedder, model=one.model, identity=one.identity, packed=one.to_base64()
                )
                for one in inputs.canaries
            ],
            "lengths": [LengthRecord.model_validate(asdict(one)) for one in inputs.lengths],
            "versions": {**record.versions, **{f"{name} engine": v for name, v in inputs.engines.items()}},
            "queries_fingerprint": inputs.queries_key,
            "truth_fingerprint": inputs.truth_key,
            "truth_hits": [RuleHit.model_validate(asdict(hit)) for hit in inputs.truth.hits],
            "placements": placement_records(results, record.primary, corpus.documents["id"]),
            "empty_searches": noteworthy_empty_searches(results, inputs.queries),
            "systems": labels,
            "resumed": resumed_systems(results),
            "guarantees": [
                one
                for system, label in zip(inputs.plan.systems, labels, strict=True)
                for one in _guarantees(system, label)
            ],
            "unread_truth": [UnreadRecord.model_validate(asdict(one)) for one in inputs.truth.unread],
            "leaked": list(inputs.leaked),
            "excluded": _excluded_queries(results, inputs.queries, unread),
            "notes": [
                *left_out_notes(corpus),
                *filter(None, [encoding_sentence(other_encodings(corpus))]),
                *unread_truth_notes(inputs.truth),
                *inputs.notes,
                *notes,
                *resumed_notes(resumed_systems(results)),
                *identical_rankings(results),
                *system_notes(results),
            ],
        }
    )


def _corpus_record(corpus: ReadCorpus) -> CorpusRecord:
    """Summarise what was read, and what was not."""
    return CorpusRecord(
        fingerprint=corpus.fingerprint,
        documents=corpus.documents.num_rows,
        characters=_characters(corpus),
        language=corpus.language_text,
        readers=_readers(corpus),
        left_out=[LeftOutRecord.model_validate(asdict(one)) for one in summarise_skipped(corpus.skipped)],
        skipped=_skipped_examples(corpus.skipped),
        other_encodings=[
            EncodingRecord.model_validate(asdict(one)) for one in other_encodings(corpus)[:NAMED]
        ],
    )


def _readers(corpus: ReadCorpus) -> dict[str, int]:
    """Number of documents per reader, where documents name their reader."""
    import pyarrow.compute as pc

    column = corpus.documents["fields"]
    named = column.filter(pc.match_substring(column, '"reader"'))
    fields = (json.loads(text) for text in named.to_pylist())
    return dict(Counter(one["reader"] for one in fields if "reader" in one))


def _skipped_examples(skipped: Iterable[Skipped]) -> list[tuple[str, str]]:
    """Files that were not read, with the reason: the first thousand of each format."""
    seen: Counter[str] = Counter()
    named = []
    for item in skipped:
        seen[format_of(item.id)] += 1
        if seen[format_of(item.id)] <= NAMED:
            named.append((item.id, item.reason))
    return named


def write_tables(folder: RunFolder, inputs: RunInputs, results: list[SystemResult]) -> dict[str, str]:
    """Write the tables of all systems, in the order of the plan, and return the hash of each."""
    digests = {}
    for schema in CELL:
        tables = [getattr(result, schema.name) for result in results]
        digests[schema.name] = folder.table(schema, [_unique(tables)] if schema is PASSAGES else tables)
    return digests | {QUERIES.name: folder.table(QUERIES, [_queries_table(inputs)])}


def _truth_minimum(rule: Rule | None) -> dict[str, str]:
    """Expected number of documents in a query's truth, as a tag for the report."""
    least = rule.min_documents if rule is not None else None
    return {} if least is None else {"min_documents": str(least)}


def _queries_table(inputs: RunInputs) -> pa.Table:
    queries = inputs.queries.queries
    ids = StringColumn(inputs.corpus.documents["id"])
    clusters = query_clusters(queries, inputs.truth.judgments, ids, corpus=len(ids))
    plain = ("text", "category", "difficulty", "intent", "negative", "synthetic")
    columns = {name: [getattr(query, name) for query in queries] for name in plain}
    tags = [
        json.dumps({**_truth_minimum(rule), **dict(query.tags)})
        for query, rule in zip(queries, inputs.queries.rules, strict=True)
    ]
    return QUERIES.table(
        {"query_id": [query.id for query in queries], **columns, "tags": tags, "cluster": clusters}
    )


def _excluded_queries(
    results: list[SystemResult], queries: QuerySet, unread: set[str]
) -> list[ExcludedQuery]:
    """Queries that a mean leaves out: their score is null in some system, or the measure does not apply."""
    import pyarrow.compute as pc

    excluded: dict[tuple[str, str], None] = {}
    negative = [query.id for query in queries.queries if query.negative]
    for result in results:
        gone = result.scores.filter(pc.is_null(result.scores["value"]))
        for query, measure in zip(gone["query_id"].to_pylist(), gone["measure"].to_pylist(), strict=True):
            excluded[query, measure] = None
        for measure in result.scores["measure"].unique().to_pylist():
            if parse(measure).definition.needs is not RequiredInput.TOP_SCORES:
                excluded |= dict.fromkeys((query, measure) for query in negative)
    wrong = set(negative)
    return [
        ExcludedQuery(
            query_id=query, measure=measure, reason=_why_null(measure, query in wrong, query in unread)
        )
        for query, measure in excluded
    ]


def _why_null(measure: str, negative: bool, unread: bool) -> str:
    if parse(measure).definition.needs is RequiredInput.TOP_SCORES:
        return "applies to negative queries only"
    if unread:
        return "no file of its truth was read"
    return "no right answer (negative)" if negative else "no relevant item at this unit"


def _chunking(chunking: ChunkedCorpus) -> ChunkingRecord:
    size = chunk_sizes(chunking)
    return ChunkingRecord(
        chunker=chunking.label,
        fingerprint=chunking.fingerprint,
        chunks=size.chunks,
        mean=size.mean,
        quantiles=size.quantiles,
    )


def _characters(corpus: ReadCorpus) -> int:
    import pyarrow.compute as pc

    return int(pc.sum(pc.utf8_length(corpus.documents["text"])).as_py() or 0)


def _unique(tables: list[pa.Table]) -> pa.Table:
    """Passages of all systems, each once, in order of document and position."""
    import pyarrow as pa

    joined = pa.concat_tables([PASSAGES.arrow().empty_table(), *tables])
    keys = [(name, "ascending") for name in ("document_id", "start", "end", "chunk_id")]
    ordered = joined.sort_by(keys)
    ids = ordered["chunk_id"].to_pylist()
    return ordered.filter(pa.array([i == 0 or ids[i] != ids[i - 1] for i in range(len(ids))], pa.bool_()))


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


NAMED_IN_NOTE = 5


def left_out_notes(corpus: ReadCorpus) -> list[str]:
    """A note on the files that were skipped."""
    return [text for text in [describe_skipped(summarise_skipped(corpus.skipped))] if text]


def unread_truth_notes(truth: Truth) -> list[str]:
    """A note on queries whose truth names files that were not read (F55)."""
    if not truth.unread:
        return []
    queries = list(dict.fromkeys(one.query_id for one in truth.unread))
    files = list(dict.fromkeys(f"{one.file} ({one.reason})" for one in truth.unread))
    names, more = ", ".join(queries[:NAMED_IN_NOTE]), len(queries) - NAMED_IN_NOTE
    return [
        f"The truth of {len(queries):,} {'query' if len(queries) == 1 else 'queries'} is incomplete "
        f"({names}{f' and {more:,} more' if more > 0 else ''}): {len(files):,} "
        f"{'file it names was' if len(files) == 1 else 'files it names were'} not read, for example {files[0]}. "
        "The means it affects are marked with *."
    ]


def system_notes(results: list[SystemResult]) -> Iterable[str]:
    """Notes on single systems: unexplained or unconfirmed times, and chosen weights."""
    for result in results:
        yield from unexplained_time_notes(result.timings)
        yield from latency_disagreements(result.timings)
        yield from unknown_reference_notes(result.timings)
        rows = result.choices.to_pylist()
        folds = dict(sorted((row["fold"], row["weight"]) for row in rows))
        if folds:
            weights = ", ".join(f"{weight:g}" for weight in folds.values())
            yield f"{rows[0]['system']}: dense weights {weights} by fold, each chosen on the other folds' queries."


def resumed_systems(results: list[SystemResult]) -> dict[str, str]:
    """Systems that an earlier start of this run measured, each with its time."""
    return {result.systems["system"][0].as_py(): result.measured for result in results if result.measured}


def resumed_notes(resumed: Mapping[str, str]) -> list[str]:
    """A note that times measured before the run was resumed are not comparable with the others."""
    if not resumed:
        return []
    named = ", ".join(f"{system} ({moment})" for system, moment in list(resumed.items())[:NAMED_IN_NOTE])
    more = f" and {len(resumed) - NAMED_IN_NOTE} more" if len(resumed) > NAMED_IN_NOTE else ""
    return [
        f"Measured before this run was resumed: {named}{more}. The machine may have been busier or idler "
        "then; for comparable times, run into a new folder."
    ]


def identical_rankings(results: list[SystemResult]) -> list[str]:
    """Notes on systems that returned identical rankings for every query (F50)."""
    groups: dict[str, list[str]] = {}
    for result in results:
        if result.rankings.num_rows:
            system = result.rankings["system"][0].as_py()
            groups.setdefault(_digest(result.rankings), []).append(system)
    return [
        f"{', '.join(same)} returned identical rankings for every query, so they are the same system here."
        for same in groups.values()
        if len(same) > 1
    ]


def _digest(rankings: pa.Table) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name in ("query_id", "chunk_id"):
        digest.update("\n".join(rankings[name].to_pylist()).encode())
    return digest.hexdigest()
