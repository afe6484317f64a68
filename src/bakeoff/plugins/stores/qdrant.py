"""Qdrant: its Rust engine embedded as an edge shard, or a server by URL."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self, cast

import numpy as np
from pydantic import model_validator

from bakeoff.plugins.kit.adapter import Settings, SmallVectors, TunedByEf, guarantee, make_hits
from bakeoff.plugins.kit.encoded import HoldsKind, require_terms, vectors_by_kind
from bakeoff.plugins.kit.existing import (
    READ_ROWS,
    SAMPLED,
    metric_of,
    named_hits,
    named_vectors,
    payload_id,
    sampled_fields,
    the_vector_field,
)
from bakeoff.plugins.kit.payload import VECTORS_ONLY, Payload, PayloadSchemaMixin, in_order, terms
from bakeoff.plugins.kit.server import ServerUrl, given_server, require_server
from bakeoff.plugins.stores._qdrant import SPARSE, Build, QdrantQuery, QdrantSearch, QdrantShape
from bakeoff.plugins.stores._qdrant_edge import QdrantEdge
from bakeoff.protocols import Guarantee
from bakeoff.storage.consent import secret_for
from bakeoff.types import (
    Batch,
    CollectionFacts,
    ExistingCollection,
    Hits,
    Metric,
    NamedHits,
    NamedVectors,
    SparseVector,
    Storage,
    Where,
)

if TYPE_CHECKING:
    from qdrant_edge import NamedVector, Vector

    from bakeoff.plugins.stores._qdrant import PointId, ScoredPoint, StoredPoint
    from bakeoff.plugins.stores._qdrant_server import QdrantServer

METRICS = {Metric.COSINE: "Cosine", Metric.DOT: "Dot", Metric.L2: "Euclid"}
QUANTISED: tuple[Storage, ...] = ("int8", "binary")
"""Storages that the engine keeps in addition to the full vectors."""
ENCODED_ROWS = 256
"""Rows of sparse or token vectors per request."""


class QdrantParams(Settings):
    """Where Qdrant is (QDRANT_URL) and how its index is built; a server's key comes from QDRANT_API_KEY."""

    url: ServerUrl = None
    build: Build = Build()

    @model_validator(mode="after")
    def _spread(self) -> Self:
        require_server("url", self.url, self.build)
        return self


