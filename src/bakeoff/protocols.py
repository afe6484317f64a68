"""What a plug-in is: a class, its parameters a pydantic model, its abilities declared by having the methods.

In this order: sources and chunkers, models, stores, what a store may be able to do, rerankers and retrievers,
executors.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, TypeVar, runtime_checkable

from bakeoff.types import (
    Batch,
    CollectionFacts,
    Document,
    DocumentBatch,
    ExistingCollection,
    Hits,
    Metric,
    ModelInfo,
    NamedHits,
    NamedVectors,
    PayloadField,
    Piece,
    ReadLimits,
    RetrievedRow,
    Role,
    Skipped,
    SourceFile,
    SourceItem,
    SparseRows,
    SparseVector,
    Storage,
    TokenRows,
    VectorKind,
    Where,
)

if TYPE_CHECKING:
    import numpy as np
    from pydantic import BaseModel

T = TypeVar("T")


class Plugin(Protocol):
    """Common to all kinds: a code version for the cache key, and parameters for the YAML check and the help."""

    version: ClassVar[str]
    Params: ClassVar[type[BaseModel]]


# --- sources, readers and chunkers ----------------------------------------------------------------


class Source(Plugin, Protocol):
    """Where documents come from.

    Parameters that only choose items, as a pattern of names does, it names in `selects_by: ClassVar[tuple[str, ...]]`:
    where such a one changes, nothing is read again.
    """

    def __init__(self, params: BaseModel) -> None: ...

    def items(self) -> Iterable[SourceItem | Skipped]:
        """What there is, in a stable order, without parsing it."""
        ...

    def read(self, item: SourceItem) -> Document | SourceFile | Skipped:
        """The document of one item, or its file, of which a reader makes the document."""
        ...


class Reader(Plugin, Protocol):
    """Turns a file into a document: its text, with headings marked as in Markdown where the format has them.

    A file is read in a process with limits, unless the reader says `packed = False`: that no small file of its formats
    holds far more than its size.
    """

    kinds: ClassVar[tuple[str, ...]]
    """The kinds of documents it reads: pdf, docx, html; for a format that bakeoff does not know, the file's ending."""

    def read(self, file: SourceFile) -> Document | Skipped:
        """The document, or why it has none; raises UnreadableFileError where another reader may do better."""
        ...


@runtime_checkable
class RowSource(Plugin, Protocol):
    """A source whose documents come as Arrow columns, so that millions of them need no object each."""

    def __init__(self, params: BaseModel) -> None: ...

    def content_version(self) -> str:
        """What changes when the content does; '' where only reading it shows that."""
        ...

    def count_rows(self) -> int | None:
        """How many rows there are; None where only reading shows it."""
        ...

    def batches(self) -> Iterator[DocumentBatch]:
        """The documents in a stable order, some thousands at a time."""
        ...


@runtime_checkable
class SupportsReadLimits(Source, Protocol):
    """A source of files that sets what reading one of them may cost; another has the default limits."""

    def read_limits(self) -> ReadLimits:
        """What one file may cost."""
        ...


@runtime_checkable
class SupportsReadsFrom(Protocol):
    """A source of files, which tells whether files that a command writes to a folder would become documents."""

    def reads_from(self, folder: Path) -> bool:
        """Whether files that are put into this folder would be read."""
        ...


class Chunker(Plugin, Protocol):
    """Cuts one document into character spans that together cover every non-blank character."""

    def __init__(self, params: BaseModel) -> None: ...

    def chunk(self, document: Document) -> Iterable[Piece]:
        """The pieces of a document in order of their start."""
        ...


@runtime_checkable
class SuppliesChunks(Chunker, Protocol):
    """A chunker whose chunks were made elsewhere, maybe with their vectors."""

    def content_version(self) -> str:
        """What changes when the chunks do."""
        ...

    def check_documents(self, ids: Collection[str]) -> None:
        """Raise a ChunkerError where a chunk is of a document that the corpus does not have."""
        ...

    def vector_model(self) -> str:
        """The embedder that made the chunks' vectors, as the experiment names it; '' where there are none."""
        ...

    def vectors(self, ids: Sequence[str]) -> Iterator[np.ndarray]:
        """The vectors of chunks in the order of their ids, some thousands at a time."""
        ...


