"""Schemas of the stored tables: documents, chunks, judgments and the results of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Schema:
    """A table's columns as (name, Arrow type name); the Arrow schema is built on demand.

    `added` columns are newer: older tables have them as null.
    """

    name: str
    columns: tuple[tuple[str, str], ...]
    added: tuple[str, ...] = ()

    def arrow(self) -> pa.Schema:
        """The Arrow schema of this table."""
        import pyarrow as pa

        return pa.schema([(name, pa.type_for_alias(kind)) for name, kind in self.columns])

    def table(self, columns: Mapping[str, object]) -> pa.Table:
        """A table of exactly this schema from columns by name."""
        import pyarrow as pa

        return pa.table(dict(columns), schema=self.arrow())

    def table_of_rows(self, rows: Iterable[Sequence[object]]) -> pa.Table:
        """A table of exactly this schema from rows, each with a value per column."""
        columns = list(zip(*rows, strict=True)) or [()] * len(self.columns)
        return self.table(
            {name: list(column) for (name, _), column in zip(self.columns, columns, strict=True)}
        )


DOCUMENTS = Schema(
    "documents",
    (
        ("id", "string"),
        ("version", "string"),
        ("kind", "string"),
        ("title", "string"),
        ("fields", "string"),
        ("text", "large_string"),
    ),
)
"""The row number is the integer document id; `fields` is a JSON object of strings."""

CHUNKS = Schema(
    "chunks",
    (
        ("id", "string"),
        ("doc", "int32"),
        ("start", "int32"),
        ("end", "int32"),
        ("line_start", "int32"),
        ("line_end", "int32"),
        ("section", "string"),
        ("symbol", "string"),
        ("context", "string"),
        ("text", "large_string"),
    ),
)
"""The row number is the integer chunk id; `start` and `end` are characters, lines count from 1 and include the end."""

JUDGMENTS = Schema(
    "judgments",
    (
        ("query", "int32"),
        ("doc", "int32"),
        ("start", "int32"),
        ("end", "int32"),
        ("grade", "int8"),
        ("source", "string"),
        ("chunking", "string"),
    ),
)
"""`start` and `end` are null where the whole document is judged; `chunking` is what a judgment is bound to, or ''."""

RANKINGS = Schema(
    "rankings",
    (
        ("run", "string"),
        ("system", "string"),
        ("query_id", "string"),
        ("rank", "int32"),
        ("chunk_id", "string"),
        ("document_id", "string"),
        ("start", "int32"),
        ("end", "int32"),
        ("section", "string"),
        ("score", "double"),
    ),
)

SCORES = Schema(
    "scores",
    (
        ("run", "string"),
        ("system", "string"),
        ("query_id", "string"),
        ("measure", "string"),
        ("unit", "string"),
        ("source", "string"),
        ("value", "double"),
    ),
)
"""A null value means not computed, with its reason among the run's excluded queries; it never enters a mean."""

TIMINGS = Schema(
    "timings",
    (
        ("run", "string"),
        ("system", "string"),
        ("phase", "string"),
        ("statistic", "string"),
        ("value", "double"),
        ("count", "int64"),
        ("note", "string"),
    ),
)
"""Seconds or milliseconds, as the statistic's name says; a null value has its reason in `note`."""

SYSTEMS = Schema(
    "systems",
    (
        ("run", "string"),
        ("system", "string"),
        ("chunker", "string"),
        ("embedder", "string"),
        ("store", "string"),
        ("mode", "string"),
        ("reranker", "string"),
        ("params", "string"),
        ("status", "string"),
        ("reason", "string"),
        ("chunks", "int64"),
        ("dims", "int32"),
        ("index_bytes", "int64"),
        ("stand_in", "bool"),
        ("family", "string"),
        ("vector_bytes", "int64"),
        ("full_bytes", "int64"),
        ("rescore", "int32"),
    ),
    added=("family", "vector_bytes", "full_bytes", "rescore"),
)
"""`family` is the label without the vector form; bytes are those of one vector as it is searched, and of the full one.
"""
