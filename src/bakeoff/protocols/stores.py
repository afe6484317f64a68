"""Protocols of stores, and of what a store may be able to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, runtime_checkable

from bakeoff.protocols.plugin import Plugin
from bakeoff.types import (
    Batch,
    CollectionFacts,
    ExistingCollection,
    Hits,
    Metric,
    NamedHits,
    NamedVectors,
    PayloadField,
    SparseVector,
    Storage,
    VectorKind,
    Where,
)

if TYPE_CHECKING:
    import numpy as np
    from pydantic import BaseModel


class Store(Plugin, Protocol):
    """A vector database; `home` is its own folder for data on disk.

    `Params` configures the index and the engine's address; `Query` configures a search: one index serves
    many. What a store can't do is declared in `gaps: ClassVar[dict[str, str]]`, ability to reason. An engine
    with a maximum vector length declares it as `max_dims`.
    """

    Query: ClassVar[type[BaseModel]]

    def __init__(self, params: BaseModel, home: Path) -> None: ...

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        """Create an empty collection, replacing one of that name."""

    def insert(self, batch: Batch) -> None:
        """Add rows with new ids."""

    def ready(self) -> None:
        """Return when every inserted row is searchable through the requested index, or raise StoreError."""

    def close(self) -> None:
        """Release files, memory and connections; persistent data stays."""


@dataclass(frozen=True, slots=True)
class SearchKnob:
    """The integer in a store's Query that trades speed for recall.

    `name` is its field in Query, `low` and `high` are its bounds, and `recall` says whether recall rises or
    falls with the value. A knob that `counts_rows` is a number of candidate rows: at least k, at most the
    number of rows. `sweep` lists the values of a sweep; by default `low` doubled (or `high` halved) five
    times.
    """

    name: str
    low: int = 1
    high: int = 8192
    recall: Literal["rises", "falls"] = "rises"
    counts_rows: bool = False
    sweep: tuple[int, ...] = ()

    def bounds(self, k: int, rows: int) -> tuple[int, int]:
        """Smallest and largest useful value for a search for k among some rows."""
        if not self.counts_rows:
            return self.low, self.high
        low = max(self.low, k)
        return low, max(low, min(self.high, rows))

    def grid(self, k: int) -> tuple[int, ...]:
        """The values of a sweep, from low to high effort."""
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
    """A store that names its search knob; others are measured as they are."""

    @classmethod
    def search_knob(cls, params: BaseModel) -> SearchKnob | None:
        """The knob of an index built with these Params; None if there is none, as for exact search."""


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A setting that trades speed for a guarantee about reads or writes.

    `name` is its path in Params or Query, `value` what this run uses, and `default` the engine's own. `kind`
    is consistency (which writes a search sees), durability (which writes survive a crash), or refresh (when a
    written row can be found).
    """

    name: str
    kind: Literal["consistency", "durability", "refresh"]
    value: str
    default: str

    @property
    def text(self) -> str:
        """The setting as printed, with the engine's default if it differs."""
        own = "" if self.value == self.default else f" (engine's default: {self.default})"
        return f"{self.kind}: {self.name} = {self.value}{own}"


@runtime_checkable
class SupportsGuarantees(Protocol):
    """A store whose engine has such settings; reports show them next to the latency."""

    @classmethod
    def guarantees(cls, params: BaseModel, query: BaseModel) -> tuple[Guarantee, ...]:
        """The settings in force with these Params and this Query; empty if the engine has none."""


def declared_guarantees(plugin: type, params: BaseModel, query: BaseModel) -> tuple[Guarantee, ...]:
    """A store's declared guarantees; empty if it declares none."""
    return plugin.guarantees(params, query) if issubclass(plugin, SupportsGuarantees) else ()


@runtime_checkable
class SupportsVectors(Protocol):
    """A store that searches by vector."""

    def search(self, vector: np.ndarray, k: int, query: BaseModel) -> Hits:
        """Return the k nearest rows, nearest first; `query` is an instance of the store's Query."""


@runtime_checkable
class SupportsSparse(Protocol):
    """A store that searches sparse vectors by inner product.

    An engine that stores weights with less precision than float32 declares the largest relative error as
    `weight_error`.
    """

    def hold(self, kind: VectorKind) -> None:
        """Declare the kind of rows, before `create` or `open`; by default dense vectors or texts."""

    def search_sparse(self, vector: SparseVector, k: int, query: BaseModel, where: Where = ()) -> Hits:
        """Return the k rows with the largest inner product, within a filter, best first; rows that share no
        term are left out."""


@runtime_checkable
class SupportsStorage(Protocol):
    """A store whose index can keep vectors in smaller number formats than float32, declared as `storages:
    ClassVar[tuple[Storage, ...]]`."""

    def set_storage(self, storage: Storage) -> None:
        """Choose the number format, before `create` or `open`; by default float32."""


