"""An experiment or a run → the files that other tools read: BEIR, TREC, and those of the source systems."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.config import experiment
from bakeoff.config.plan import Plan
from bakeoff.errors import DataError, ExperimentError
from bakeoff.pipeline.chunk import ChunkedCorpus, chunk_corpus, embedded_texts
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.read import ReadCorpus
from bakeoff.pipeline.reading.readings import read_corpus
from bakeoff.presets import export as preset_files
from bakeoff.presets.export_files import Files
from bakeoff.report.build import build_report
from bakeoff.report.exports import truth_files
from bakeoff.report.exports.truth_files import ExportItem, Qrel, ServedRow
from bakeoff.report.render.markdown import text as report_text
from bakeoff.runs.analysis import Result, open_run
from bakeoff.runs.checks.context import chunkers, plan_truth
from bakeoff.runtime.events import Emit, no_listener
from bakeoff.storage.schemas import CHUNKS
from bakeoff.storage.shared_cache import open_cache
from bakeoff.storage.weights import home_folder
from bakeoff.truth.queries import QuerySet, read_queries
from bakeoff.truth.resolve import Truth, require_sound
from bakeoff.truth.rules import leaves
from bakeoff.truth.units import derive_units
from bakeoff.types import Unit

if TYPE_CHECKING:
    import pyarrow as pa


class Format(StrEnum):
    """The format of the files."""

    BEIR = "beir"
    TREC = "trec"


class Level(StrEnum):
    """The unit that is judged and ranked."""

    DOCUMENT = "document"
    CHUNK = "chunk"


class ExportScores(StrEnum):
    """Scores as served, or scores that fall by one per rank."""

    SERVED = "served"
    RANK = "rank"


@dataclass(frozen=True, slots=True)
class ExportChoice:
    """Export options: the format, the unit of items, and which scores a ranking carries."""

    format: Format
    level: Level = Level.DOCUMENT
    scores: ExportScores = ExportScores.SERVED


export_preset = partial(preset_files.export_run, report_text=lambda result: report_text(build_report(result)))
"""The files of a preset; its source system may write the run's report among them."""


def export(source: Path, choice: ExportChoice, emit: Emit = no_listener, *, trust: bool = False) -> Files:
    """The files of a run (rankings) or of an experiment (queries, judgments); `trust` accepts edited tables."""
    if (source / "run.json").is_file():
        return export_run(open_run(source, trust=trust), choice)
    if not source.exists():
        raise DataError(f"{source} does not exist. Give a run's folder, or an experiment.")
    return export_experiment(experiment.load(source), choice, emit)


# --- an experiment: queries, judgments, documents ---------------------------------------------------


def export_experiment(plan: Plan, choice: ExportChoice, emit: Emit = no_listener) -> Files:
    """The queries of an experiment, their resolved judgments and, for BEIR, the corpus."""
    queries = read_queries(plan.queries)
    context = StageContext(open_cache(home_folder() / "cache"), emit)
    corpus = read_corpus(plan, context)
    chunking = _chunking(plan, queries, corpus, context, choice)
    chunkings = {chunking.fingerprint: chunking.chunks} if chunking else {}
    truth = plan_truth(plan, queries, corpus, chunkings)
    require_sound(truth)
    qrels = _qrels(queries, truth, corpus, chunking, choice)
    notes = [problem.message for problem in truth.problems]
    notes += _without_judgments(queries, qrels)
    if chunking is not None and len(chunkers(plan)) > 1:
        notes.append(f"rules over chunks were resolved on the chunks of {chunking.label}, the first chunker.")
    return _files(_experiment_files(queries, qrels, corpus, chunking, choice), notes)


def _chunking(
    plan: Plan, queries: QuerySet, corpus: ReadCorpus, context: StageContext, choice: ExportChoice
) -> ChunkedCorpus | None:
    """The chunks of the first chunker, if items are chunks or a rule refers to them."""
    rules = (leaf for rule in queries.rules if rule is not None for _, leaf in leaves(rule))
    if choice.level is Level.DOCUMENT and not any(getattr(leaf, "over", "") == "chunks" for leaf in rules):
        return None
    part = next(iter(chunkers(plan)), None)
    if part is None:
        raise ExperimentError("this experiment has only retrievers, so it has no chunks. Export documents.")
    return chunk_corpus(part, corpus, context)


def _qrels(
    queries: QuerySet, truth: Truth, corpus: ReadCorpus, chunking: ChunkedCorpus | None, choice: ExportChoice
) -> list[Qrel]:
    """Judgments of documents or chunks, ordered by query and id."""
    chunks = chunking.chunks if chunking else CHUNKS.arrow().empty_table()
    name = chunking.fingerprint if chunking else ""
    unit = Unit(choice.level.value)
    judged = derive_units(truth.judgments, chunks, name, unit)
    ids = (corpus.documents if unit is Unit.DOCUMENT else chunks)["id"].to_pylist()
    rows = zip(judged.query.tolist(), judged.item.tolist(), judged.grade.tolist(), strict=True)
    qrels = [Qrel(queries.queries[query].id, ids[item], grade) for query, item, grade in rows]
    if unit is Unit.DOCUMENT:
        return truth_files.original_qrels(queries.queries, qrels)
    place = {query.id: i for i, query in enumerate(queries.queries)}
    return sorted(qrels, key=lambda qrel: (place[qrel.query], qrel.item))


