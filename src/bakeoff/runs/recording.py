"""What a run writes: where its folder is, its record at the start and at the end, and the tables of all its systems."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff import __version__, registry
from bakeoff.runs.empty_searches import noteworthy_empty_searches
from bakeoff.errors import DataError, SettingError
from bakeoff.fingerprint import fingerprint
from bakeoff.corpus.document_kinds import format_of
from bakeoff.runtime.machine import describe_machine, package_versions
from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import parse
from bakeoff.config.plan import Plan, System
from bakeoff.protocols import SupportsReadsFrom, declared_guarantees
from bakeoff.runs.folder import QUERIES, RunFolder, read_record
from bakeoff.runs.record import (
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
from bakeoff.corpus.skipped_files import summarise_skipped, describe_skipped
from bakeoff.pipeline import embed, query_pipeline
from bakeoff.pipeline.chunk import ChunkedCorpus, chunk_sizes
from bakeoff.pipeline.encodings import encoding_sentence, other_encodings
from bakeoff.pipeline.loops.latency_check import latency_disagreements
from bakeoff.pipeline.lengths import TokenLengths
from bakeoff.pipeline.read import ReadCorpus
from bakeoff.pipeline.system_tables import CELL, PASSAGES, SystemResult
from bakeoff.pipeline.timing import unexplained_time_notes
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


@dataclass(frozen=True, slots=True)
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


def choose_folder(plan: Plan, out: Path | None, *, force: bool = False) -> Path:
    """The folder of the run: the one asked for, the unfinished one of the same plan, or a new one.

    A folder that holds the run of another experiment is refused; with `force` that run is moved aside (F64).
    """
    given, out = out, out or _find_unfinished(plan) or RUNS / f"{_slug(plan.name)}-{_stamp()}"
    _refuse_inside_corpus(plan, out)
    if given is not None and (out / "run.json").is_file():
        _claim(plan, out, force)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise SettingError(
            f"cannot make the folder {out}: {exc.strerror}. Choose another with --out."
        ) from exc
    return out


def _refuse_inside_corpus(plan: Plan, out: Path) -> None:
    """Results between the documents would be documents of the next run."""
    source = registry.load("sources", plan.source.name)(plan.source.params)
    if isinstance(source, SupportsReadsFrom) and source.reads_from(out):
        raise SettingError(
            f"{out} is inside the corpus folder, so the next run would read these results as documents. Choose another "
            "folder with --out, or leave it out of the corpus with `exclude`."
        )


def _claim(plan: Plan, out: Path, force: bool) -> None:
    """Move the run of another experiment aside where asked to, else refuse to replace it."""
    try:
        other = read_record(out)
    except DataError as exc:
        found = f"a run that cannot be read ({exc})"
    else:
        if _is_same_experiment(other, plan, out):
            return
        file = f" ({other.experiment_file})" if other.experiment_file else ""
        done = f"{other.status}, started {other.started}, {len(other.systems)} systems"
        found = f"the run of another experiment: {other.name}{file}, {done}"
    if not force:
        raise SettingError(
            f"{out} holds {found}. Choose another folder with --out, or move that run aside with --force."
        )
    aside = out.with_name(f"{out.name}.replaced-{_stamp()}")
    try:
        out.rename(aside)
    except OSError as exc:
        raise SettingError(f"cannot move {out} aside to {aside}: {exc.strerror}.") from exc


def earlier_results(plan: Plan, folder: Path) -> str:
    """A warning where a run replaces finished results of an earlier text of its experiment, else ''."""
    try:
        record = read_record(folder)
    except DataError:
        return ""
    if record.plan == plan.fingerprint() or record.status not in ("done", "partial"):
        return ""
    return (
        f"{folder} holds results of an earlier text of {plan.file or 'this experiment'}, started {record.started}. "
        "Systems that did not change are kept; the other results are replaced."
    )


def _is_same_experiment(record: RunRecord, plan: Plan, out: Path) -> bool:
    """Whether a record is of this plan, or of an earlier text of the same file."""
    if record.name == plan.name and record.plan == plan.fingerprint():
        return True
    return bool(record.experiment_place) and record.experiment_place == _experiment_place(plan, out)


def _experiment_place(plan: Plan, folder: Path) -> str:
    """A fingerprint, because a path may hold names that do not belong into a published record."""
    place = os.path.relpath(plan.folder / plan.file, folder.resolve())
    return fingerprint("experiment place", Path(place).as_posix()) if plan.file else ""


def new_run_record(plan: Plan, folder: Path) -> RunRecord:
    """The record of a run that begins."""
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
        experiment_file=plan.file,
        experiment_place=_experiment_place(plan, folder),
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
    """What the stores of a system declare about consistency, durability and refresh (F53)."""
    found = []
    for part, query in ((system.store, system.search), (system.keyword, system.keyword_search)):
        if part is not None:
            declared = declared_guarantees(registry.load("stores", part.name), part.params, query)
            found += [GuaranteeRecord(system=label, store=part.label, **asdict(one)) for one in declared]
    return found


def finish_run_record(record: RunRecord, made: RunInputs, cells: list[SystemResult], notes: Iterable[str]) -> RunRecord:
    """The record of a run whose systems have all been tried; `notes` are those of its workers."""
    labels = [cell.systems["system"][0].as_py() for cell in cells]
    failed = [cell for cell in cells if cell.systems["status"][0].as_py() != Status.DONE]
    corpus = made.corpus
    return record.model_copy(
        update={
            "status": "partial" if failed else "done",
            "finished": _now().isoformat(timespec="seconds"),
            "corpus": CorpusRecord(
                fingerprint=corpus.fingerprint,
                documents=corpus.documents.num_rows,
                characters=_characters(corpus),
                readers=_readers(corpus),
                left_out=[LeftOutRecord.model_validate(asdict(one)) for one in summarise_skipped(corpus.skipped)],
                skipped=_skipped_examples(corpus.skipped),
                other_encodings=[
                    EncodingRecord.model_validate(asdict(one)) for one in other_encodings(corpus)[:NAMED]
                ],
            ),
            "chunkings": [_chunking(chunking) for chunking in made.chunkings.values()],
            "lengths": [LengthRecord.model_validate(asdict(one)) for one in made.lengths],
            "versions": {**record.versions, **{f"{name} engine": v for name, v in made.engines.items()}},
            "queries_fingerprint": made.queries_key,
            "truth_fingerprint": made.truth_key,
            "truth_hits": [RuleHit.model_validate(asdict(hit)) for hit in made.truth.hits],
            "empty_searches": noteworthy_empty_searches(cells, made.queries),
            "systems": labels,
            "resumed": _resumed_systems(cells),
            "guarantees": [
                one
                for system, label in zip(made.plan.systems, labels, strict=True)
                for one in _guarantees(system, label)
            ],
            "unread_truth": [UnreadRecord.model_validate(asdict(one)) for one in made.truth.unread],
            "leaked": list(made.leaked),
            "excluded": _excluded_queries(cells, made.queries, {one.query_id for one in made.truth.unread}),
            "notes": [
                *_left_out_note(corpus),
                *filter(None, [encoding_sentence(other_encodings(corpus))]),
                *_unread_note(made.truth),
                *made.notes,
                *notes,
                *_resumed_notes(_resumed_systems(cells)),
                *identical_rankings(cells),
                *_notes(cells),
            ],
        }
    )


def _readers(corpus: ReadCorpus) -> dict[str, int]:
    """How many documents each reader read, where documents say who read them."""
    fields = (json.loads(text) for text in corpus.documents["fields"].to_pylist())
    return dict(Counter(one["reader"] for one in fields if "reader" in one))


def _skipped_examples(skipped: Iterable[Skipped]) -> list[tuple[str, str]]:
    """The files that were not read with the reason, of each format the first thousand."""
    seen: Counter[str] = Counter()
    named = []
    for item in skipped:
        seen[format_of(item.id)] += 1
        if seen[format_of(item.id)] <= NAMED:
            named.append((item.id, item.reason))
    return named


def _left_out_note(corpus: ReadCorpus) -> list[str]:
    return [text for text in [describe_skipped(summarise_skipped(corpus.skipped))] if text]


def _unread_note(truth: Truth) -> list[str]:
    """What the marked means leave out, where files of the truth were not read (F55)."""
    if not truth.unread:
        return []
    queries = list(dict.fromkeys(one.query_id for one in truth.unread))
    files = list(dict.fromkeys(f"{one.file} ({one.reason})" for one in truth.unread))
    shown, more = ", ".join(queries[:NAMED_IN_NOTE]), len(queries) - NAMED_IN_NOTE
    return [
        f"The truth of {len(queries):,} {'query' if len(queries) == 1 else 'queries'} is incomplete "
        f"({shown}{f' and {more:,} more' if more > 0 else ''}): {len(files):,} "
        f"{'file it names was' if len(files) == 1 else 'files it names were'} not read, for example {files[0]}. "
        "The means it affects are marked with *."
    ]


def _notes(cells: list[SystemResult]) -> Iterable[str]:
    """What the reader must know of single systems: weights that were chosen, time that is not explained."""
    for cell in cells:
        yield from unexplained_time_notes(cell.timings)
        yield from latency_disagreements(cell.timings)
        rows = cell.choices.to_pylist()
        folds = dict(sorted((row["fold"], row["weight"]) for row in rows))
        if folds:
            weights = ", ".join(f"{weight:g}" for weight in folds.values())
            yield f"{rows[0]['system']}: dense weights {weights} by fold, each chosen on the other folds' queries."


def _resumed_systems(cells: list[SystemResult]) -> dict[str, str]:
    return {cell.systems["system"][0].as_py(): cell.measured for cell in cells if cell.measured}


def _resumed_notes(resumed: Mapping[str, str]) -> list[str]:
    """Times of systems measured at another moment are not comparable with those measured now."""
    if not resumed:
        return []
    named = ", ".join(f"{system} ({moment})" for system, moment in list(resumed.items())[:NAMED_IN_NOTE])
    more = f" and {len(resumed) - NAMED_IN_NOTE} more" if len(resumed) > NAMED_IN_NOTE else ""
    return [
        f"Measured before this run was resumed: {named}{more}. Their times are of another moment of this machine; "
        "for times of one moment, run into a new folder."
    ]


def identical_rankings(cells: list[SystemResult]) -> list[str]:
    """Notes on systems that returned the very same rows in the same order for every query (F50)."""
    groups: dict[str, list[str]] = {}
    for cell in cells:
        if cell.rankings.num_rows:
            system = cell.rankings["system"][0].as_py()
            groups.setdefault(_digest(cell.rankings), []).append(system)
    return [
        f"{', '.join(same)} returned identical rankings for every query: this run cannot tell them apart."
        for same in groups.values()
        if len(same) > 1
    ]


def _digest(rankings: pa.Table) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name in ("query_id", "chunk_id"):
        digest.update("\n".join(rankings[name].to_pylist()).encode())
    return digest.hexdigest()


def write_tables(folder: RunFolder, made: RunInputs, cells: list[SystemResult]) -> dict[str, str]:
    """Write the tables of all systems, in the order of the plan, and return the hash of each."""
    digests = {}
    for schema in CELL:
        tables = [getattr(cell, schema.name) for cell in cells]
        digests[schema.name] = folder.table(schema, [_unique(tables)] if schema is PASSAGES else tables)
    return digests | {QUERIES.name: folder.table(QUERIES, [_queries_table(made)])}


def _truth_minimum(rule: Rule | None) -> dict[str, str]:
    """The number of documents that a query's truth should hold, as a tag that the report reads."""
    least = rule.min_documents if rule is not None else None
    return {} if least is None else {"min_documents": str(least)}


