"""What Qdrant's embedded engine and its server share: settings, filters, and the settings of a search."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, ClassVar, Generic, Literal, Protocol, TypeAlias, TypeVar
from uuid import UUID

from pydantic import Field

from bakeoff.plugins.kit.adapter import GraphBuild, GraphQuery
from bakeoff.plugins.kit.payload import Payload, Term
from bakeoff.plugins.kit.server import ShardSettings
from bakeoff.types import Metric, PayloadField, Storage, VectorKind

if TYPE_CHECKING:  # the server's client has classes of the same shape
    from qdrant_edge import SparseVector, Vector
THRESHOLD_KB = 1  # the minimum: a segment with fewer kilobytes of vectors is never indexed; 0 means no index
SPARSE = "sparse"
"""Name of the sparse vectors, in every collection."""
INDEXES = {"text": "Keyword", "integer": "Integer", "number": "Float"}
"""Index types of payload fields."""
PointId: TypeAlias = int | UUID | str
FilterT = TypeVar("FilterT")
SearchParamsT = TypeVar("SearchParamsT")


class StoredPoint(Protocol):
    """A point of either client."""

    @property
    def id(self) -> PointId: ...
    @property
    def payload(self) -> Payload | None: ...
    @property
    def vector(self) -> Vector | None: ...


class ScoredPoint(StoredPoint, Protocol):
    """A point of either client that a search returned."""

    @property
    def score(self) -> float: ...


class Build(GraphBuild, ShardSettings):
    """Build settings of the graph; a server's collection may be spread over its nodes."""

    wait: Annotated[
        bool, Field(description="server: a write returns when it is applied, not when it is logged")
    ] = True
    write_consistency_factor: Annotated[
        int, Field(ge=1, description="server: replicas that must confirm a write")
    ] = 1


class QdrantQuery(GraphQuery):
    """Search settings."""

    consistency: Annotated[
        Literal["one", "majority", "quorum", "all"],
        Field(description="server: read consistency across the copies of a shard"),
    ] = "one"


@dataclass(frozen=True, slots=True, kw_only=True)
class QdrantShape:
    """The vectors and the payload fields of a collection."""

    dims: int
    metric: Metric
    kind: VectorKind = "dense"
    storage: Storage = "float32"
    fields: tuple[PayloadField, ...] = ()

    @property
    def is_sparse(self) -> bool:
        """Whether the vectors are weights of terms."""
        return self.kind == "sparse"

    def rows_to_index(self, rows: int) -> int:
        """Number of rows that the graph must cover: all, or none if they are too few for an index."""
        small = self.is_sparse or rows * self.dims * 4 <= THRESHOLD_KB * 1024
        return 0 if small else rows


@dataclass(frozen=True, slots=True, kw_only=True)
class QdrantSearch:
    """Settings of one search.

    `candidates` of quantised vectors are rescored by the full ones, 0 for none; None if they are not quantised.
    """

    k: int
    ef: int
    where: tuple[Term, ...] = ()
    candidates: int | None = None
    using: str | None = None
    id_field: str = ""
    consistency: str = "one"


class QdrantWords(ABC, Generic[FilterT, SearchParamsT]):
    """Filters and search settings in the words of a client, whose module is `models`."""

    models: ClassVar[ModuleType]
    request_rows: ClassVar[int]
    """Most rows of dense vectors in one request."""

    def sparse_vector(self, indices: list[int], weights: list[float]) -> SparseVector:
        return self.models.SparseVector(indices=indices, values=weights)

    def _filter(self, where: tuple[Term, ...]) -> FilterT | None:
        """A filter; numbers are compared by bounds, since only texts and integers can be matched."""
        return self.models.Filter(must=[self._condition(term) for term in where]) if where else None

    def _condition(self, term: Term) -> object:
        models, key = self.models, term.field
        if term.sign != "in":
            bound = {"gte" if term.sign == ">=" else "lte": term.values[0]}
            bounds = self._date_range(**bound) if term.kind == "date" else self._float_range(**bound)
            return models.FieldCondition(key=key, range=bounds)
        if term.kind == "number":
            ranges = (self._float_range(gte=value, lte=value) for value in term.values)
            return models.Filter(should=[models.FieldCondition(key=key, range=one) for one in ranges])
        if term.kind == "boolean":
            return models.Filter(should=[self._equal(key, value) for value in term.values])
        return models.FieldCondition(key=key, match=models.MatchAny(any=list(term.values)))

    def _params(self, search: QdrantSearch) -> SearchParamsT:
        candidates = search.candidates or 0
        small = search.candidates is not None and self.models.QuantizationSearchParams(
            rescore=candidates > 0, oversampling=candidates / search.k if candidates > search.k else None
        )
        return self.models.SearchParams(
            hnsw_ef=max(search.ef, search.k, candidates), quantization=small or None
        )

    @abstractmethod
    def _float_range(self, **bounds: float) -> object:
        """A range of numbers."""

    @abstractmethod
    def _date_range(self, **bound: datetime) -> object:
        """A range of dates, from a bound in UTC."""

    @abstractmethod
    def _equal(self, field: str, value: bool) -> object:
        """The condition that a field is true or false."""