def _without_judgments(queries: QuerySet, qrels: list[Qrel]) -> Iterator[str]:
    judged = {qrel.query for qrel in qrels}
    without = [query.id for query in queries.queries if query.id not in judged]
    if without:
        some = ", ".join(without[:5])
        yield f"{len(without)} queries have no judgments (negative or unjudged) and are missing from qrels: {some}."


def _experiment_files(
    queries: QuerySet,
    qrels: list[Qrel],
    corpus: ReadCorpus,
    chunking: ChunkedCorpus | None,
    choice: ExportChoice,
) -> dict[str, str]:
    if choice.format is Format.TREC:
        topics = truth_files.trec_topics(queries.queries)
        return {"topics.txt": topics, "qrels.txt": truth_files.trec_qrels(qrels)}
    by_chunk = choice.level is Level.CHUNK and chunking is not None
    items = _chunks(chunking.chunks, corpus) if by_chunk and chunking else _documents(corpus.documents)
    return {
        "queries.jsonl": truth_files.beir_queries(queries.queries),
        "qrels/test.tsv": truth_files.beir_qrels(qrels),
        "corpus.jsonl": truth_files.beir_corpus(items),
    }


def _documents(documents: pa.Table) -> Iterator[ExportItem]:
    columns = (documents[name].to_pylist() for name in ("id", "title", "text", "fields"))
    for name, title, text, fields in zip(*columns, strict=True):
        yield ExportItem(name, title, text, json.loads(fields or "{}"))


def _chunks(chunks: pa.Table, corpus: ReadCorpus) -> Iterator[ExportItem]:
    """Chunks as items; their text is the embedded text."""
    documents = corpus.documents["id"].take(chunks["doc"]).to_pylist()
    columns = (chunks[name].to_pylist() for name in ("id", "start", "end", "section"))
    rows = zip(*columns, documents, embedded_texts(chunks), strict=True)
    for name, start, end, section, document, text in rows:
        yield ExportItem(
            name, "", text, {"document": document, "start": start, "end": end, "section": section}
        )


# --- a run: rankings --------------------------------------------------------------------------------


def export_run(result: Result, choice: ExportChoice) -> Files:
    """The rankings of every measured system of a run, one file per system."""
    queries = result.queries["query_id"].to_pylist()
    files: dict[str, str] = {}
    failed = (f"{system} failed and has no ranking: {why}" for system, why in result.failed.items())
    notes: list[str] = [*result.trusted_changes, *failed]
    for system in result.done:
        ranking = _ranking(result, system, choice)
        notes += _order_notes(system, ranking)
        name = _file_name(system, files, choice)
        tag = Path(name).stem
        text = (
            truth_files.trec_run(ranking, tag)
            if choice.format is Format.TREC
            else truth_files.beir_results(ranking, queries)
        )
        files[name] = text
    return _files(files, notes)


def _ranking(result: Result, system: str, choice: ExportChoice) -> list[ServedRow]:
    """A system's ranking in served order; a document has the rank of its first chunk."""
    import pyarrow.compute as pc

    rows = result.rankings.filter(pc.equal(result.rankings["system"], system))
    names = ("query_id", f"{choice.level}_id", "score")
    scores: dict[tuple[str, str], float] = {}
    for query, item, score in zip(*(rows[name].to_pylist() for name in names), strict=True):
        scores.setdefault((query, item), score)
    places: list[ServedRow] = []
    for query, group in groupby(scores.items(), key=lambda pair: pair[0][0]):
        places += [ServedRow(query, item, rank, score) for rank, ((_, item), score) in enumerate(group, 1)]
    return places if choice.scores is ExportScores.SERVED else _by_rank(places)


def _by_rank(places: list[ServedRow]) -> list[ServedRow]:
    """The same ranking with scores that fall by one per rank, down to 1."""
    deepest = {place.query: place.rank for place in places}
    return [replace(place, score=float(deepest[place.query] - place.rank + 1)) for place in places]


def _order_notes(system: str, ranking: list[ServedRow]) -> Iterator[str]:
    """A note on queries whose served order differs from the order of scores, by which other tools sort (F17)."""
    queries = set()
    for before, after in pairwise(ranking):
        if before.query == after.query and not before.score > after.score:
            queries.add(before.query)
    if queries:
        yield (
            f"{system}: {len(queries)} queries have equal or rising scores; tools that sort by score may"
            " reorder them. --scores rank keeps the served order."
        )


def _file_name(system: str, existing: Mapping[str, str], choice: ExportChoice) -> str:
    folder, extension = ("runs", "txt") if choice.format is Format.TREC else ("results", "json")
    slug = re.sub(r"[^A-Za-z0-9._=]+", "-", system).strip("-.") or "system"
    names = (f"{folder}/{slug}{f'-{i}' if i > 1 else ''}.{extension}" for i in range(1, len(existing) + 2))
    return next(name for name in names if name not in existing)


def _files(texts: Mapping[str, str], notes: Sequence[str]) -> Files:
    return Files({name: text.encode() for name, text in texts.items()}, {}, tuple(notes))
