"""The nouns of the product: frozen dataclasses and table schemas, declared once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

Json: TypeAlias = Any
"""A value read from JSON, YAML or TOML, or about to be written as such; whoever reads it checks its shape."""
JsonObject: TypeAlias = dict[str, Json]
"""A JSON object: text keys, any values."""
TableRow: TypeAlias = Mapping[str, Any]
"""One row of an Arrow table as plain values, by column."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentBatch:
    """Some documents of a table as columns of equal length, and the rows that were not read.

    `ids`, `titles` and `texts` are Arrow arrays of strings; `fields` has one more for each field.
    """

    ids: pa.Array
    titles: pa.Array | None
    texts: pa.Array
    fields: Mapping[str, pa.Array] = field(default_factory=dict)
    kind: str = "text"
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as a source found it: a reader makes its document; `encoding` is that of text which is not UTF-8."""

    id: str
    data: bytes = field(repr=False)
    encoding: str | None = None


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
    """What a chunker returns: a character span of the document, and the text injected before it when embedding.

    `id` is the name of a chunk that has one; others are named by their document, place and text.
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


VectorKind = Literal["dense", "sparse", "tokens"]
"""What a model makes of a text: one vector, weights of some terms, or a vector for each token."""


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Weights of some terms; `terms` are their numbers, ascending."""

    terms: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True, slots=True)
class SparseRows:
    """Sparse vectors: row i lies from `starts[i]` to `starts[i + 1]`; `dims` is the number of different terms."""

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
    """A matrix of token vectors for each text: that of row i is `vectors[starts[i]:starts[i + 1]]`."""

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
"""The numbers in which an index keeps vectors; binary is one bit for each dimension, its sign."""
STORAGES: tuple[Storage, ...] = ("float32", "float16", "int8", "binary")
_BITS = {"float32": 32, "float16": 16, "int8": 8, "binary": 1}


@dataclass(frozen=True, slots=True)
class VectorForm:
    """How vectors are kept and searched.

    `dims` are the leading dimensions that are kept (None: all), normalised again. With `rescore`, a search for k
    fetches k × rescore candidates in this form and orders them by the full vectors; 0 leaves their order.
    """

    dims: int | None = None
    storage: Storage = "float32"
    rescore: int = 0

    @property
    def small(self) -> bool:
        """Whether a vector takes less than the full float32 one, as far as the model's own length is not known."""
        return self.dims is not None or self.storage != "float32"

    def chosen(self) -> dict[str, int | str]:
        """What differs from full vectors."""
        found = {"dims": self.dims, "storage": self.storage, "rescore": self.rescore}
        return {key: value for key, value in found.items() if value not in (None, "float32", 0)}

    def vector_bytes(self, model_dims: int) -> int:
        """Bytes of the numbers of one vector of a model, without the links and scales of an index."""
        return -(-(self.dims or model_dims) * _BITS[self.storage] // 8)


FULL_FORM = VectorForm()
"""All dimensions in float32."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows for a store: integer ids, and vectors of one kind, texts or both."""

    ids: np.ndarray
    vectors: np.ndarray | None = None
    texts: list[str] | None = None
    payloads: list[dict[str, str | int | float]] | None = None
    sparse: SparseRows | None = None
    tokens: TokenRows | None = None


@dataclass(frozen=True, slots=True)
class PayloadField:
    """One field of every row's payload; dates and booleans occur only in collections that others filled."""

    name: str
    kind: Literal["text", "integer", "number", "date", "boolean"]


@dataclass(frozen=True, slots=True)
class Condition:
    """What a row's payload must hold in one field: one of some values, or a number within bounds, ends included."""

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

    `score` is None where the retriever gives none; then it gives none for any row, and the order counts.
    """

    document: str | None = None
    start: int | None = None
    end: int | None = None
    text: str | None = None
    score: float | None = None


Answer = Hits | Iterable[RetrievedRow]
"""What a search returns: rows of its index, or of a retriever."""


@dataclass(frozen=True, slots=True)
class NamedHits:
    """An answer of a collection that others filled: their ids in served order with scores, higher is better."""

    ids: tuple[str, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class NamedVectors:
    """Some rows of a collection that others filled: their ids, one row of the matrix for each, and where to go on.

    `after` is the engine's own mark of the next rows, None at the end.
    """

    ids: tuple[str, ...]
    matrix: np.ndarray
    after: object = None


@dataclass(frozen=True, slots=True)
class ExistingCollection:
    """A collection that others filled, which is only searched.

    `id_field` is the payload field with the ids of chunks or documents, '' for the engine's own ids; `vector_field` is
    the field of vectors, '' for the only one; `path` is the folder of an embedded engine, '' for a server.
    """

    name: str
    id_field: str = ""
    vector_field: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class CollectionFacts:
    """What a collection holds: rows, dimensions of its vectors, and their metric (None: the engine does not tell)."""

    rows: int
    dims: int
    metric: Metric | None
