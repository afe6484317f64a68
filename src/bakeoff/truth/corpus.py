"""The documents for truth rules: found by name, read by row, with lines and sections."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from bakeoff.corpus.headings import sections
from bakeoff.storage.arrow_take import StringColumn
from bakeoff.truth.documents import Names
from bakeoff.types import Skipped

if TYPE_CHECKING:
    import pyarrow as pa

KEPT = 256
"""Number of documents cached as Python strings."""
_BREAK = re.compile(r"\r\n|\r|\n")


class TruthCorpus:
    """A documents table; texts are read on demand, names and sections on first use."""

    def __init__(self, documents: pa.Table, unread: Sequence[Skipped] = ()) -> None:
        self.table = documents
        self._unread = unread
        # a few at a time, so that scanning all documents does not hold them all
        self.text = lru_cache(KEPT)(self._text)
        self.line_starts = lru_cache(KEPT)(self._line_starts)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def names(self) -> Names:
        """The index of the documents' names."""
        return Names(StringColumn(self.table["id"]), self._unread)

    @cached_property
    def sections(self) -> pa.Table:
        """Sections of all documents: doc, start, end, deep_end (int32) and section, its title."""
        import pyarrow as pa

        numbers = [(key, pa.int32()) for key in ("doc", "start", "end", "deep_end")]
        schema = pa.schema([*numbers, ("section", pa.string())])
        blocks = (range(first, min(first + KEPT, len(self))) for first in range(0, len(self), KEPT))
        return pa.Table.from_batches((self._sections(docs, schema) for docs in blocks), schema)

    @cached_property
    def lines(self) -> pa.Table:
        """Non-blank lines of all documents: doc, start and end (int32)."""
        import pyarrow as pa

        schema = pa.schema([(key, pa.int32()) for key in ("doc", "start", "end")])
        blocks = (range(first, min(first + KEPT, len(self))) for first in range(0, len(self), KEPT))
        return pa.Table.from_batches((self._lines(docs, schema) for docs in blocks), schema)

    def _lines(self, docs: range, schema: pa.Schema) -> pa.RecordBatch:
        rows = [(doc, start, end) for doc in docs for start, end in _line_spans(self.text(doc))]
        return _batch(rows, schema)

    def _sections(self, docs: range, schema: pa.Schema) -> pa.RecordBatch:
        rows = [
            (doc, part.start, part.end, part.deep_end, part.title)
            for doc in docs
            for part in sections(self.text(doc), self.kind(doc))
        ]
        return _batch(rows, schema)

    def id(self, doc: int) -> str:
        """The id of a document."""
        return str(self.table["id"][doc].as_py())

    def kind(self, doc: int) -> str:
        """The kind of a document."""
        return str(self.table["kind"][doc].as_py())

    def _text(self, doc: int) -> str:
        """The text of a document."""
        return str(self.table["text"][doc].as_py())

    def _line_starts(self, doc: int) -> list[int]:
        """First character of each line of a document."""
        return line_starts(self.text(doc))

    def line_of(self, doc: int, character: int) -> int:
        """Line of a character of a document, from 1."""
        return bisect_right(self.line_starts(doc), character)


def line_starts(text: str) -> list[int]:
    """First character of each line; LF, CRLF and CR end a line, as in Python."""
    return [0, *(match.end() for match in _BREAK.finditer(text))]


def _line_spans(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each non-blank line, without its newline."""
    starts = line_starts(text)
    for start, past in zip(starts, [*starts[1:], len(text)], strict=True):
        line = text[start:past].rstrip("\r\n")
        if line.strip():
            yield start, start + len(line)


def _batch(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    """Rows as columns of a schema's types."""
    import pyarrow as pa

    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    typed = zip(columns, schema.types, strict=True)
    return pa.record_batch([pa.array(column, kind) for column, kind in typed], schema=schema)