# --- models ---------------------------------------------------------------------------------------


class Embedder(Plugin, Protocol):
    """Turns texts into vectors."""

    def __init__(self, params: BaseModel) -> None: ...

    @property
    def info(self) -> ModelInfo:
        """What identifies the vectors this embedder makes."""
        ...

    def embed(self, texts: Sequence[str], role: Role) -> np.ndarray:
        """One float32 row for each text, in order."""
        ...

    def close(self) -> None:
        """Give back memory and connections."""
        ...


class Encoder(Plugin, Protocol):
    """Turns texts into sparse vectors, or into a vector for each token.

    `info.dims` is the number of terms, or the length of a token's vector.
    """

    vectors: ClassVar[VectorKind]

    def __init__(self, params: BaseModel) -> None: ...

    @property
    def info(self) -> ModelInfo:
        """What identifies the vectors this encoder makes."""
        ...

    def embed(self, texts: Sequence[str], role: Role) -> SparseRows | TokenRows:
        """One row for each text, in order."""
        ...

    def close(self) -> None:
        """Give back memory and connections."""
        ...


VectorModel = Embedder | Encoder
"""What embeds the chunks and the queries of a system."""


def vector_kind(model: VectorModel) -> VectorKind:
    """What a model makes of a text."""
    return getattr(model, "vectors", "dense")


@runtime_checkable
class SupportsFit(Protocol):
    """An encoder whose weights are counted in the corpus; `info` is known, and `embed` works, when it has read that."""

    def fit(self, texts: Iterable[str]) -> None:
        """Read every chunk of the corpus."""
        ...


@runtime_checkable
class SupportsStatistics(SupportsFit, Protocol):
    """An encoder whose counts can be kept, so that a corpus is read once."""

    def save_statistics(self) -> bytes:
        """The counts of the corpus it has read."""
        ...

    def load_statistics(self, kept: bytes) -> None:
        """Take over counts that `save_statistics` gave, instead of reading the corpus."""
        ...


@runtime_checkable
class SupportsTokens(Protocol):
    """An embedder that can say how long a text is for its model."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text before any cut."""
        ...


# --- stores ---------------------------------------------------------------------------------------


class Store(Plugin, Protocol):
    """A vector database; `home` is a folder of its own for what it keeps on disk.

    `Params` shapes the index and says where the engine is; `Query` shapes a search: one index serves many. What a
    store cannot do it says in `gaps: ClassVar[dict[str, str]]`, ability to reason. An engine with a longest vector
    has it as `max_dims`.
    """

    Query: ClassVar[type[BaseModel]]

    def __init__(self, params: BaseModel, home: Path) -> None: ...

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        """Make an empty collection; one of that name that exists is replaced."""
        ...

    def insert(self, batch: Batch) -> None:
        """Add rows whose ids are not there yet."""
        ...

    def ready(self) -> None:
        """Return when every inserted row is searchable through the index that was asked for, or raise StoreError."""
        ...

    def close(self) -> None:
        """Give back files, memory and connections; what is persistent stays."""
        ...


@dataclass(frozen=True, slots=True)
class SearchKnob:
    """The whole number in a store's Query that trades speed for recall.

    `name` is its field in Query, `low` and `high` are the values it may take, and `recall` says whether recall rises
    or falls as the value rises. A knob that `counts_rows` is a number of candidate rows: never under k, and no use
    above the rows there are. `sweep` is what a sweep takes; without it, `low` doubled (or `high` halved) five times.
    """

    name: str
    low: int = 1
    high: int = 8192
    recall: Literal["rises", "falls"] = "rises"
    counts_rows: bool = False
    sweep: tuple[int, ...] = ()

    def bounds(self, k: int, rows: int) -> tuple[int, int]:
        """The least and the greatest value worth a search for k among some rows."""
        if not self.counts_rows:
            return self.low, self.high
        low = max(self.low, k)
        return low, max(low, min(self.high, rows))

    def grid(self, k: int) -> tuple[int, ...]:
        """The values of a sweep, from little effort to much."""
        lowest = max(self.low, k) if self.counts_rows else self.low
        kept = tuple(value for value in self.sweep or self._steps() if lowest <= value <= self.high)
        return kept or (min(lowest, self.high),)

    def _steps(self) -> tuple[int, ...]:
        if self.recall == "rises":
            values = (max(self.low, 1) << place for place in range(6))
        else:
            values = (self.high >> place for place in range(6))
        return tuple(dict.fromkeys(values))


