"""Tries one part alone, as a run would use it: asks a retriever a question, or reads a file with a reader."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import ValidationError

from bakeoff import registry
from bakeoff.config.file_readers import file_readers
from bakeoff.config.plan import Plan, PluginSpec
from bakeoff.corpus.document_kinds import kind_of
from bakeoff.errors import QueryFileError, SettingError
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.placement import OUTSIDE, Placement, Placer
from bakeoff.pipeline.read import ReadCorpus
from bakeoff.pipeline.reading.process import ReaderProcesses
from bakeoff.pipeline.reading.readings import read_corpus
from bakeoff.pipeline.retrieved import answer_scores
from bakeoff.protocols import Retriever, SupportsDocuments, SupportsQueryIds
from bakeoff.storage.shared_cache import open_cache
from bakeoff.storage.weights import home_folder
from bakeoff.truth.queries import read_queries
from bakeoff.types import Document, Json, Query, RetrievedRow, Skipped, SourceItem

PLACES = {
    "given": "id and characters",
    "document": "id",
    "exact": "text",
    "folded": "text, folded",
    "overlap": "overlap",
    "unlocated": "id; text not in it",
    "unknown id": "NOT PLACED: id unknown",
    "not placed": "NOT PLACED: text unknown",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedRow:
    """One result as returned, and where it was placed."""

    given: str
    score: float | None
    text: str
    how: str
    document: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class RetrieverTrial:
    """A retriever's answer to one question; `milliseconds` is None if nothing was searched."""

    retriever: str
    question: str
    milliseconds: float | None
    rows: tuple[TriedRow, ...]
    lost: int
    notes: tuple[str, ...]


def try_retriever(plan: Plan, part: PluginSpec, question: str | None, k: int) -> RetrieverTrial:
    """Query a retriever once; scores are checked as in a run."""
    query, corpus = _query(plan, question), corpus_of(plan)
    retriever = registry.load("retrievers", part.name)(part.params)
    try:
        rows, milliseconds = _ask(retriever, corpus, query, k)
    finally:
        retriever.close()
    answer_scores(rows)
    placer, names = Placer(corpus.documents), corpus.documents["id"]
    placed = [(row, placer.place(row)) for row in rows]
    tried = tuple(
        _tried_row(row, place, "" if place.how in OUTSIDE else names[place.doc].as_py())
        for row, place in placed
    )
    lost = sum(place.how in OUTSIDE for _, place in placed)
    return RetrieverTrial(
        part.label, query.text, milliseconds, tried, lost, tuple(_notes(rows, k, lost, names[0].as_py()))
    )


def corpus_of(plan: Plan) -> ReadCorpus:
    """The documents of a plan, from the cache if possible."""
    return read_corpus(plan, StageContext(open_cache(home_folder() / "cache")))


def first_title(corpus: ReadCorpus) -> str:
    """Title of the first document that has one, else the beginning of the first text."""
    titles = (title for title in corpus.documents["title"].to_pylist() if title)
    return next(titles, "") or " ".join(corpus.documents["text"][0].as_py().split()[:8])


def _query(plan: Plan, question: str | None) -> Query:
    queries = read_queries(plan.queries).queries
    if question is None:
        return queries[0]
    same = next((query for query in queries if question in (query.id, query.text)), None)
    if not question.strip():
        raise QueryFileError("the question is empty. Ask something.")
    return same or Query(id="", text=question)


def _ask(
    retriever: Retriever, corpus: ReadCorpus, query: Query, k: int
) -> tuple[list[RetrievedRow], float | None]:
    if isinstance(retriever, SupportsDocuments):
        columns = [corpus.documents[name].to_pylist() for name in ("id", "text", "kind", "title")]
        retriever.index(Document(*row) for row in zip(*columns, strict=True))
    if isinstance(retriever, SupportsQueryIds):
        return list(retriever.search_id(query.id, k)), None
    begin = time.perf_counter()
    answer = retriever.search(query.text, k, ())
    milliseconds = (time.perf_counter() - begin) * 1e3
    return list(answer), milliseconds


def _tried_row(row: RetrievedRow, place: Placement, document: str) -> TriedRow:
    return TriedRow(
        given=row.document or "",
        score=row.score,
        text=row.text or "",
        how=PLACES[place.how],
        document=document,
        start=place.start,
        end=place.end,
    )


def _notes(rows: list[RetrievedRow], k: int, lost: int, example: str) -> Iterator[str]:
    if not rows:
        yield "the answer has no results. Check `hits`, and that the question suits the documents."
    elif len(rows) != k:
        yield f"asked for {k} results and got {len(rows)}."
    if lost:
        yield (
            f"{lost} of {len(rows)} results are not in the corpus. Ids look like {example!r}: map `id` to "
            "such ids, or `text` to the passage."
        )
    if rows and all(row.score is None for row in rows):
        yield "no result has a score, so the order of the answer counts."


@dataclass(frozen=True, slots=True)
class TriedReader:
    """A reader's document for a file, and the seconds it took."""

    answer: Document | Skipped
    seconds: float

    def as_json(self) -> dict[str, Json]:
        """The document or the reason, and the seconds."""
        return {**asdict(self.answer), "seconds": self.seconds}


def try_reader(name: str, params: Mapping[str, object], file: Path) -> TriedReader:
    """Read a file with the named reader, whatever kinds it is configured for."""
    plugin = registry.load("readers", name)
    kind = kind_of(file.name)
    if kind not in plugin.kinds:
        raise SettingError(f"{name} does not read {kind} files. It reads: {', '.join(plugin.kinds)}.")
    try:
        chosen = PluginSpec("readers", name, name, plugin.Params(**params))
    except ValidationError as exc:
        raise SettingError(f"{name}: {exc.errors()[0]['loc']}: {exc.errors()[0]['msg']}.") from exc
    if not file.is_file():
        raise SettingError(f"{file} is not a file. Give the file to read.")
    folder = registry.load("sources", "folder")
    source = folder(folder.Params(folder=file.resolve().parent, include=[file.name]))
    (item,) = (one for one in source.items() if one.id == file.name)
    begin = time.perf_counter()
    if not isinstance(item, SourceItem):
        return TriedReader(item, 0.0)
    with ReaderProcesses(source, file_readers([file.name], {kind: chosen}), [item]) as processes:
        (answer,) = processes.read([item])
    return TriedReader(answer, time.perf_counter() - begin)