def _queries_table(made: RunInputs) -> pa.Table:
    queries = made.queries.queries
    clusters = query_clusters(queries, made.truth.judgments, made.corpus.documents["id"].to_pylist())
    plain = ("text", "category", "difficulty", "intent", "negative", "synthetic")
    columns = {name: [getattr(query, name) for query in queries] for name in plain}
    tags = [
        json.dumps({**_truth_minimum(rule), **dict(query.tags)})
        for query, rule in zip(queries, made.queries.rules, strict=True)
    ]
    return QUERIES.table(
        {"query_id": [query.id for query in queries], **columns, "tags": tags, "cluster": clusters}
    )


def queries_key(queries: QuerySet) -> str:
    """The name of a query file's content."""
    return fingerprint("queries", queries.content())


def truth_key(truth: Truth) -> str:
    """The name of a set of judgments, and of what is missing in it."""
    judged = {name: truth.judgments[name].to_pylist() for name in truth.judgments.column_names}
    return fingerprint("truth", judged, *([truth.unread] if truth.unread else []))


def _find_unfinished(plan: Plan) -> Path | None:
    """The newest folder of this very plan whose run did not end well."""
    found = sorted(RUNS.glob(f"{_slug(plan.name)}-*/run.json"), reverse=True)
    for path in found[:1]:
        try:
            record = read_record(path.parent)
        except DataError:
            continue
        if record.plan == plan.fingerprint() and record.status != "done":
            return path.parent
    return None


