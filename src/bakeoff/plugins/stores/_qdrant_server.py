"""A Qdrant server by URL."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import Any

import numpy as np
from grpc import RpcError
from httpx import HTTPError
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ApiException

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import expect_dims, make_hits, translate_errors
from bakeoff.plugins.kit.http_limits import BoundedTransport
from bakeoff.plugins.kit.payload import Payload, PayloadSchemaMixin, in_order
from bakeoff.plugins.kit.server import PREFIX, expect_spread, own_collections, request_timeout
from bakeoff.plugins.stores.qdrant import Build, Condition, QdrantQuery, filter_of
from bakeoff.types import Batch, Hits, Metric, Where

ENGINE = translate_errors("Qdrant", ApiException, HTTPError, RpcError, OSError, ValueError)
PART = 1000  # rows a request, well under the server's limit of 32 MB
DEADLINE_S = 3600
THRESHOLD_KB = 1
DISTANCES = {
    Metric.COSINE: models.Distance.COSINE,
    Metric.DOT: models.Distance.DOT,
    Metric.L2: models.Distance.EUCLID,
}
READS: dict[str, Any] = {"one": None, **{one.value: one for one in models.ReadConsistencyType}}
"""A read consistency as the client takes it; None is the engine's own: the answer of one copy."""
INDEXES: dict[str, Any] = {"text": "keyword", "integer": "integer", "number": "float"}


class ServerWords:
    """Conditions as the client takes them."""

    def among(self, field: str, values: list[str] | list[int]) -> Condition:
        return models.FieldCondition(key=field, match=models.MatchAny(any=values))

    def between(self, field: str, least: float | None, most: float | None) -> Condition:
        return models.FieldCondition(key=field, range=models.Range(gte=least, lte=most))

    def any(self, conditions: list[Condition]) -> Condition:
        return models.Filter(should=conditions)

    def all(self, conditions: list[Condition]) -> Condition:
        return models.Filter(must=conditions)


class QdrantServer(PayloadSchemaMixin):
    """One collection of a server; its optimizers work in the background, so `ready` waits for them."""

    def __init__(self, url: str, key: str | None, build: Build) -> None:
        seconds = request_timeout()
        self._client = QdrantClient(
            url=url, api_key=key, timeout=math.ceil(seconds), check_compatibility=False,
            transport=BoundedTransport(url, seconds),
        )  # fmt: skip
        self._build = build
        self._name, self._dims, self._rows, self._metric = "", 0, 0, Metric.COSINE

    @ENGINE
    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self.drop(collection)
        self._name, self._dims, self._rows, self._metric = PREFIX + collection, dims, 0, metric
        self._client.create_collection(
            self._name,
            vectors_config=models.VectorParams(size=dims, distance=DISTANCES[metric]),
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
        assert batch.vectors is not None
        for begin in range(0, len(batch.ids), PART):
            rows = slice(begin, begin + PART)
            mine = batch.payloads[rows] if batch.payloads and self.fields else None
            points = models.Batch(
                ids=batch.ids[rows].tolist(), vectors=batch.vectors[rows].tolist(), payloads=mine
            )
            self._client.upsert(self._name, points, wait=self._build.wait)

    @ENGINE
    def ready(self) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not self._indexed():
            if time.monotonic() > deadline:
                state = self._client.get_collection(self._name)
                raise StoreError(
                    f"Qdrant has indexed {state.indexed_vectors_count} of {self._rows} rows in an hour."
                )
            time.sleep(0.05)
        self._expect_copies()

    def _expect_copies(self) -> None:
        """Every shard has the copies that were asked for, each of them active."""
        told = self._client.collection_cluster_info(self._name)
        states = [(one.shard_id, one.state) for one in (*told.local_shards, *told.remote_shards)]
        active = [shard for shard, state in states if state == models.ReplicaState.ACTIVE]
        copies = min(active.count(shard) for shard in {*active}) if active else 0
        expect_spread("Qdrant", (len({*active}), copies - 1), self._build)

    @ENGINE
    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._name, self._dims, self._metric = PREFIX + collection, dims, metric
        held: Any = self._client.get_collection(self._name).config.params.vectors
        expect_dims("Qdrant", held.size, dims)
        self._expect_copies()
        self._rows = self._client.count(self._name, exact=True).count
        if not self._indexed():
            raise StoreError(f"Qdrant is still indexing {self._name!r}.")
        return self._rows

    @ENGINE
    def search(self, vector: np.ndarray, k: int, query: QdrantQuery, where: Where = ()) -> Hits:
        among = filter_of(self, where, ServerWords()) if where else None
        how = models.SearchParams(hnsw_ef=max(query.ef, k))
        asked = {"limit": k, "search_params": how, "query_filter": among, "with_payload": False}
        asked["consistency"] = READS[query.consistency]
        return self._answer(self._client.query_points(self._name, vector.tolist(), **asked))

    @ENGINE
    def search_many(self, vectors: np.ndarray, k: int, query: QdrantQuery) -> list[Hits]:
        how = models.SearchParams(hnsw_ef=max(query.ef, k))
        asked = [models.QueryRequest(query=row, limit=k, params=how) for row in vectors.tolist()]
        found_for = partial(self._client.query_batch_points, self._name, consistency=READS[query.consistency])
        return [self._answer(found) for found in found_for(asked)]

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

    def _answer(self, found: Any) -> Hits:
        scores = np.array([point.score for point in found.points], np.float64)
        squared = -(scores**2) if self._metric is Metric.L2 else scores
        return make_hits([point.id for point in found.points], squared)

    def _indexed(self) -> bool:
        """No optimizer is at work and the graph covers every row (or there is too little to index)."""
        state = self._client.get_collection(self._name)
        small = self._rows * self._dims * 4 <= THRESHOLD_KB * 1024
        covered = small or (state.indexed_vectors_count or 0) >= self._rows
        return state.status == models.CollectionStatus.GREEN and covered and self._applied()

    def _applied(self) -> bool:
        """Every write is applied; where writes do not wait for it, the rows are counted."""
        return self._build.wait or self._client.count(self._name, exact=True).count >= self._rows
