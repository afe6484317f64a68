"""The core types: frozen dataclasses, enums and JSON aliases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

Json: TypeAlias = Any
"""A value read from, or to be written as, JSON, YAML or TOML; its reader validates it."""
JsonObject: TypeAlias = dict[str, Json]
"""A JSON object: text keys, any values."""
TableRow: TypeAlias = Mapping[str, Any]
"""One row of an Arrow table as plain values, by column."""


class Role(StrEnum):
    """The role a text is embedded in; models may treat the two differently."""

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
    """Similarity of two vectors; a higher score is always nearer."""

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
    """One item a source can read; `version` changes with its content."""

    id: str
    version: str
    size: int


@dataclass(frozen=True, slots=True)
class Document:
    """One document of the corpus; offsets refer to `text`."""

    id: str
    text: str
    kind: str = "text"
    title: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentBatch:
    """Documents of a table as columns of equal length, and the rows that were skipped.

    `ids`, `titles` and `texts` are Arrow string arrays; `fields` has one per field, or one of dictionary codes.
    """

    ids: pa.Array
    titles: pa.Array | None
    texts: pa.Array
    fields: Mapping[str, pa.Array] = field(default_factory=dict)
    kind: str = "text"
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file found by a source, for a reader; `encoding` applies to text that is not UTF-8."""

    id: str
    data: bytes = field(repr=False)
    encoding: str | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """An item of the corpus that was not read, and why; `has_text` if text may be missing because of it."""

    id: str
    reason: str
    has_text: bool = True


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Limits for reading one file: CPU seconds, and megabytes on top of the reader's own."""

    seconds: float
    memory_mb: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunker's result: a character span of the document, and the text to prepend for embedding.

    `id` is the chunk's own id, if it has one; others are named by document, position and text.
    """

    start: int
    end: int
    context: str = ""
    section: str = ""
    symbol: str = ""
    id: str = ""


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
    """Queries with the same cluster are not independent; '' derives it from their truth."""


# --- models and stores ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Identity of an embedder's vectors: every field enters the cache key."""

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


VectorKind = Literal["dense", "sparse", "tokens"]
"""A model's output for a text: one vector, weights of some terms, or a vector per token."""


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Weights of some terms; `terms` are their numbers, ascending."""

    terms: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True, slots=True)
class SparseRows:
    """Sparse vectors: row i spans `starts[i]` to `starts[i + 1]`; `dims` is the number of distinct terms."""

    starts: np.ndarray
    terms: np.ndarray
    weights: np.ndarray
    dims: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[SparseVector]:
        return (self.row(i) for i in range(len(self)))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and terms."""
        return len(self), self.dims

    @property
    def nbytes(self) -> int:
        """Bytes of the terms and their weights."""
        return int(self.terms.nbytes + self.weights.nbytes)

    def row(self, i: int) -> SparseVector:
        """One vector."""
        part = slice(int(self.starts[i]), int(self.starts[i + 1]))
        return SparseVector(self.terms[part], self.weights[part])

    def __getitem__(self, rows: slice) -> SparseRows:
        begin, end, _ = rows.indices(len(self))
        part = slice(int(self.starts[begin]), int(self.starts[end]))
        starts = self.starts[begin : end + 1] - self.starts[begin]
        return SparseRows(starts, self.terms[part], self.weights[part], self.dims)


@dataclass(frozen=True, slots=True)
class TokenRows:
    """A matrix of token vectors per text: row i is `vectors[starts[i]:starts[i + 1]]`."""

    starts: np.ndarray
    vectors: np.ndarray

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self.row(i) for i in range(len(self)))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and the length of a token's vector."""
        return len(self), self.vectors.shape[1]

    @property
    def nbytes(self) -> int:
        """Bytes of the vectors."""
        return int(self.vectors.nbytes)

    def row(self, i: int) -> np.ndarray:
        """Tokens × dims of one text."""
        return self.vectors[int(self.starts[i]) : int(self.starts[i + 1])]

    def __getitem__(self, rows: slice) -> TokenRows:
        begin, end, _ = rows.indices(len(self))
        part = slice(int(self.starts[begin]), int(self.starts[end]))
        return TokenRows(self.starts[begin : end + 1] - self.starts[begin], self.vectors[part])


