"""readings: a corpus as several readers read it, document by document in the same rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from bakeoff import registry
from bakeoff.config.plan import Plan, Reading
from bakeoff.corpus.document_kinds import kind_of
from bakeoff.corpus.languages import SAMPLE, detect_language
from bakeoff.errors import TruthError
from bakeoff.fingerprint import fingerprint
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.read import ReadCorpus, Sample, read_documents
from bakeoff.runtime.events import WarningRaised
from bakeoff.truth.corpus import TruthCorpus
from bakeoff.truth.queries import QuerySet
from bakeoff.truth.rules import PassageRule, SpansRule, leaves
from bakeoff.truth.spans import passages

if TYPE_CHECKING:
    import pyarrow as pa

SHOWN = 3


def read_corpus(plan: Plan, context: StageContext, sample: Sample | None = None) -> ReadCorpus:
    """The documents of a plan, or a sample of them.

    Where readers are compared, each document has the text of the first reading that could read it: truth is resolved
    on that. `readings` has the documents as each reading has them, empty where it could not read one.
    """
    source = registry.load("sources", plan.source.name)(plan.source.params)
    found = {
        reading.label: read_documents(plan.source, source, context, sample, reading=reading)
        for reading in plan.readings
    }
    for sentence in _unused_readers(plan.readings, next(iter(found.values()))):
        context.emit(WarningRaised(sentence))
    corpus = next(iter(found.values()))
    language = plan.settings.language or detect_language(_sample_texts(corpus))
    given = plan.settings.language is not None
    found = {label: replace(one, language=language, language_given=given) for label, one in found.items()}
    return next(iter(found.values())) if len(found) == 1 else _aligned(found)


def _sample_texts(corpus: ReadCorpus) -> list[str]:
    """Texts from all over the corpus, whose language is that of the corpus."""
    texts = corpus.documents["text"]
    return [texts[i].as_py() for i in range(0, len(texts), max(1, len(texts) // SAMPLE))]


def with_quoted_passages(corpus: ReadCorpus, queries: QuerySet) -> ReadCorpus:
    """The corpus with the quotes that only a later reading has: they follow the text that truth is resolved on.

    So an answer that the first reader lost counts as lost there, and is found where another reader has it.
    """
    if not corpus.readings:
        return corpus
    rows = corpus.documents.to_pylist()
    before = [row["version"] for row in rows]
    names = TruthCorpus(corpus.documents).names
    others = [one.documents["text"].to_pylist() for one in corpus.readings.values()]
    for place in _quotes(queries):
        try:
            docs = [names.one(place.document)] if place.document else range(len(rows))
        except TruthError:  # resolving the truth reports it
            continue
        if not any(passages(rows[doc]["text"], place.text) for doc in docs):
            for doc, passage in _only_passage(place, docs, others):
                version = fingerprint("quoted", rows[doc]["version"], passage)
                rows[doc] |= {"version": version, "text": f"{rows[doc]['text']}\n\n{passage}"}
    unchanged = before == [row["version"] for row in rows]
    return corpus if unchanged else replace(corpus, documents=_table(corpus, rows))


def _only_passage(
    place: PassageRule, docs: Iterable[int], readings: list[list[str]]
) -> list[tuple[int, str]]:
    """The document and the passage of the first reading that has a quote exactly once; nothing where none has."""
    for texts in readings:
        found = [
            (doc, texts[doc][start:end]) for doc in docs for start, end in passages(texts[doc], place.text)
        ]
        if len(found) == 1:
            return found
    return []


def _quotes(queries: QuerySet) -> Iterator[PassageRule]:
    for rule in queries.rules:
        for _, leaf in leaves(rule) if rule is not None else ():
            if isinstance(leaf, SpansRule):
                yield from (place for place in leaf.places if isinstance(place, PassageRule))


def unread_notes(corpus: ReadCorpus) -> list[str]:
    """What each of several readings could not read that another could."""
    notes = []
    for label, read in corpus.readings.items():
        texts = read.documents["text"].to_pylist()
        lost = [name for name, text in zip(read.documents["id"].to_pylist(), texts, strict=True) if not text]
        if lost:
            more = f" and {len(lost) - SHOWN:,} more" if len(lost) > SHOWN else ""
            count = "1 document" if len(lost) == 1 else f"{len(lost):,} documents"
            notes.append(
                f"{label} could not read {count} that another reader reads: {', '.join(lost[:SHOWN])}{more}."
            )
    return notes


def _unused_readers(readings: tuple[Reading, ...], corpus: ReadCorpus) -> list[str]:
    """What is to know of readers of kinds that no file has."""
    kinds = {kind_of(name) for name in corpus.documents["id"].to_pylist()}
    kinds |= {kind_of(item.id) for item in corpus.skipped}
    named = dict.fromkeys(kind for reading in readings for kind, _ in reading.parts)
    return [f"readers: no file is of the kind {kind}." for kind in named if kind not in kinds]


def _aligned(found: dict[str, ReadCorpus]) -> ReadCorpus:
    """The corpus that truth is resolved on, with the same rows under each reading."""
    rows = {label: _by_id(corpus.documents) for label, corpus in found.items()}
    ids = sorted({name for table in rows.values() for name in table})
    first = {name: next(table[name] for table in rows.values() if name in table) for name in ids}
    readings = {
        label: replace(
            corpus,
            documents=_table(corpus, [rows[label].get(name) or _unread(first[name]) for name in ids]),
            fingerprint=fingerprint("reading", corpus.fingerprint, ids),
        )
        for label, corpus in found.items()
    }
    reference = next(iter(found.values()))
    return replace(
        reference,
        documents=_table(reference, [first[name] for name in ids]),
        skipped=tuple(item for item in reference.skipped if item.id not in first),
        fingerprint=fingerprint("readings", [one.fingerprint for one in readings.values()]),
        readings=readings,
    )


Row = dict[str, str]


def _by_id(documents: pa.Table) -> dict[str, Row]:
    return {row["id"]: row for row in documents.to_pylist()}


def _unread(row: Row) -> Row:
    """A document that a reading could not read: it is there, without text."""
    return {**row, "version": fingerprint("unread"), "title": "", "fields": "{}", "text": ""}


def _table(like: ReadCorpus, rows: list[Row]) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_pylist(rows, schema=like.documents.schema)