@runtime_checkable
class SupportsTuning(Protocol):
    """A store that names the setting by which its search is tuned; one without is measured as it is."""

    @classmethod
    def search_knob(cls, params: BaseModel) -> SearchKnob | None:
        """The knob of an index built with these Params; None where such an index has none, as an exact one."""
        ...


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A setting by which an engine trades speed for a promise about reads or writes.

    `name` is its place in Params or Query, `value` what this run uses, and `default` what the engine uses by itself.
    `kind` is consistency (which writes a search sees), durability (which writes survive a crash), or refresh (when a
    written row can be found).
    """

    name: str
    kind: Literal["consistency", "durability", "refresh"]
    value: str
    default: str

    @property
    def text(self) -> str:
        """The setting as it is printed, with the engine's own value where that is another."""
        own = "" if self.value == self.default else f" (engine's default: {self.default})"
        return f"{self.kind}: {self.name} = {self.value}{own}"


@runtime_checkable
class SupportsGuarantees(Protocol):
    """A store whose engine has such settings; reports show them next to the latency."""

    @classmethod
    def guarantees(cls, params: BaseModel, query: BaseModel) -> tuple[Guarantee, ...]:
        """The settings in force with these Params and this Query; none where the engine has none to choose."""
        ...


def declared_guarantees(plugin: type, params: BaseModel, query: BaseModel) -> tuple[Guarantee, ...]:
    """What a store declares about its settings; nothing where it declares none."""
    return plugin.guarantees(params, query) if issubclass(plugin, SupportsGuarantees) else ()


# --- what a store may be able to do ---------------------------------------------------------------


@runtime_checkable
class SupportsVectors(Protocol):
    """A store that searches by vector."""

    def search(self, vector: np.ndarray, k: int, query: BaseModel) -> Hits:
        """The k nearest rows, nearest first; `query` is an instance of the store's Query."""
        ...


@runtime_checkable
class SupportsSparse(Protocol):
    """A store that searches sparse vectors by their inner product.

    An engine that keeps weights in fewer digits than float32 names the largest relative error as `weight_error`.
    """

    def hold(self, kind: VectorKind) -> None:
        """Say what the collection's rows are, before `create` or `open`; without it they are dense vectors or texts."""
        ...

    def search_sparse(self, vector: SparseVector, k: int, query: BaseModel, where: Where = ()) -> Hits:
        """The k rows with the largest inner product, within a filter, best first; rows that share no term are left
        out.
        """
        ...


@runtime_checkable
class SupportsStorage(Protocol):
    """A store whose index can keep vectors in smaller numbers than float32.

    It names those as `storages: ClassVar[tuple[Storage, ...]]`.
    """

    def set_storage(self, storage: Storage) -> None:
        """Choose the numbers, before `create` or `open`; without it they are float32."""
        ...


def store_storages(plugin: type) -> tuple[Storage, ...]:
    """The numbers in which a store's index can keep vectors."""
    return ("float32", *getattr(plugin, "storages", ()))


@runtime_checkable
class SupportsRescore(Protocol):
    """A store that orders candidates of its small vectors by the full ones, which it keeps too.

    The storages for which it does so are its `rescores: ClassVar[tuple[Storage, ...]]`.
    """

    def search_rescored(
        self, vector: np.ndarray, k: int, query: BaseModel, candidates: int, where: Where = ()
    ) -> Hits:
        """The k nearest by the full vectors among the nearest candidates in the small ones."""
        ...


