"""What Qdrant's embedded engine and its server share: settings, filters, and the settings of a search."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from bakeoff.plugins.kit.adapter import GraphBuild, GraphQuery
from bakeoff.plugins.kit.payload import Term
from bakeoff.plugins.kit.server import ShardSettings
from bakeoff.types import Metric, PayloadField, Storage, VectorKind

THRESHOLD_KB = 1  # the minimum: a segment with fewer kilobytes of vectors is never indexed; 0 means no index
SPARSE = "sparse"
"""Name of the sparse vectors, in every collection."""
INDEXES = {"text": "Keyword", "integer": "Integer", "number": "Float"}
"""Index types of payload fields."""
Points = list[Any]
"""Points of either client: `id`, `payload`, and `score` or `vector`."""


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

    def rows_to_index(self, rows: int) -> int:
        """Number of rows that the graph must cover: all, or none if they are too few for an index."""
        small = self.kind == "sparse" or rows * self.dims * 4 <= THRESHOLD_KB * 1024
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


class QdrantWords(ABC):
    """Filters and search settings in the words of a client, whose module is `models`."""

    models: ClassVar[Any]
    float_range: ClassVar[Any]
    request_rows: ClassVar[int]
    """Most rows of dense vectors in one request."""
    distances: ClassVar[dict[Metric, Any]]
    maxsim: ClassVar[Any]
    smaller: ClassVar[dict[Storage, dict[str, Any]]]

    def _dense_settings(self, shape: QdrantShape) -> dict[str, Any]:
        """Settings of the vectors, or of the matrices of token vectors."""
        several = self.maxsim if shape.kind == "tokens" else None
        shared = {"size": shape.dims, "distance": self.distances[shape.metric], "multivector_config": several}
        return shared | self.smaller[shape.storage]

    def _filter(self, where: tuple[Term, ...]) -> Any:
        """A filter; numbers are compared by bounds, since only texts and integers can be matched."""
        return self.models.Filter(must=[self._condition(term) for term in where]) if where else None

    def _condition(self, term: Term) -> Any:
        models, key = self.models, term.field
        if term.sign != "in":
            bound = {"gte" if term.sign == ">=" else "lte": term.values[0]}
            bounds = self._date_range(**bound) if term.kind == "date" else self.float_range(**bound)
            return models.FieldCondition(key=key, range=bounds)
        if term.kind == "number":
            ranges = (self.float_range(gte=value, lte=value) for value in term.values)
            return models.Filter(should=[models.FieldCondition(key=key, range=one) for one in ranges])
        if term.kind == "boolean":
            return models.Filter(should=[self._equal(key, value) for value in term.values])
        return models.FieldCondition(key=key, match=models.MatchAny(any=list(term.values)))

    def _params(self, search: QdrantSearch) -> Any:
        candidates = search.candidates or 0
        small = search.candidates is not None and self.models.QuantizationSearchParams(
            rescore=candidates > 0, oversampling=candidates / search.k if candidates > search.k else None
        )
        return self.models.SearchParams(
            hnsw_ef=max(search.ef, search.k, candidates), quantization=small or None
        )

    @abstractmethod
    def _date_range(self, **bound: Any) -> Any:
        """A range of dates, from a bound in UTC."""

    @abstractmethod
    def _equal(self, field: str, value: bool) -> Any:
        """The condition that a field is true or false."""
