"""Qdrant's Rust engine embedded as an edge shard, and what it shares with a server."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

import numpy as np
import qdrant_edge as edge
from pydantic import Field

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import (
    GraphBuild,
    GraphQuery,
    installed_engine,
    make_hits,
)
from bakeoff.plugins.kit.encoded import HoldsKind, require_terms, vectors_by_kind
from bakeoff.plugins.kit.existing import (
    READ_ROWS,
    SAMPLED,
    metric_of,
    named_hits,
    named_vectors,
    no_such_collection,
    payload_id,
    sampled_fields,
    the_vector_field,
)
from bakeoff.plugins.kit.payload import Payload, PayloadSchemaMixin, Term, in_order, terms
from bakeoff.plugins.kit.server import (
    ShardSettings,
    translate_server_errors,
)
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
    Where,
)

THRESHOLD_KB = 1  # the minimum: a segment with fewer kilobytes of vectors is never indexed; 0 means no index
Distance, Kind = edge.Distance, edge.PayloadSchemaType
DISTANCES = {Metric.COSINE: Distance.Cosine, Metric.DOT: Distance.Dot, Metric.L2: Distance.Euclid}
NAMES = {Metric.COSINE: "Cosine", Metric.DOT: "Dot", Metric.L2: "Euclid"}
SPARSE = "sparse"
"""Name of the sparse vectors, in every collection."""
ENCODED_POINTS = 256
"""Sparse or multi-vector points per request."""
SHARD_SETTINGS = "edge_config.json"
INDEXES = {"text": Kind.Keyword, "integer": Kind.Integer, "number": Kind.Float}
QUANTISED: tuple[Storage, ...] = ("int8", "binary")
"""Storages that the engine keeps in addition to the full vectors."""
SMALLER: dict[Storage, dict[str, Any]] = {
    "float32": {},
    "float16": {"datatype": edge.VectorStorageDatatype.Float16},
    "int8": {"quantization_config": edge.ScalarQuantizationConfig(edge.ScalarType.Int8, always_ram=True)},
    "binary": {"quantization_config": edge.BinaryQuantizationConfig(always_ram=True)},
}
Condition = Any
"""A condition of the edge shard or of the server's client."""
Bound = float | datetime | None


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


class FilterWords(Protocol):
    """How the edge shard or the server's client writes a condition; the bounds of `between` are inclusive."""

    def among(self, field: str, values: list[str] | list[int]) -> Condition: ...
    def equal(self, field: str, value: bool) -> Condition: ...
    def between(self, field: str, least: Bound, most: Bound) -> Condition: ...
    def any(self, conditions: list[Condition]) -> Condition: ...
    def all(self, conditions: list[Condition]) -> Condition: ...


def filter_of(store: PayloadSchemaMixin, where: Where, words: FilterWords) -> Condition:
    """Build a filter; numbers are compared by bounds, since only texts and integers can be matched."""
    return words.all([_condition(term, words) for term in terms(store.fields, where)])


def _condition(term: Term, words: FilterWords) -> Condition:
    if term.sign != "in":
        value = term.values[0]
        return words.between(term.field, *((value, None) if term.sign == ">=" else (None, value)))
    if term.kind == "number":
        return words.any([words.between(term.field, value, value) for value in term.values])
    if term.kind == "boolean":
        return words.any([words.equal(term.field, value) for value in term.values])
    return words.among(term.field, list(term.values))


class EdgeWords:
    """Conditions of the edge shard."""

    def among(self, field: str, values: list[str] | list[int]) -> Condition:
        return edge.FieldCondition(field, match=edge.MatchAny(values))

    def equal(self, field: str, value: bool) -> Condition:
        raise StoreError(
            f"the embedded engine's client reads {value} as a number, so it can't filter {field!r}."
        )

    def between(self, field: str, least: Bound, most: Bound) -> Condition:
        if isinstance(least, datetime) or isinstance(most, datetime):
            ends = [one.isoformat() if isinstance(one, datetime) else None for one in (least, most)]
            return edge.FieldCondition(field, range=edge.RangeDateTime(gte=ends[0], lte=ends[1]))
        return edge.FieldCondition(field, range=edge.RangeFloat(gte=least, lte=most))

    def any(self, conditions: list[Condition]) -> Condition:
        return edge.Filter(should=conditions)

    def all(self, conditions: list[Condition]) -> Condition:
        return edge.Filter(must=conditions)


