"""What a plug-in is: a class, its parameters a pydantic model, its abilities declared by having the methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, runtime_checkable

from bakeoff.types import (
    Batch,
    Document,
    Hits,
    Metric,
    ModelInfo,
    PayloadField,
    Piece,
    ReadLimits,
    Role,
    Skipped,
    SourceItem,
    Where,
)

if TYPE_CHECKING:
    import numpy as np
    from pydantic import BaseModel


class Plugin(Protocol):
    """Common to all kinds: a code version for the cache key, and parameters for the YAML check and the help."""

    version: ClassVar[str]
    Params: ClassVar[type[BaseModel]]


class Source(Plugin, Protocol):
    """Where documents come from."""

    def items(self) -> Iterable[SourceItem | Skipped]:
        """What there is, in a stable order, without parsing it."""
        ...

    def read(self, item: SourceItem) -> Document | Skipped:
        """The text of one item."""
        ...


@runtime_checkable
class SupportsReadLimits(Source, Protocol):
    """A source that reads files of unknown origin: its items are read in processes with these limits."""

    def read_limits(self) -> ReadLimits:
        """What one item may cost."""
        ...

    def needs_limits(self, item: SourceItem) -> bool:
        """Whether an item could reach them; one that is small and not packed is read without a process."""
        ...


@runtime_checkable
class SupportsReadsFrom(Protocol):
    """A source of files, which tells whether files that a command writes to a folder would become documents."""

    def reads_from(self, folder: Path) -> bool:
        """Whether files that are put into this folder would be read."""
        ...


class Chunker(Plugin, Protocol):
    """Cuts one document into character spans that together cover every non-blank character."""

    def chunk(self, document: Document) -> Iterable[Piece]:
        """The pieces of a document in order of their start."""
        ...


class Embedder(Plugin, Protocol):
    """Turns texts into vectors."""

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


@runtime_checkable
class SupportsTokens(Protocol):
    """An embedder that can say how long a text is for its model."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text before any cut."""
        ...


class Store(Plugin, Protocol):
    """A vector database; `home` is a folder of its own for what it keeps on disk.

    `Params` shapes the index and says where the engine is; `Query` shapes a search: one index serves many. What a
    store cannot do it says in `gaps: ClassVar[dict[str, str]]`, ability to reason. An engine with a longest vector
    has it as `max_dims`.
    """

    Query: ClassVar[type[BaseModel]]

    def __init__(self, params: Any, home: Path) -> None: ...

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
    def search_knob(cls, params: Any) -> SearchKnob | None:
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
    def guarantees(cls, params: Any, query: Any) -> tuple[Guarantee, ...]:
        """The settings in force with these Params and this Query; none where the engine has none to choose."""
        ...


def declared_guarantees(plugin: type, params: Any, query: Any) -> tuple[Guarantee, ...]:
    """What a store declares about its settings; nothing where it declares none."""
    return plugin.guarantees(params, query) if issubclass(plugin, SupportsGuarantees) else ()


@runtime_checkable
class SupportsVectors(Protocol):
    """A store that searches by vector."""

    def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
        """The k nearest rows, nearest first; `query` is an instance of the store's Query."""
        ...


@runtime_checkable
class SupportsKeywords(Protocol):
    """A store that searches by words."""

    def search_text(self, text: str, k: int, query: Any) -> Hits:
        """The k best rows for the words of a text, best first."""
        ...


@runtime_checkable
class SupportsKeywordsWhere(Protocol):
    """A store that searches by words among the rows whose payload satisfies a filter."""

    def declare(self, fields: tuple[PayloadField, ...]) -> None:
        """Name the payload's fields, before `create` or `open`."""
        ...

    def search_text_where(self, text: str, k: int, query: Any, where: Where) -> Hits:
        """The k best rows among those that satisfy every condition; a filter does not change a row's score."""
        ...


@runtime_checkable
class SupportsReopen(Protocol):
    """A store whose collection outlives the process."""

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        """Open an existing collection and return its row count; raise StoreError where it is not there."""
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
    """A store that keeps what belongs to a row beside its vector, and searches among the rows that satisfy it."""

    def declare(self, fields: tuple[PayloadField, ...]) -> None:
        """Name the payload's fields, before `create` or `open`; without it a collection has no payload."""
        ...

    def payloads(self, ids: np.ndarray) -> list[dict[str, str | int | float]]:
        """The payload of each row, in the order of the ids."""
        ...

    def search_where(self, vector: np.ndarray, k: int, query: Any, where: Where) -> Hits:
        """The k nearest rows among those whose payload satisfies every condition."""
        ...


@runtime_checkable
class SupportsHybrid(Protocol):
    """A store that fuses its own vector and word search."""

    def search_hybrid(self, text: str, vector: np.ndarray, k: int, query: Any) -> Hits:
        """The k best rows by the store's own fusion, best first."""
        ...


@runtime_checkable
class SupportsBatch(Protocol):
    """A store that searches many vectors in one call."""

    def search_many(self, vectors: np.ndarray, k: int, query: Any) -> list[Hits]:
        """One answer for each vector, in order."""
        ...


@runtime_checkable
class SupportsDrop(Protocol):
    """A store whose collections stay on a server until somebody removes them."""

    def collections(self) -> list[str]:
        """The names, as `create` was given them, of what was made there by any run; none where it is embedded."""
        ...

    def drop(self, collection: str) -> None:
        """Remove a collection; one that is not there is no fault."""
        ...


@runtime_checkable
class SupportsVersion(Protocol):
    """A store that can say which engine answers."""

    def engine_version(self) -> str:
        """The engine's name and version, as the engine or its package says it."""
        ...


class Reranker(Plugin, Protocol):
    """Orders a few passages again with a closer look."""

    def rerank(self, query: str, passages: Sequence[str]) -> np.ndarray:
        """One score for each passage, higher is better."""
        ...

    def close(self) -> None:
        """Give back memory and connections."""
        ...


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

    @property
    def slots(self) -> int:
        """Pieces of work that run side by side in processes apart now; 0 where all runs in this process."""
        ...

    def start(self) -> str:
        """Be ready for work, and say in a few words who will do it; after `close` it may be started again."""
        ...

    def submit(self, work: Callable[..., Any], *args: Any, needs: ResourceRequest = ANYWHERE) -> Future[Any]:
        """Start one piece of work where its needs are met; work that runs apart is sent, so it must be picklable."""
        ...

    def as_completed(self, futures: Iterable[Future[Any]]) -> Iterator[Future[Any]]:
        """Futures in the order they end."""
        ...

    def cancel(self, future: Future[Any]) -> None:
        """Give up a piece of work, stopped where that is possible; nobody waits for it any more."""
        ...

    def close(self) -> None:
        """Stop the workers."""
        ...
