"""A Qdrant server by URL."""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np
from grpc import RpcError
from httpx import HTTPError
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import expect_dims, make_hits, translate_errors
from bakeoff.plugins.kit.encoded import HoldsKind, require_terms, vectors_by_kind
from bakeoff.plugins.kit.existing import (
    READ_ROWS,
    SAMPLED,
    metric_of,
    no_such_collection,
    the_vector_field,
)
from bakeoff.plugins.kit.http_limits import BoundedTransport
from bakeoff.plugins.kit.payload import Payload, PayloadSchemaMixin, in_order
from bakeoff.plugins.kit.server import PREFIX, expect_spread, own_collections, request_timeout
from bakeoff.plugins.stores._qdrant_edge import (
    ENCODED_POINTS,
    QUANTISED,
    SPARSE,
    Bound,
    Build,
    Condition,
    QdrantQuery,
    adopted_fields,
    filter_of,
    read_hits,
    read_named,
    read_vectors,
)
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


def _key_advice(exc: Exception) -> str:
    """Advice if the server rejects the key; '' for other errors."""
    refused = isinstance(exc, UnexpectedResponse) and exc.status_code in (401, 403)
    return ". Set QDRANT_API_KEY in the environment or .env to a key with this permission." if refused else ""


ENGINE = translate_errors(
    "Qdrant", ApiException, HTTPError, RpcError, OSError, ValueError, advice=_key_advice
)
PART = 1000  # rows per request, well under the server's limit of 32 MB
DEADLINE_S = 3600
THRESHOLD_KB = 1
DISTANCES = {
    Metric.COSINE: models.Distance.COSINE,
    Metric.DOT: models.Distance.DOT,
    Metric.L2: models.Distance.EUCLID,
}
READS: dict[str, object] = {"one": None, **{one.value: one for one in models.ReadConsistencyType}}
"""Read consistency in the client's form; None is the default: the answer of one copy."""
SMALLER: dict[Storage, dict[str, Any]] = {
    "float32": {},
    "float16": {"datatype": models.Datatype.FLOAT16},
    "int8": {
        "quantization_config": models.ScalarQuantization(
            scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
        )
    },
    "binary": {
        "quantization_config": models.BinaryQuantization(
            binary=models.BinaryQuantizationConfig(always_ram=True)
        )
    },
}
INDEXES: dict[str, object] = {"text": "keyword", "integer": "integer", "number": "float"}


def _sparse(terms: list[int], weights: list[float]) -> models.SparseVector:
    return models.SparseVector(indices=terms, values=weights)


class ServerWords:
    """Conditions of the server's client."""

    def among(self, field: str, values: list[str] | list[int]) -> Condition:
        return models.FieldCondition(key=field, match=models.MatchAny(any=values))

    def equal(self, field: str, value: bool) -> Condition:
        return models.FieldCondition(key=field, match=models.MatchValue(value=value))

    def between(self, field: str, least: Bound, most: Bound) -> Condition:
        dated = isinstance(least, datetime) or isinstance(most, datetime)
        bounds: Any = models.DatetimeRange if dated else models.Range
        return models.FieldCondition(key=field, range=bounds(gte=least, lte=most))

    def any(self, conditions: list[Condition]) -> Condition:
        return models.Filter(should=conditions)

    def all(self, conditions: list[Condition]) -> Condition:
        return models.Filter(must=conditions)