@translate_server_errors("Qdrant", Exception)  # the binding raises plain exceptions for engine errors
class Edge(HoldsKind, PayloadSchemaMixin):
    """One edge shard per collection; declared payload fields are indexed, so that the graph knows them."""

    storage: Storage = "float32"

    def __init__(self, home: Path, build: Build) -> None:
        self._home, self._build = home, build
        self._folder, self._dims, self._rows, self._metric = home, 0, 0, Metric.COSINE
        self._shard: edge.EdgeShard | None = None
        self._existing = ExistingCollection("")

    def version(self) -> str:
        return installed_engine("qdrant-edge-py")

    def collections(self) -> list[str]:
        return []

    def drop(self, collection: str) -> None:
        """Nothing to do: the folder belongs to one run."""

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self.close()
        self._folder, self._dims, self._rows, self._metric = self._home / collection, dims, 0, metric
        shutil.rmtree(self._folder, ignore_errors=True)
        m, ef_construction = self._build.m, self._build.ef_construction
        graph = edge.HnswIndexConfig(m, ef_construction, full_scan_threshold=THRESHOLD_KB)
        several = edge.MultiVectorConfig(edge.MultiVectorComparator.MaxSim) if self.kind == "tokens" else None
        dense = edge.EdgeVectorParams(
            size=dims, distance=DISTANCES[metric], multivector_config=several, **SMALLER[self.storage]
        )
        config = edge.EdgeConfig(
            vectors=None if self.kind == "sparse" else dense,
            sparse_vectors={SPARSE: edge.EdgeSparseVectorParams()} if self.kind == "sparse" else None,
            hnsw_config=graph,
            optimizers=edge.EdgeOptimizersConfig(indexing_threshold=THRESHOLD_KB),
        )
        self._shard = edge.EdgeShard.create(str(self._folder), config)
        for field in self.fields:
            self._shard.update(edge.UpdateOperation.create_field_index(field.name, INDEXES[field.kind]))

    def insert(self, batch: Batch) -> None:
        self.replace(batch)
        self._rows += len(batch.ids)

    def replace(self, batch: Batch) -> None:
        assert self._shard is not None
        mine = batch.payloads if batch.payloads and self.fields else [{}] * len(batch.ids)
        held: Iterator[Any] = vectors_by_kind("Qdrant", batch, self.kind, SPARSE, edge.SparseVector)
        points = itertools.starmap(edge.Point, zip(batch.ids.tolist(), held, mine, strict=True))
        size = len(batch.ids) if self.kind == "dense" else ENCODED_POINTS
        while some := list(itertools.islice(points, size)):
            self._shard.update(edge.UpdateOperation.upsert_points(some))

    def ready(self) -> None:
        assert self._shard is not None
        self._shard.optimize()
        self._shard.flush()
        self._shard.close()
        self._load()  # completes the files the first time, so that later openings leave them unchanged
        self._assert_indexed()

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._folder, self._dims, self._metric = self._home / collection, dims, metric
        self._rows = self._load()
        zeros = np.zeros((1, dims), np.float32)
        if self.kind == "tokens":
            self.search_tokens(zeros, 1, QdrantQuery(ef=1))
        elif self.kind == "dense":
            self.search(zeros[0], 1, QdrantQuery(ef=1))  # a shard rejects another dimension
        self._assert_indexed()
        return self._rows

    def search(
        self, vector: np.ndarray, k: int, query: QdrantQuery, where: Where = (), candidates: int = 0
    ) -> Hits:
        return self._nearest(edge.Query.Nearest(vector.tolist()), k, query, where, candidates)

    def search_sparse(self, vector: SparseVector, k: int, query: QdrantQuery, where: Where = ()) -> Hits:
        require_terms("Qdrant", self._dims, vector)
        if not len(vector.terms):
            return make_hits([], [])
        asked = edge.SparseVector(vector.terms.tolist(), vector.weights.tolist())
        return self._nearest(edge.Query.Nearest(asked, SPARSE), k, query, where)

    def search_tokens(self, tokens: np.ndarray, k: int, query: QdrantQuery, where: Where = ()) -> Hits:
        return self._nearest(edge.Query.Nearest(tokens.tolist()), k, query, where)

    def _nearest(
        self, nearest: edge.Query, k: int, query: QdrantQuery, where: Where, candidates: int = 0
    ) -> Hits:
        assert self._shard is not None
        among = filter_of(self, where, EdgeWords()) if where else None
        how = self._search_params(k, query, candidates)
        found = self._shard.search(edge.SearchRequest(nearest, k, filter=among, params=how))
        return read_hits(found, self._metric)

    def open_existing(self, collection: ExistingCollection, metric: Metric) -> CollectionFacts:
        """Open an existing shard, in the folder of its name; its metric is in its own settings file."""
        self._folder = self._home / collection.name
        if not self._folder.is_dir():
            known = [one.name for one in self._home.iterdir() if one.is_dir()]
            raise no_such_collection("Qdrant", collection.name, known)
        rows = self._load()
        kept = json.loads((self._folder / SHARD_SETTINGS).read_text(encoding="utf-8"))["vectors"]
        field = the_vector_field("Qdrant", collection.vector_field, list(kept))
        self._existing = replace(collection, vector_field=field)
        held = metric_of("Qdrant", NAMES, kept[field]["distance"])
        self._metric = held or metric
        assert self._shard is not None
        first, _ = self._shard.scroll(edge.ScrollRequest(limit=SAMPLED, with_payload=True))
        self.adopt(adopted_fields(first))
        return CollectionFacts(rows, int(kept[field]["size"]), held)

    def search_existing(self, vector: np.ndarray, k: int, query: QdrantQuery, where: Where = ()) -> NamedHits:
        assert self._shard is not None
        how = edge.SearchParams(hnsw_ef=max(query.ef, k))
        nearest = edge.Query.Nearest(vector.tolist(), using=self._existing.vector_field or None)
        among = filter_of(self, where, EdgeWords()) if where else None
        asked = edge.SearchRequest(nearest, k, filter=among, params=how, with_payload=True)
        return read_named(self._shard.search(asked), self._existing.id_field, self._metric)

    def read_existing(self, where: Where = (), after: object = None) -> NamedVectors:
        assert self._shard is not None
        among = filter_of(self, where, EdgeWords()) if where else None
        page: Any = {"offset": after, "limit": READ_ROWS, "filter": among}
        found, more = self._shard.scroll(edge.ScrollRequest(**page, with_payload=True, with_vector=True))
        return read_vectors(found, self._existing, more)

    def search_many(self, vectors: np.ndarray, k: int, query: QdrantQuery) -> list[Hits]:
        assert self._shard is not None
        how = self._search_params(k, query)
        asked = [edge.QueryRequest(k, query=edge.Query.Nearest(row), params=how) for row in vectors.tolist()]
        answers = self._shard.query_batch(edge.QueryBatchRequest(asked))
        return [read_hits(found, self._metric) for found in answers]

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        assert self._shard is not None
        found: Any = self._shard.retrieve(ids.tolist(), True, False)
        return in_order(ids, {point.id: point.payload for point in found})

    def delete(self, ids: np.ndarray) -> None:
        assert self._shard is not None
        self._shard.update(edge.UpdateOperation.delete_points(ids.tolist()))
        self._shard.flush()

    def close(self) -> None:
        if self._shard is not None:
            self._shard.close()
        self._shard = None

    def _search_params(self, k: int, query: QdrantQuery, candidates: int = 0) -> edge.SearchParams:
        """With `candidates`, the full vectors rescore the quantised ones; without, never."""
        small = edge.QuantizationSearchParams(
            rescore=bool(candidates), oversampling=candidates / k if candidates > k else None
        )
        ef = max(query.ef, k, candidates)
        return edge.SearchParams(hnsw_ef=ef, quantization=small if self.storage in QUANTISED else None)

    def _load(self) -> int:
        self._shard = edge.EdgeShard.load(str(self._folder))
        return int(self._shard.count(edge.CountRequest(exact=True)))

    def _assert_indexed(self) -> None:
        assert self._shard is not None
        state = self._shard.info()
        small = self.kind == "sparse" or self._rows * self._dims * 4 <= THRESHOLD_KB * 1024
        if state.points_count != self._rows or not (small or state.indexed_vectors_count >= self._rows):
            raise StoreError(
                f"Qdrant holds {state.points_count} of {self._rows} rows, {state.indexed_vectors_count} of them "
                "in its HNSW index."
            )