def _excluded_queries(cells: list[SystemResult], queries: QuerySet, unread: set[str]) -> list[ExcludedQuery]:
    """Queries that a mean does not count: their score is null in some system, or the measure is not asked of them."""
    import pyarrow.compute as pc

    found: dict[tuple[str, str], None] = {}
    negative = [query.id for query in queries.queries if query.negative]
    for cell in cells:
        gone = cell.scores.filter(pc.is_null(cell.scores["value"]))
        for query, measure in zip(gone["query_id"].to_pylist(), gone["measure"].to_pylist(), strict=True):
            found[query, measure] = None
        for measure in cell.scores["measure"].unique().to_pylist():
            if parse(measure).definition.needs is not RequiredInput.TOP_SCORES:
                found |= dict.fromkeys((query, measure) for query in negative)
    wrong = set(negative)
    return [
        ExcludedQuery(query_id=query, measure=measure, reason=_why_null(measure, query in wrong, query in unread))
        for query, measure in found
    ]


def _why_null(measure: str, negative: bool, unread: bool) -> str:
    if parse(measure).definition.needs is RequiredInput.TOP_SCORES:
        return "asked of negative queries only"
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
    """The passages of all systems, each once, in order of document and place."""
    import pyarrow as pa

    joined = pa.concat_tables([PASSAGES.arrow().empty_table(), *tables])
    keys = [(name, "ascending") for name in ("document_id", "start", "end", "chunk_id")]
    ordered = joined.sort_by(keys)
    ids = ordered["chunk_id"].to_pylist()
    return ordered.filter(pa.array([i == 0 or ids[i] != ids[i - 1] for i in range(len(ids))], pa.bool_()))


def _slug(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run"


def _stamp() -> str:
    return _now().strftime("%Y%m%d-%H%M%S")


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