@runtime_checkable
class SupportsTokenVectors(Protocol):
    """A store that searches by MaxSim: the sum, over the query's tokens, of the largest inner product with a token."""

    def hold(self, kind: VectorKind) -> None:
        """Say what the collection's rows are, before `create` or `open`."""
        ...

    def search_tokens(self, tokens: np.ndarray, k: int, query: BaseModel, where: Where = ()) -> Hits:
        """The k best rows by MaxSim, within a filter, best first; `tokens` is the query's tokens × dims."""
        ...


HOLDS: dict[VectorKind, type] = {
    "dense": SupportsVectors,
    "sparse": SupportsSparse,
    "tokens": SupportsTokenVectors,
}
"""What a store must be to hold each kind of vectors."""


@runtime_checkable
class SupportsKeywords(Protocol):
    """A store that searches by words."""

    def search_text(self, text: str, k: int, query: BaseModel) -> Hits:
        """The k best rows for the words of a text, best first."""
        ...


@runtime_checkable
class SupportsKeywordsWhere(Protocol):
    """A store that searches by words among the rows whose payload satisfies a filter."""

    def declare(self, fields: tuple[PayloadField, ...]) -> None:
        """Name the payload's fields, before `create` or `open`."""
        ...

    def search_text_where(self, text: str, k: int, query: BaseModel, where: Where) -> Hits:
        """The k best rows among those that satisfy every condition; a filter does not change a row's score."""
        ...


@runtime_checkable
class SupportsReopen(Protocol):
    """A store whose collection outlives the process."""

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        """Open an existing collection and return its row count; raise StoreError where it is not there."""
        ...


@runtime_checkable
class SupportsExisting(Protocol):
    """A store that searches a collection that others filled, and never writes to it."""

    def open_existing(self, collection: ExistingCollection, metric: Metric) -> CollectionFacts:
        """Open it and tell what it holds; raise StoreError where it is not there.

        `metric` is what the experiment asks for: that of the search, in an engine that leaves the choice to it.
        """
        ...

    def search_existing(self, vector: np.ndarray, k: int, query: BaseModel, where: Where = ()) -> NamedHits:
        """The k nearest rows within a filter on its own payload fields, nearest first, by the ids they have there."""
        ...

    def read_existing(self, where: Where = (), after: object = None) -> NamedVectors:
        """The next rows within a filter with their vectors; raise StoreError where the engine does not return them."""
        ...


@runtime_checkable
class SupportsDelete(Protocol):
    """A store that can remove rows."""

    def delete(self, ids: np.ndarray) -> None:
        """Remove rows by id."""
        ...


@runtime_checkable
class SupportsReplace(Protocol):
    """A store that can write a row again."""

    def replace(self, batch: Batch) -> None:
        """Put rows in the place of those with the same ids; searches see only the new ones."""
        ...


@runtime_checkable
class SupportsPayload(Protocol):
    """A store that keeps a payload with each vector, and searches among the rows that satisfy a filter."""

    def declare(self, fields: tuple[PayloadField, ...]) -> None:
        """Name the payload's fields, before `create` or `open`; without it a collection has no payload."""
        ...

    def payloads(self, ids: np.ndarray) -> list[dict[str, str | int | float]]:
        """The payload of each row, in the order of the ids."""
        ...

    def search_where(self, vector: np.ndarray, k: int, query: BaseModel, where: Where) -> Hits:
        """The k nearest rows among those whose payload satisfies every condition."""
        ...


@runtime_checkable
class SupportsHybrid(Protocol):
    """A store that fuses its own vector and word search."""

    def search_hybrid(self, text: str, vector: np.ndarray, k: int, query: BaseModel) -> Hits:
        """The k best rows by the store's own fusion, best first."""
        ...


@runtime_checkable
class SupportsBatch(Protocol):
    """A store that searches many vectors in one call."""

    def search_many(self, vectors: np.ndarray, k: int, query: BaseModel) -> list[Hits]:
        """One answer for each vector, in order."""
        ...


