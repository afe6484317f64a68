"""The nouns of the product: frozen dataclasses and table schemas, declared once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


class Role(StrEnum):
    """What a text is embedded as; models may treat the two differently."""

    QUERY = "query"
    DOCUMENT = "document"


class Unit(StrEnum):
    """What a measure counts."""

    CHUNK = "chunk"
    DOCUMENT = "document"
    SECTION = "section"
    ANSWER = "answer"
    VECTOR = "vector"


class Metric(StrEnum):
    """How near two vectors are; a higher score is always nearer."""

    COSINE = "cosine"
    DOT = "dot"
    L2 = "l2"


class Status(StrEnum):
    """How a system ended."""

    DONE = "done"
    FAILED = "failed"
    PARTIAL = "partial"


# --- corpus -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SourceItem:
    """One thing a source can read; `version` changes when its content does."""

    id: str
    version: str
    size: int


@dataclass(frozen=True, slots=True)
class Document:
    """One document of the corpus: `text` is what offsets point into."""

    id: str
    text: str
    kind: str = "text"
    title: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A thing in the corpus folder that was not read, and why; `has_text` where text may be missing for it."""

    id: str
    reason: str
    has_text: bool = True


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """What reading one file may cost: CPU seconds, and megabytes on top of the reader's own."""

    seconds: float
    memory_mb: int


@dataclass(frozen=True, slots=True)
class Piece:
    """What a chunker returns: a character span of the document, and the text injected before it when embedding."""

    start: int
    end: int
    context: str = ""
    section: str = ""
    symbol: str = ""


# --- queries ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Query:
    """One question with its labels; truth is resolved elsewhere."""

    id: str
    text: str
    category: str = ""
    difficulty: str = ""
    intent: str = ""
    negative: bool = False
    synthetic: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)
    cluster: str = ""
    """Queries of one cluster are not independent of each other; '' leaves it to their truth."""


# --- models and stores ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What makes two embedders' vectors the same: every field enters the cache key."""

    name: str
    dims: int
    max_tokens: int | None
    revision: str
    weights: str
    normalised: bool
    dtype: str = "float32"
    pooling: str = ""
    query_prompt: str = ""
    document_prompt: str = ""
    licence: str = ""
    stand_in: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows for a store: integer ids, and vectors, texts or both."""

    ids: np.ndarray
    vectors: np.ndarray | None = None
    texts: list[str] | None = None
    payloads: list[dict[str, str | int | float]] | None = None


@dataclass(frozen=True, slots=True)
class PayloadField:
    """One field that every row's payload has: text, integer or number."""

    name: str
    kind: Literal["text", "integer", "number"]


@dataclass(frozen=True, slots=True)
class Condition:
    """What a row's payload must hold in one field: one of some values, or a number within bounds, ends included."""

    field: str
    among: tuple[str | int | float, ...] = ()
    least: float | None = None
    most: float | None = None


Where = tuple[Condition, ...]
"""A filter: every condition must hold."""


@dataclass(frozen=True, slots=True)
class Hits:
    """A store's answer to one query: ids in served order with scores, higher is better."""

    ids: np.ndarray
    scores: np.ndarray


# --- table schemas ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Schema:
    """A table's columns as (name, Arrow type name); the Arrow schema is made on demand.

    `added` columns came later: a table that was written before has them as null.
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
    ),
)
