"""readings: one corpus read by several readers, aligned so that each document has the same row in all of
them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bakeoff import registry
from bakeoff.config.plan import Plan, Reading
from bakeoff.corpus.document_kinds import kind_of
from bakeoff.corpus.languages import SAMPLE, detect_language
from bakeoff.errors import TruthError
from bakeoff.fingerprint import fingerprint
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.read import ReadCorpus, Sample, read_documents
from bakeoff.runtime.events import WarningRaised
from bakeoff.truth.alignment import lost_spans
from bakeoff.truth.corpus import TruthCorpus
from bakeoff.truth.queries import QuerySet
from bakeoff.truth.resolve import Truth
from bakeoff.truth.rules import PassageRule, SpansRule, leaves
from bakeoff.truth.spans import passages, same_letters

if TYPE_CHECKING:
    import pyarrow as pa

SHOWN = 3


def read_corpus(plan: Plan, context: StageContext, sample: Sample | None = None) -> ReadCorpus:
    """Read the documents of a plan, or a sample of them.

    If readers are compared, each document has the text of the first reading that could read it, and truth is
    resolved on that. `readings` holds the documents of each reading, empty for those it couldn't read.
    """
    source = registry.load("sources", plan.source.name)(plan.source.params)
    corpora = {
        reading.label: read_documents(plan.source, source, context, sample, reading=reading)
        for reading in plan.readings
    }
    for sentence in _unused_readers(plan.readings, next(iter(corpora.values()))):
        context.emit(WarningRaised(sentence))
    corpus = next(iter(corpora.values()))
    language = plan.settings.language or detect_language(_sample_texts(corpus))
    has_language = plan.settings.language is not None
    corpora = {
        label: replace(one, language=language, language_given=has_language) for label, one in corpora.items()
    }
    return next(iter(corpora.values())) if len(corpora) == 1 else _align(corpora)


def _sample_texts(corpus: ReadCorpus) -> list[str]:
    """Texts from all over the corpus, for language detection."""
    texts = corpus.documents["text"]
    return [texts[i].as_py() for i in range(0, len(texts), max(1, len(texts) // SAMPLE))]


def with_quoted_passages(corpus: ReadCorpus, queries: QuerySet) -> ReadCorpus:
    """Append quotes that the reference text lacks but another reading has.

    Alignment then finds each quote in the readings that have it, exactly or nearly. If a reading lacks it,
    its reader lost the answer. A quote in no reading must name its document, or it is an error.
    """
    if not corpus.readings:
        return corpus
    rows = corpus.documents.to_pylist()
    names = TruthCorpus(corpus.documents).names
    others = [one.documents["text"].to_pylist() for one in corpus.readings.values()]
    changed = False
    for place in _quotes(queries):
        try:
            docs = [names.one(place.document)] if place.document else range(len(rows))
        except TruthError:  # resolving the truth reports it
            continue
        if any(passages(rows[doc]["text"], place.text) for doc in docs):
            continue
        doc = _document_of(place, docs, others)
        if doc is not None:
            changed = True
            version = fingerprint("quoted", rows[doc]["version"], place.text)
            rows[doc] |= {"version": version, "text": f"{rows[doc]['text']}\n\n{place.text}"}
    return replace(corpus, documents=_table(corpus, rows)) if changed else corpus


def _document_of(place: PassageRule, docs: Sequence[int], readings: list[list[str]]) -> int | None:
    """Row of the document with a quote: the named one, else that of the first reading with exactly one match.

    Matching ignores whitespace between words, then also inside words.
    """
    if place.document:
        return docs[0]
    for search in (passages, same_letters):
        for texts in readings:
            matches = [doc for doc in docs for _ in search(texts[doc], place.text)]
            if len(matches) == 1:
                return matches[0]
    return None


def lost_notes(truths: Mapping[str, Truth], queries: QuerySet) -> list[str]:
    """Notes on answers that no reader's text contains."""
    if not truths:
        return []
    lost = np.logical_and.reduce([lost_spans(truth.judgments) for truth in truths.values()])
    numbers = next(iter(truths.values())).judgments["query"].filter(lost).unique().to_pylist()
    if not numbers:
        return []
    names = [queries.queries[number].id for number in numbers[:SHOWN]]
    more = f" and {len(numbers) - SHOWN:,} more" if len(numbers) > SHOWN else ""
    count = "1 question" if len(numbers) == 1 else f"{len(numbers):,} questions"
    return [
        f"The answer to {count} is in the text of no reader, so no system can find it: {', '.join(names)}{more}. "
        "Check the quotes for typing errors."
    ]


def _quotes(queries: QuerySet) -> Iterator[PassageRule]:
    for rule in queries.rules:
        for _, leaf in leaves(rule) if rule is not None else ():
            if isinstance(leaf, SpansRule):
                yield from (place for place in leaf.places if isinstance(place, PassageRule))


def unread_notes(corpus: ReadCorpus) -> list[str]:
    """Notes on files that one reading couldn't read and another could."""
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
    """Notes on readers for kinds that no file has."""
    named = dict.fromkeys(kind for reading in readings for kind, _ in reading.parts)
    if not named:
        return []
    kinds = {kind_of(name) for name in corpus.documents["id"].to_pylist()}
    kinds |= {kind_of(item.id) for item in corpus.skipped}
    return [f"readers: no file is of the kind {kind}." for kind in named if kind not in kinds]


def _align(corpora: dict[str, ReadCorpus]) -> ReadCorpus:
    """Align the readings to the same rows, and choose the text that truth is resolved on."""
    rows = {label: _by_id(corpus.documents) for label, corpus in corpora.items()}
    ids = sorted({name for table in rows.values() for name in table})
    first = {name: next(table[name] for table in rows.values() if name in table) for name in ids}
    readings = {
        label: replace(
            corpus,
            documents=_table(corpus, [rows[label].get(name) or _unread(first[name]) for name in ids]),
            fingerprint=fingerprint("reading", corpus.fingerprint, ids),
        )
        for label, corpus in corpora.items()
    }
    reference = next(iter(corpora.values()))
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
    """A row without text, for a document that a reading couldn't read."""
    return {**row, "version": fingerprint("unread"), "title": "", "fields": "{}", "text": ""}


def _table(like: ReadCorpus, rows: list[Row]) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_pylist(rows, schema=like.documents.schema)