Storage: TypeAlias = Literal["float32", "float16", "int8", "binary"]
"""Number formats of vectors in an index; binary is one sign bit per dimension."""
STORAGES: tuple[Storage, ...] = ("float32", "float16", "int8", "binary")
_BITS = {"float32": 32, "float16": 16, "int8": 8, "binary": 1}


@dataclass(frozen=True, slots=True)
class VectorForm:
    """How vectors are stored and searched.

    `dims` are the leading dimensions to keep (None: all), normalised again. With `rescore`, a search for k
    fetches k × rescore candidates in this form and reorders them by the full vectors; 0 keeps their order.
    """

    dims: int | None = None
    storage: Storage = "float32"
    rescore: int = 0

    @property
    def small(self) -> bool:
        """Whether a vector takes less space than full float32, as far as the model's length is known."""
        return self.dims is not None or self.storage != "float32"

    def chosen(self) -> dict[str, int | str]:
        """What differs from full vectors."""
        found = {"dims": self.dims, "storage": self.storage, "rescore": self.rescore}
        return {key: value for key, value in found.items() if value not in (None, "float32", 0)}

    def vector_bytes(self, model_dims: int) -> int:
        """Bytes of one vector's numbers, without an index's links and scales."""
        return -(-(self.dims or model_dims) * _BITS[self.storage] // 8)


FULL_FORM = VectorForm()
"""All dimensions in float32."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows for a store: integer ids with vectors of one kind, texts or both."""

    ids: np.ndarray
    vectors: np.ndarray | None = None
    texts: list[str] | None = None
    payloads: list[dict[str, str | int | float]] | None = None
    sparse: SparseRows | None = None
    tokens: TokenRows | None = None


@dataclass(frozen=True, slots=True)
class PayloadField:
    """One payload field; dates and booleans occur only in existing collections."""

    name: str
    kind: Literal["text", "integer", "number", "date", "boolean"]


@dataclass(frozen=True, slots=True)
class Condition:
    """Condition on one payload field: one of some values, or a number within inclusive bounds."""

    field: str
    among: tuple[str | int | float, ...] = ()
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True)
class DateCondition(Condition):
    """A date within bounds, in seconds since 1970 (UTC)."""


Where = tuple[Condition, ...]
"""A filter: every condition must hold."""


@dataclass(frozen=True, slots=True)
class Hits:
    """A store's answer to one query: ids in served order with scores, higher is better."""

    ids: np.ndarray
    scores: np.ndarray


class RetrievedRow(NamedTuple):
    """One row of a retriever's answer: a document's id, characters of it, a text, or several of these.

    `score` is None if the retriever returns no scores; then the order counts.
    """

    document: str | None = None
    start: int | None = None
    end: int | None = None
    text: str | None = None
    score: float | None = None


Answer = Hits | Iterable[RetrievedRow]
"""Results of a search: rows of its index, or of a retriever."""


@dataclass(frozen=True, slots=True)
class NamedHits:
    """An answer from an existing collection: its own ids in served order with scores, higher is better."""

    ids: tuple[str, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class NamedVectors:
    """Rows of an existing collection: their ids, and one matrix row each.

    `after` is the engine's own cursor of the next rows, None at the end.
    """

    ids: tuple[str, ...]
    matrix: np.ndarray
    after: object = None


@dataclass(frozen=True, slots=True)
class ExistingCollection:
    """An existing collection, which is only searched.

    `id_field` is the payload field with chunk or document ids, '' for the engine's own; `vector_field` is the
    vector field, '' for the only one; `path` is the folder of an embedded engine, '' for a server.
    """

    name: str
    id_field: str = ""
    vector_field: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class CollectionFacts:
    """Contents of a collection: rows, vector dimensions, and their metric (None if the engine does not report
    it)."""

    rows: int
    dims: int
    metric: Metric | None
