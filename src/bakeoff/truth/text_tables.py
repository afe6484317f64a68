"""The texts of a condition: chunks, lines, sections or whole documents, each as an Arrow table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from bakeoff.truth.overlap import Ranges, ranges
from bakeoff.truth.rule_matches import whole_documents

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bakeoff.truth.corpus import TruthCorpus

_NAMES = {"id": "document", "kind": "kind", "title": "title", "fields": "fields"}
"""Labels of documents, and their columns."""
_DOCUMENT = {"document_id": "document", "report_id": "document"}
_TEXT = {"chunk_text": "text", "section_name": "section"}
SYNONYMS: Mapping[str, Mapping[str, str]] = {
    "chunks": {"chunk_id": "id", **_DOCUMENT, **_TEXT},
    "sections": {**_DOCUMENT, **_TEXT},
    "lines": {**_DOCUMENT, "chunk_text": "text"},
    "documents": {"id": "document", **_DOCUMENT, "chunk_text": "text"},
}
"""Synonyms of the columns (S4-22)."""


Widen = Callable[[pa.RecordBatch], pa.RecordBatch]
"""Adds all columns a condition may name to some rows."""


@dataclass(frozen=True, slots=True)
class TextTables:
    """Rows that a condition is evaluated on, and the range of each.

    `rows` holds what is in memory, `widen` adds the other columns to some rows at a time; `size` is about how
    many bytes all take.
    """

    over: str
    chunking: str
    rows: pa.Table
    widen: Widen
    size: int
    at: Ranges


def chunk_texts(corpus: TruthCorpus, chunks: pa.Table, chunking: str) -> TextTables:
    """The chunks of a chunking with the labels of their documents."""
    rows = chunks.select(["doc", "id", "section", "symbol", "line_start", "line_end", "text"])
    return TextTables(
        "chunks",
        chunking,
        rows,
        lambda batch: _label_documents(corpus, batch),
        rows.nbytes,
        chunk_ranges(chunks),
    )


def document_texts(corpus: TruthCorpus) -> TextTables:
    """Whole documents."""
    names = [_NAMES.get(key, key) for key in corpus.table.column_names]
    rows = corpus.table.rename_columns(names).select([*_NAMES.values(), "text"])
    return TextTables(
        "documents", "", rows, lambda batch: batch, rows.nbytes, whole_documents(range(len(corpus)))
    )


def section_texts(corpus: TruthCorpus) -> TextTables:
    """The text under each heading, up to the next."""
    rows = corpus.sections.select(["doc", "start", "end", "section"])
    return TextTables(
        *("sections", "", rows, lambda batch: _label_documents(corpus, _with_texts(corpus, batch))),
        *(corpus.table["text"].nbytes, chunk_ranges(rows)),
    )


def line_texts(corpus: TruthCorpus) -> TextTables:
    """Each line that is not blank."""
    rows = corpus.lines
    return TextTables(
        *("lines", "", rows, lambda batch: _label_documents(corpus, _with_texts(corpus, batch))),
        *(corpus.table["text"].nbytes, chunk_ranges(rows)),
    )


def chunk_ranges(chunks: pa.Table) -> Ranges:
    """The places of the chunks of a chunking."""
    return ranges(*(chunks[key].to_numpy() for key in ("doc", "start", "end")))


def _with_texts(corpus: TruthCorpus, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Add the text of each row's span."""
    places = zip(*(batch[key].to_pylist() for key in ("doc", "start", "end")), strict=True)
    texts = pa.array([corpus.text(doc)[start:end] for doc, start, end in places], pa.large_string())
    columns = [name for name in batch.schema.names if name not in ("start", "end")]
    return batch.select(columns).append_column("text", texts)


def _label_documents(corpus: TruthCorpus, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Replace `doc` by the labels of the documents."""
    docs = batch["doc"].to_numpy()
    first, past = (int(docs.min()), int(docs.max()) + 1) if len(docs) else (0, 0)
    # only the documents of these rows: taking from a whole column would assemble it each time
    near, rows = corpus.table.slice(first, past - first), pa.array(docs - first)
    for column, name in _NAMES.items():
        batch = batch.append_column(name, near[column].combine_chunks().take(rows))
    return batch.select([name for name in batch.schema.names if name != "doc"])
