"""The texts a condition is asked of: chunks, sections or whole documents, an Arrow table each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from bakeoff.headings import sections
from bakeoff.truth.hits import whole_documents
from bakeoff.truth.overlap import Ranges, ranges

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bakeoff.truth.corpus import Corpus

_DOCUMENT = {"document_id": "document", "report_id": "document"}
_TEXT = {"chunk_text": "text", "section_name": "section"}
SYNONYMS: Mapping[str, Mapping[str, str]] = {
    "chunks": {"chunk_id": "id", **_DOCUMENT, **_TEXT},
    "sections": {**_DOCUMENT, **_TEXT},
    "documents": {"id": "document", **_DOCUMENT, "chunk_text": "text"},
}
"""Further names of the columns (S4-22)."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Rows a condition can be true of, and the place each stands for."""

    over: str
    chunking: str
    table: pa.Table
    at: Ranges


def chunk_texts(corpus: Corpus, chunks: pa.Table, chunking: str) -> Texts:
    """The chunks of a chunking with the labels of their documents."""
    at = chunk_ranges(chunks)
    own = {key: chunks[key] for key in ("id", "section", "symbol", "line_start", "line_end", "text")}
    return Texts("chunks", chunking, pa.table({**own, **_labels(corpus, at)}), at)


def document_texts(corpus: Corpus) -> Texts:
    """Whole documents."""
    at = whole_documents(range(len(corpus)))
    return Texts("documents", "", pa.table({**_labels(corpus, at), "text": corpus.table["text"]}), at)


def section_texts(corpus: Corpus) -> Texts:
    """What stands under each heading, up to the next."""
    rows = [
        (doc, part.start, part.end, part.title, corpus.text(doc)[part.start : part.end])
        for doc in range(len(corpus))
        for part in sections(corpus.text(doc), corpus.kinds[doc])
    ]
    docs, starts, ends, titles, texts = zip(*rows, strict=True) if rows else ((), (), (), (), ())
    at = ranges(docs, starts, ends)
    own = {"section": pa.array(titles, pa.string()), "text": pa.array(texts, pa.large_string())}
    return Texts("sections", "", pa.table({**own, **_labels(corpus, at)}), at)


def chunk_ranges(chunks: pa.Table) -> Ranges:
    """Where the chunks of a chunking stand."""
    return ranges(*(chunks[key].to_numpy() for key in ("doc", "start", "end")))


def _labels(corpus: Corpus, at: Ranges) -> dict[str, pa.ChunkedArray]:
    rows = pa.array(at.doc)
    names = {"document": "id", "kind": "kind", "title": "title", "fields": "fields"}
    return {name: corpus.table[column].take(rows) for name, column in names.items()}