def read_hits(points: Sequence[Any], metric: Metric) -> Hits:
    """Hits from points; the engine's Euclidean distance becomes minus its square."""
    scores = np.array([point.score for point in points], np.float64)
    return make_hits([point.id for point in points], -(scores**2) if metric is Metric.L2 else scores)


def read_named(points: Iterable[Any], field: str, metric: Metric) -> NamedHits:
    """Hits from points, by their own ids or a payload field."""
    rows = [(payload_id("Qdrant", one.payload, field) if field else one.id, one.score) for one in points]
    scores = (-(score**2) if metric is Metric.L2 else score for _, score in rows)
    return named_hits((name for name, _ in rows), scores)


def read_vectors(points: Iterable[Any], existing: ExistingCollection, after: object) -> NamedVectors:
    """Points with their vectors, by their own ids or a payload field."""
    rows, field = list(points), existing.id_field
    ids = [payload_id("Qdrant", one.payload, field) if field else one.id for one in rows]
    named = existing.vector_field
    vectors = [one.vector.get(named) if isinstance(one.vector, dict) else one.vector for one in rows]
    return named_vectors(ids, vectors, after)


def adopted_fields(points: Iterable[Any]) -> dict[str, PayloadField]:
    """Payload fields found in the first points; the engine has a schema of indexed fields only."""
    return {one.name: one for one in sampled_fields((one.payload or {} for one in points), dates=True)}