class QdrantServer(HoldsKind, PayloadSchemaMixin):
    """One collection of a server; its optimizers work in the background, so `ready` waits for them."""

    storage: Storage = "float32"

    def __init__(self, url: str, key: str | None, build: Build) -> None:
        seconds = request_timeout()
        self._client = QdrantClient(
            url=url, api_key=key, timeout=math.ceil(seconds), check_compatibility=False,
            transport=BoundedTransport(url, seconds),
        )  # fmt: skip
        self._build = build
        self._name, self._dims, self._rows, self._metric = "", 0, 0, Metric.COSINE
        self._existing = ExistingCollection("")

    @ENGINE
    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self.drop(collection)
        self._name, self._dims, self._rows, self._metric = PREFIX + collection, dims, 0, metric
        several = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
        dense = models.VectorParams(
            size=dims,
            distance=DISTANCES[metric],
            multivector_config=several if self.kind == "tokens" else None,
            **SMALLER[self.storage],
        )
        sparse = self.kind == "sparse"
        self._client.create_collection(
            self._name,
            vectors_config={} if sparse else dense,
            sparse_vectors_config={SPARSE: models.SparseVectorParams()} if sparse else None,
            hnsw_config=models.HnswConfigDiff(m=self._build.m, ef_construct=self._build.ef_construction),
            optimizers_config=models.OptimizersConfigDiff(indexing_threshold=THRESHOLD_KB),
            shard_number=self._build.shards,
            replication_factor=self._build.replicas + 1,
            write_consistency_factor=self._build.write_consistency_factor,
        )
        for field in self.fields:
            self._client.create_payload_index(self._name, field.name, INDEXES[field.kind], wait=True)

    @ENGINE
    def collections(self) -> list[str]:
        return own_collections(one.name for one in self._client.get_collections().collections)

    @ENGINE
    def drop(self, collection: str) -> None:
        self._client.delete_collection(PREFIX + collection)

    def insert(self, batch: Batch) -> None:
        self.replace(batch)
        self._rows += len(batch.ids)

    @ENGINE
    def replace(self, batch: Batch) -> None:
        if self.kind != "dense":
            self._upsert_encoded(batch)
            return
        assert batch.vectors is not None
        for begin in range(0, len(batch.ids), PART):
            rows = slice(begin, begin + PART)
            mine = batch.payloads[rows] if batch.payloads and self.fields else None
            points = models.Batch(
                ids=batch.ids[rows].tolist(), vectors=batch.vectors[rows].tolist(), payloads=mine
            )
            self._client.upsert(self._name, points, wait=self._build.wait)

    def _upsert_encoded(self, batch: Batch) -> None:
        mine = batch.payloads if batch.payloads and self.fields else [None] * len(batch.ids)
        rows = zip(
            batch.ids.tolist(),
            vectors_by_kind("Qdrant", batch, self.kind, SPARSE, _sparse),
            mine,
            strict=True,
        )
        points = (models.PointStruct(id=one, vector=vector, payload=held) for one, vector, held in rows)
        while some := list(itertools.islice(points, ENCODED_POINTS)):
            self._client.upsert(self._name, some, wait=self._build.wait)

    @ENGINE
    def ready(self) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not self._is_indexed():
            if time.monotonic() > deadline:
                state = self._client.get_collection(self._name)
                raise StoreError(
                    f"Qdrant has indexed {state.indexed_vectors_count} of {self._rows} rows in an hour."
                )
            time.sleep(0.05)
        self._expect_copies()

    def _expect_copies(self) -> None:
        """Raise unless every shard has the requested copies, all active."""
        told = self._client.collection_cluster_info(self._name)
        states = [(one.shard_id, one.state) for one in (*told.local_shards, *told.remote_shards)]
        active = [shard for shard, state in states if state == models.ReplicaState.ACTIVE]
        copies = min(active.count(shard) for shard in {*active}) if active else 0
        expect_spread("Qdrant", (len({*active}), copies - 1), self._build)

    @ENGINE
    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._name, self._dims, self._metric = PREFIX + collection, dims, metric
        held: Any = self._client.get_collection(self._name).config.params.vectors
        if self.kind != "sparse":
            expect_dims("Qdrant", held.size, dims)
        self._expect_copies()
        self._rows = self._client.count(self._name, exact=True).count
        if not self._is_indexed():
            raise StoreError(f"Qdrant is still indexing {self._name!r}.")
        return self._rows

    def search(
        self, vector: np.ndarray, k: int, query: QdrantQuery, where: Where = (), candidates: int = 0
    ) -> Hits:
        return self._nearest(vector.tolist(), k, query, where, candidates=candidates)

    def search_sparse(self, vector: SparseVector, k: int, query: QdrantQuery, where: Where = ()) -> Hits:
        require_terms("Qdrant", self._dims, vector)
        if not len(vector.terms):
            return make_hits([], [])
        return self._nearest(_sparse(vector.terms.tolist(), vector.weights.tolist()), k, query, where, SPARSE)

    def search_tokens(self, tokens: np.ndarray, k: int, query: QdrantQuery, where: Where = ()) -> Hits:
        return self._nearest(tokens.tolist(), k, query, where)

    @ENGINE
    def _nearest(
        self,
        vector: Any,
        k: int,
        query: QdrantQuery,
        where: Where,
        using: str | None = None,
        candidates: int = 0,
    ) -> Hits:
        among = filter_of(self, where, ServerWords()) if where else None
        how = self._search_params(k, query, candidates)
        asked = {"limit": k, "search_params": how, "query_filter": among, "with_payload": False}
        asked["consistency"] = READS[query.consistency]
        found = self._client.query_points(self._name, vector, using=using, **asked)
        return read_hits(found.points, self._metric)

    @ENGINE
    def open_existing(self, collection: ExistingCollection, metric: Metric) -> CollectionFacts:
        """Open an existing collection; with several vectors per point, the name of one is required."""
        if not self._client.collection_exists(collection.name):
            known = [one.name for one in self._client.get_collections().collections]
            raise no_such_collection("Qdrant", collection.name, known)
        held: Any = self._client.get_collection(collection.name).config.params.vectors
        field = (
            the_vector_field("Qdrant", collection.vector_field, list(held)) if isinstance(held, dict) else ""
        )
        shape = held[field] if field else held
        self._name, self._existing = collection.name, replace(collection, vector_field=field)
        held = metric_of("Qdrant", DISTANCES, shape.distance)
        self._metric = held or metric
        first, _ = self._client.scroll(self._name, limit=SAMPLED, with_payload=True)
        self.adopt(adopted_fields(first))
        rows = self._client.count(self._name, exact=True).count
        return CollectionFacts(rows, shape.size, held)

    @ENGINE
    def search_existing(self, vector: np.ndarray, k: int, query: QdrantQuery, where: Where = ()) -> NamedHits:
        field = self._existing.id_field
        asked = {
            "limit": k,
            "search_params": models.SearchParams(hnsw_ef=max(query.ef, k)),
            "query_filter": filter_of(self, where, ServerWords()) if where else None,
            "with_payload": [field] if field else False,
            "using": self._existing.vector_field or None,
            "consistency": READS[query.consistency],
        }
        found = self._client.query_points(self._name, vector.tolist(), **asked).points
        return read_named(found, field, self._metric)

    @ENGINE
    def read_existing(self, where: Where = (), after: Any = None) -> NamedVectors:
        among = filter_of(self, where, ServerWords()) if where else None
        page = {"scroll_filter": among, "limit": READ_ROWS, "offset": after}
        vectors = [self._existing.vector_field] if self._existing.vector_field else True
        found, more = self._client.scroll(self._name, **page, with_payload=True, with_vectors=vectors)
        return read_vectors(found, self._existing, more)

    @ENGINE
    def search_many(self, vectors: np.ndarray, k: int, query: QdrantQuery) -> list[Hits]:
        how = self._search_params(k, query)
        asked = [models.QueryRequest(query=row, limit=k, params=how) for row in vectors.tolist()]
        found_for = partial(self._client.query_batch_points, self._name, consistency=READS[query.consistency])
        return [read_hits(found.points, self._metric) for found in found_for(asked)]

    @ENGINE
    def payloads(self, ids: np.ndarray) -> list[Payload]:
        found = self._client.retrieve(self._name, ids.tolist(), with_payload=True)
        return in_order(ids, {int(point.id): point.payload or {} for point in found})

    @ENGINE
    def delete(self, ids: np.ndarray) -> None:
        self._client.delete(self._name, models.PointIdsList(points=ids.tolist()), wait=True)

    def close(self) -> None:
        self._client.close()

    @ENGINE
    def version(self) -> str:
        """The server's version."""
        return f"Qdrant {self._client.info().version} (server)"

    def _search_params(self, k: int, query: QdrantQuery, candidates: int = 0) -> models.SearchParams:
        """With `candidates`, the full vectors rescore the quantised ones; without, never."""
        small = models.QuantizationSearchParams(
            rescore=bool(candidates), oversampling=candidates / k if candidates > k else None
        )
        ef = max(query.ef, k, candidates)
        return models.SearchParams(hnsw_ef=ef, quantization=small if self.storage in QUANTISED else None)

    def _is_indexed(self) -> bool:
        """Whether no optimizer is running and the graph covers every row (or there is too little to index)."""
        state = self._client.get_collection(self._name)
        small = self.kind == "sparse" or self._rows * self._dims * 4 <= THRESHOLD_KB * 1024
        covered = small or (state.indexed_vectors_count or 0) >= self._rows
        return state.status == models.CollectionStatus.GREEN and covered and self._are_writes_applied()

    def _are_writes_applied(self) -> bool:
        """Whether every write is applied; if writes don't wait for that, count the rows."""
        return self._build.wait or self._client.count(self._name, exact=True).count >= self._rows
