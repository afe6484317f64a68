"""A Qdrant server by URL."""

from __future__ import annotations

import time

import numpy as np
from grpc import RpcError
from httpx import HTTPError
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ApiException

from bakeoff.errors import StoreError
from bakeoff.plugins.stores._base import hits, translated
from bakeoff.types import Batch, Hits, Metric

ERRORS = (ApiException, HTTPError, RpcError, OSError, ValueError)
PART = 1000  # rows a request, well under the server's limit of 32 MB
DEADLINE_S = 3600
THRESHOLD_KB = 1
DISTANCES = {
    Metric.COSINE: models.Distance.COSINE,
    Metric.DOT: models.Distance.DOT,
    Metric.L2: models.Distance.EUCLID,
}


class Server:
    """One collection of a server; its optimizers work in the background, so `ready` waits for them."""

    def __init__(self, url: str, key: str | None, *, m: int, ef_construction: int) -> None:
        self._client = QdrantClient(url=url, api_key=key, timeout=60)
        self._m, self._ef_construction = m, ef_construction
        self._name, self._dims, self._rows, self._metric = "", 0, 0, Metric.COSINE

    @translated("Qdrant", *ERRORS)
    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._name, self._dims, self._rows, self._metric = f"bakeoff_{collection}", dims, 0, metric
        self._client.delete_collection(self._name)
        self._client.create_collection(
            self._name,
            vectors_config=models.VectorParams(size=dims, distance=DISTANCES[metric]),
            hnsw_config=models.HnswConfigDiff(m=self._m, ef_construct=self._ef_construction),
            optimizers_config=models.OptimizersConfigDiff(indexing_threshold=THRESHOLD_KB),
        )

    @translated("Qdrant", *ERRORS)
    def insert(self, batch: Batch) -> None:
        assert batch.vectors is not None
        for begin in range(0, len(batch.ids), PART):
            rows = slice(begin, begin + PART)
            points = models.Batch(ids=batch.ids[rows].tolist(), vectors=batch.vectors[rows].tolist())
            self._client.upsert(self._name, points, wait=True)
        self._rows += len(batch.ids)

    @translated("Qdrant", *ERRORS)
    def ready(self) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not self._indexed():
            if time.monotonic() > deadline:
                state = self._client.get_collection(self._name)
                raise StoreError(
                    f"Qdrant has indexed {state.indexed_vectors_count} of {self._rows} rows in an hour."
                )
            time.sleep(0.05)

    @translated("Qdrant", *ERRORS)
    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._name, self._dims, self._metric = f"bakeoff_{collection}", dims, metric
        self._rows = self._client.count(self._name, exact=True).count
        if not self._indexed():
            raise StoreError(f"Qdrant is still indexing {self._name!r}.")
        return self._rows

    @translated("Qdrant", *ERRORS)
    def search(self, vector: np.ndarray, k: int, ef: int) -> Hits:
        asked = models.SearchParams(hnsw_ef=max(ef, k))
        found = self._client.query_points(
            self._name, vector.tolist(), limit=k, search_params=asked, with_payload=False
        )
        scores = np.array([point.score for point in found.points], np.float64)
        return hits(
            [point.id for point in found.points], -(scores**2) if self._metric is Metric.L2 else scores
        )

    @translated("Qdrant", *ERRORS)
    def delete(self, ids: np.ndarray) -> None:
        self._client.delete(self._name, models.PointIdsList(points=ids.tolist()), wait=True)

    def close(self) -> None:
        self._client.close()

    def _indexed(self) -> bool:
        """No optimizer is at work and the graph covers every row (or there is too little to index)."""
        state = self._client.get_collection(self._name)
        small = self._rows * self._dims * 4 <= THRESHOLD_KB * 1024
        covered = small or (state.indexed_vectors_count or 0) >= self._rows
        return state.status == models.CollectionStatus.GREEN and covered