class QdrantStore(HoldsKind, TunedByEf, SmallVectors, PayloadSchemaMixin):
    """Qdrant embedded (an edge shard in the folder), or by URL.

    Its int8 and binary quantisation also keeps the full vectors and rescores by them; float16 replaces them.
    """

    version: ClassVar[str] = "2"
    storages = ("float16", "int8", "binary")
    rescores: ClassVar[tuple[Storage, ...]] = QUANTISED
    Params = QdrantParams
    Query = QdrantQuery
    gaps: ClassVar[dict[str, str]] = {
        **VECTORS_ONLY,
        "dims limit": "the embedded engine names none; a server's is 65,536",
        "clients": "embedded, one process has the folder; a server takes many",
    }

    @classmethod
    def guarantees(cls, params: QdrantParams, query: QdrantQuery) -> tuple[Guarantee, ...]:
        """What a server's writes and searches wait for; embedded there is one copy, written at once."""
        if given_server(params.url, "QDRANT_URL") is None:
            return ()
        return (
            guarantee("consistency", "query.consistency", query),
            guarantee("consistency", "build.write_consistency_factor", params.build),
            guarantee("durability", "build.wait", params.build),
        )

    def __init__(self, params: QdrantParams, home: Path) -> None:
        server = given_server(params.url, "QDRANT_URL")
        self._engine: QdrantEdge | QdrantServer
        if server is not None:
            from bakeoff.plugins.stores._qdrant_server import QdrantServer  # its client is slow to import

            self._engine = QdrantServer(server.url, secret_for("QDRANT_API_KEY", server), params.build)
        else:
            self._engine = QdrantEdge(home, params.build)
        self._shape, self._rows = QdrantShape(dims=0, metric=Metric.COSINE), 0
        self._existing = ExistingCollection("")

    def engine_version(self) -> str:
        return self._engine.version()

    def collections(self) -> list[str]:
        return self._engine.collections()

    def drop(self, collection: str) -> None:
        self._engine.drop(collection)

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._shape, self._rows = self._shape_of(dims, metric), 0
        self._engine.create(collection, self._shape)

    def _shape_of(self, dims: int, metric: Metric) -> QdrantShape:
        return QdrantShape(
            dims=dims, metric=metric, kind=self.kind, storage=self._storage, fields=self.fields
        )

    def insert(self, batch: Batch) -> None:
        self.replace(batch)
        self._rows += len(batch.ids)

    def replace(self, batch: Batch) -> None:
        vectors: Iterator[Vector] = vectors_by_kind(
            "Qdrant", batch, self.kind, SPARSE, self._engine.sparse_vector
        )
        size = self._engine.request_rows if self.kind == "dense" else ENCODED_ROWS
        for begin in range(0, len(batch.ids), size):
            rows = slice(begin, begin + size)
            payloads = batch.payloads[rows] if batch.payloads and self.fields else None
            self._engine.insert(batch.ids[rows].tolist(), list(itertools.islice(vectors, size)), payloads)

    def ready(self) -> None:
        self._engine.ready(self._shape, self._rows)

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._shape = self._shape_of(dims, metric)
        self._rows = self._engine.open(collection, self._shape)
        return self._rows

    def search(self, vector: np.ndarray, k: int, query: QdrantQuery) -> Hits:
        return self._nearest(vector.tolist(), k, query)

    def search_where(self, vector: np.ndarray, k: int, query: QdrantQuery, where: Where) -> Hits:
        return self._nearest(vector.tolist(), k, query, where)

    def search_rescored(
        self, vector: np.ndarray, k: int, query: QdrantQuery, candidates: int, where: Where = ()
    ) -> Hits:
        return self._nearest(vector.tolist(), k, query, where, candidates=candidates)

    def search_sparse(self, vector: SparseVector, k: int, query: QdrantQuery, where: Where = ()) -> Hits:
        require_terms("Qdrant", self._shape.dims, vector)
        if not len(vector.terms):
            return make_hits([], [])
        weights = self._engine.sparse_vector(vector.terms.tolist(), vector.weights.tolist())
        return self._nearest(weights, k, query, where, using=SPARSE)

    def search_tokens(self, tokens: np.ndarray, k: int, query: QdrantQuery, where: Where = ()) -> Hits:
        return self._nearest(tokens.tolist(), k, query, where)

    def search_many(self, vectors: np.ndarray, k: int, query: QdrantQuery) -> list[Hits]:
        found = self._engine.search_many(vectors, self._settings(k, query))
        return [self._hits(points) for points in found]

    def _nearest(
        self,
        vector: NamedVector,
        k: int,
        query: QdrantQuery,
        where: Where = (),
        *,
        candidates: int = 0,
        using: str | None = None,
    ) -> Hits:
        search = self._settings(k, query, where, candidates, using)
        return self._hits(self._engine.search(vector, search))

    def _settings(
        self, k: int, query: QdrantQuery, where: Where = (), candidates: int = 0, using: str | None = None
    ) -> QdrantSearch:
        return QdrantSearch(
            k=k,
            ef=query.ef,
            where=tuple(terms(self.fields, where)),
            candidates=candidates if self._storage in QUANTISED else None,
            using=using,
            consistency=query.consistency,
        )

    def _hits(self, points: Sequence[ScoredPoint]) -> Hits:
        return make_hits([point.id for point in points], self._scores(points))

    def _scores(self, points: Sequence[ScoredPoint]) -> np.ndarray:
        """Scores of points; the engine's Euclidean distance becomes minus its square."""
        scores = np.array([point.score for point in points], np.float64)
        return -(scores**2) if self._shape.metric is Metric.L2 else scores

    def open_existing(self, collection: ExistingCollection, metric: Metric) -> CollectionFacts:
        """Open an existing collection; with several vectors per point, the name of one is required.

        Its payload fields are those of the first points: the engine has a schema of indexed fields only.
        """
        rows, vectors = self._engine.open_existing(collection.name)
        field = the_vector_field("Qdrant", collection.vector_field, list(vectors))
        dims, distance = vectors[field]
        own = metric_of("Qdrant", METRICS, distance)
        self._shape = QdrantShape(dims=dims, metric=own or metric)
        self._existing = replace(collection, vector_field=field)
        first, _ = self._engine.read(SAMPLED, (), None, vector=None)
        found = sampled_fields((point.payload or {} for point in first), dates=True)
        self.adopt({field.name: field for field in found})
        return CollectionFacts(rows, dims, own)

    def search_existing(self, vector: np.ndarray, k: int, query: QdrantQuery, where: Where = ()) -> NamedHits:
        settings = self._settings(k, query, where, using=self._existing.vector_field or None)
        search = replace(settings, id_field=self._existing.id_field)
        points = self._engine.search(vector.tolist(), search)
        return named_hits(map(self._id_of, points), self._scores(points))

    def read_existing(self, where: Where = (), after: object = None) -> NamedVectors:
        name, within = self._existing.vector_field, tuple(terms(self.fields, where))
        points, after = self._engine.read(READ_ROWS, within, cast("PointId | None", after), vector=name)
        vectors = (one.vector.get(name) if isinstance(one.vector, dict) else one.vector for one in points)
        return named_vectors(map(self._id_of, points), vectors, after)

    def _id_of(self, point: StoredPoint) -> object:
        field = self._existing.id_field
        return payload_id("Qdrant", point.payload, field) if field else point.id

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        return in_order(ids, self._engine.payloads(ids.tolist()))

    def delete(self, ids: np.ndarray) -> None:
        self._engine.delete(ids.tolist())

    def close(self) -> None:
        self._engine.close()