def store_storages(plugin: type) -> tuple[Storage, ...]:
    """Number formats in which a store's index can keep vectors."""
    return ("float32", *getattr(plugin, "storages", ()))


@runtime_checkable
class SupportsRescore(Protocol):
    """A store that rescores candidates from its small vectors by the full ones, which it also keeps.

    The storages for which it does so are its `rescores: ClassVar[tuple[Storage, ...]]`.
    """

    def search_rescored(
        self, vector: np.ndarray, k: int, query: BaseModel, candidates: int, where: Where = ()
    ) -> Hits:
        """Return the k nearest by the full vectors among the nearest candidates by the small ones."""


@runtime_checkable
class SupportsTokenVectors(Protocol):
    """A store that searches by MaxSim: the sum, over the query's tokens, of the largest inner product with a
    token."""

    def hold(self, kind: VectorKind) -> None:
        """Declare the kind of rows, before `create` or `open`."""

    def search_tokens(self, tokens: np.ndarray, k: int, query: BaseModel, where: Where = ()) -> Hits:
        """Return the k best rows by MaxSim, within a filter, best first; `tokens` is the query's tokens × dims."""


HOLDS: dict[VectorKind, type] = {
    "dense": SupportsVectors,
    "sparse": SupportsSparse,
    "tokens": SupportsTokenVectors,
}
"""The protocol a store must satisfy for each kind of vectors."""


@runtime_checkable
class SupportsKeywords(Protocol):
    """A store that searches by words."""

    def search_text(self, text: str, k: int, query: BaseModel) -> Hits:
        """Return the k best rows for the words of a text, best first."""


@runtime_checkable
class SupportsKeywordsWhere(Protocol):
    """A store that searches by words among the rows whose payload satisfies a filter."""

    def declare(self, fields: tuple[PayloadField, ...]) -> None:
        """Declare the payload's fields, before `create` or `open`."""

    def search_text_where(self, text: str, k: int, query: BaseModel, where: Where) -> Hits:
        """Return the k best rows among those that satisfy every condition; a filter does not change a row's
        score."""


@runtime_checkable
class SupportsReopen(Protocol):
    """A store whose collection outlives the process."""

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        """Open an existing collection and return its row count; raises StoreError if it is missing."""


@runtime_checkable
class SupportsExisting(Protocol):
    """A store that can search an existing collection without writing to it."""

    def open_existing(self, collection: ExistingCollection, metric: Metric) -> CollectionFacts:
        """Open it and describe its contents; raises StoreError if it is missing.

        `metric` is the experiment's, for an engine that chooses the metric per search.
        """

    def search_existing(self, vector: np.ndarray, k: int, query: BaseModel, where: Where = ()) -> NamedHits:
        """Return the k nearest rows within a filter on its own payload fields, nearest first, by their own ids."""

    def read_existing(self, where: Where = (), after: object = None) -> NamedVectors:
        """Return the next rows within a filter with their vectors; raises StoreError if the engine does not
        return them."""


@runtime_checkable
class SupportsDelete(Protocol):
    """A store that can remove rows."""

    def delete(self, ids: np.ndarray) -> None:
        """Remove rows by id."""


@runtime_checkable
class SupportsReplace(Protocol):
    """A store that can overwrite rows."""

    def replace(self, batch: Batch) -> None:
        """Replace rows with the same ids; searches see only the new ones."""


@runtime_checkable
class SupportsPayload(Protocol):
    """A store that keeps a payload per row, and searches among the rows that satisfy a filter."""

    def declare(self, fields: tuple[PayloadField, ...]) -> None:
        """Declare the payload's fields, before `create` or `open`; without it a collection has no payload."""

    def payloads(self, ids: np.ndarray) -> list[dict[str, str | int | float]]:
        """The payload of each row, in the order of the ids."""

    def search_where(self, vector: np.ndarray, k: int, query: BaseModel, where: Where) -> Hits:
        """Return the k nearest rows among those whose payload satisfies every condition."""


@runtime_checkable
class SupportsHybrid(Protocol):
    """A store that fuses its own vector and word search."""

    def search_hybrid(self, text: str, vector: np.ndarray, k: int, query: BaseModel) -> Hits:
        """The k best rows by the store's own fusion, best first."""


@runtime_checkable
class SupportsBatch(Protocol):
    """A store that searches many vectors in one call."""

    def search_many(self, vectors: np.ndarray, k: int, query: BaseModel) -> list[Hits]:
        """Return one answer per vector, in order."""


@runtime_checkable
class SupportsDrop(Protocol):
    """A store whose collections stay on a server until they are dropped."""

    def collections(self) -> list[str]:
        """Names, as passed to `create`, of the collections made by any run; empty if the store is embedded."""

    def drop(self, collection: str) -> None:
        """Remove a collection; a missing one is not an error."""


@runtime_checkable
class SupportsVersion(Protocol):
    """A store that reports its engine's version."""

    def engine_version(self) -> str:
        """The engine's name and version, as the engine or its package reports it."""


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