@runtime_checkable
class SupportsDrop(Protocol):
    """A store whose collections stay on a server until somebody removes them."""

    def collections(self) -> list[str]:
        """The names, as `create` was given them, of what was made there by any run; none where it is embedded."""
        ...

    def drop(self, collection: str) -> None:
        """Remove a collection; a missing one is not an error."""
        ...


@runtime_checkable
class SupportsVersion(Protocol):
    """A store that can say which engine answers."""

    def engine_version(self) -> str:
        """The engine's name and version, as the engine or its package says it."""
        ...


class CompleteStore(
    Store,
    SupportsVectors,
    SupportsSparse,
    SupportsTokenVectors,
    SupportsKeywords,
    SupportsKeywordsWhere,
    SupportsPayload,
    SupportsHybrid,
    SupportsBatch,
    SupportsReopen,
    SupportsDelete,
    SupportsReplace,
    SupportsDrop,
    SupportsVersion,
    Protocol,
):
    """A store with every ability: the type for code that has checked which of them it may use."""

    max_dims: ClassVar[int]


# --- rerankers and retrievers ---------------------------------------------------------------------


class Reranker(Plugin, Protocol):
    """Orders a few passages again by reading them together with the query."""

    def __init__(self, params: BaseModel) -> None: ...

    def rerank(self, query: str, passages: Sequence[str]) -> np.ndarray:
        """One score for each passage, higher is better."""
        ...

    def close(self) -> None:
        """Give back memory and connections."""
        ...


class Retriever(Plugin, Protocol):
    """A search that exists already: asked with a text, it answers with documents, characters or texts, best first.

    `takes_filters` is whether it searches within a filter. One whose rankings were made elsewhere has the reason why
    it cannot be timed as `untimed: str`. The clock stops when `search` returns: what is not the search itself, such as
    reading fields of the answer, is left to the iteration over the rows.
    """

    takes_filters: bool

    def __init__(self, params: BaseModel) -> None: ...

    def search(self, text: str, k: int, where: Where) -> Iterable[RetrievedRow]:
        """At most the k best rows for a text, best first."""
        ...

    def close(self) -> None:
        """Give back memory and connections."""
        ...


@runtime_checkable
class SupportsQueryIds(Protocol):
    """A retriever whose rankings are kept by the id of the query."""

    def search_id(self, query_id: str, k: int) -> Iterable[RetrievedRow]:
        """At most the k best rows of a query, best first."""
        ...


@runtime_checkable
class SupportsDocuments(Protocol):
    """A retriever that makes its own index of the corpus before the first query."""

    def index(self, documents: Iterable[Document]) -> None:
        """Read every document of the corpus."""
        ...


@runtime_checkable
class SupportsPacing(Protocol):
    """A retriever with a limit on requests; the wait for the next one is not part of a query's time."""

    def pace(self) -> None:
        """Wait until the next request may be sent."""
        ...


# --- executors ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ResourceRequest:
    """What a piece of work asks of its place: cores, a graphics processor where there is one, a process of its own.

    Work that is `spread` goes to different machines where there are some.
    """

    cpus: float = 1.0
    gpu: bool = False
    apart: bool = False
    spread: bool = False


ANYWHERE = ResourceRequest()


class Executor(Plugin, Protocol):
    """Where work runs: this machine, or many."""

    def __init__(self, params: BaseModel) -> None: ...

    @property
    def slots(self) -> int:
        """Pieces of work that run side by side in processes apart now; 0 where all runs in this process."""
        ...

    def start(self) -> str:
        """Be ready for work, and say in a few words who will do it; after `close` it may be started again."""
        ...

    def submit(self, work: Callable[..., T], *args: object, needs: ResourceRequest = ANYWHERE) -> Future[T]:
        """Start one piece of work where its needs are met; work that runs apart is sent, so it must be picklable."""
        ...

    def as_completed(self, futures: Iterable[Future[T]]) -> Iterator[Future[T]]:
        """Futures in the order they end."""
        ...

    def cancel(self, future: Future[T]) -> None:
        """Give up a piece of work, stopped where that is possible; nobody waits for it any more."""
        ...

    def close(self) -> None:
        """Stop the workers."""
        ...
