"""Weaviate by URL through weaviate-client: searches and batches over gRPC, settings over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
from httpx import HTTPError
from weaviate.exceptions import UnexpectedStatusCodeError, WeaviateBaseError

from bakeoff.plugins.kit.adapter import TunedByEf, expect_rows, guarantee, make_hits
from bakeoff.plugins.kit.client_errors import Reply, reports_client_errors
from bakeoff.plugins.kit.payload import Payload, PayloadSchemaMixin, from_rows
from bakeoff.plugins.kit.server import own_collections, server_of
from bakeoff.plugins.stores._weaviate_client import Connection
from bakeoff.plugins.stores._weaviate_rows import PREFIX, WeaviateRows, filter_of
from bakeoff.plugins.stores._weaviate_schema import WeaviateParams, WeaviateQuery
from bakeoff.protocols import Guarantee
from bakeoff.storage.consent import secret_for
from bakeoff.types import Batch, Hits, Metric, Where


@reports_client_errors
class WeaviateStore(TunedByEf, PayloadSchemaMixin):
    """One collection of a Weaviate server of version 1.27 or later, with whole vectors in its HNSW graph."""

    version: ClassVar[str] = "1"
    engine = "Weaviate"
    client_errors = (WeaviateBaseError, HTTPError, ValueError)
    Params = WeaviateParams
    Query = WeaviateQuery
    max_dims: ClassVar[int] = 65_535
    gaps: ClassVar[dict[str, str]] = {"batch": "its client takes one vector a request"}

    @classmethod
    def guarantees(cls, params: WeaviateParams, query: WeaviateQuery) -> tuple[Guarantee, ...]:
        """How many copies of a shard a search and a write wait for."""
        return (
            guarantee("consistency", "query.consistency_level", query),
            guarantee("consistency", "write_consistency", params),
        )

    def __init__(self, params: WeaviateParams, home: Path) -> None:
        server = server_of("weaviate", "BAKEOFF_WEAVIATE_URL", params.url)
        self._connection = Connection(server.url, secret_for("BAKEOFF_WEAVIATE_KEY", server))
        self.place = self._connection.place
        self._params, self._metric, self._inserted = params, Metric.COSINE, 0

    def reply_of(self, exc: Exception) -> Reply | None:
        return (exc.status_code, exc.error) if isinstance(exc, UnexpectedStatusCodeError) else None

    def _use(self, collection: str, metric: Metric) -> None:
        self._rows = WeaviateRows(self._connection.client(), collection, self._params)
        self._metric = metric

    def engine_version(self) -> str:
        return f"Weaviate {self._connection.client().get_meta()['version']}"

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._use(collection, metric)
        self._rows.create(self._params, metric, self.columns())
        self._inserted = 0

    def collections(self) -> list[str]:
        return own_collections(self._connection.client().collections.list_all(), PREFIX)

    def drop(self, collection: str) -> None:
        self._connection.client().collections.delete(f"{PREFIX}{collection}")

    def insert(self, batch: Batch) -> None:
        self._rows.put(batch, self.columns())
        self._inserted += len(batch.ids)

    def replace(self, batch: Batch) -> None:
        self._rows.put(batch, self.columns())
        self._rows.settle()

    def delete(self, ids: np.ndarray) -> None:
        self._rows.delete(ids)

    def ready(self) -> None:
        """Every shard's vector queue is empty, its graph on disk, and every row counted."""
        self._rows.settle()
        expect_rows("Weaviate", self._rows.count(), self._inserted)

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._use(collection, metric)
        self._rows.check(dims, self._params.build)
        self._inserted = self._rows.count()
        return self._inserted

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        rows, names = self._rows.kept(ids).items(), list(self.columns())
        return from_rows(self, ids, ((number, *map(one.get, names)) for number, one in rows))

    def search(self, vector: np.ndarray, k: int, query: WeaviateQuery) -> Hits:
        return self.search_where(vector, k, query, ())

    def search_where(self, vector: np.ndarray, k: int, query: WeaviateQuery, where: Where) -> Hits:
        self._rows.tune(query.ef)
        ids, far = self._rows.near(vector, k, filter_of(self, where), query.consistency_level)
        top = 1.0 if self._metric is Metric.COSINE else 0.0
        return make_hits(ids, [top - one for one in far])

    def search_text(self, text: str, k: int, query: WeaviateQuery) -> Hits:
        return self.search_text_where(text, k, query, ())

    def search_text_where(self, text: str, k: int, query: WeaviateQuery, where: Where) -> Hits:
        if not text.strip():
            return make_hits([], [])  # the engine refuses a query without words
        return make_hits(*self._rows.with_words(text, k, filter_of(self, where), query.consistency_level))

    def search_hybrid(self, text: str, vector: np.ndarray, k: int, query: WeaviateQuery) -> Hits:
        self._rows.tune(query.ef)
        return make_hits(*self._rows.with_both(text, vector, k, query))

    def close(self) -> None:
        self._connection.close()
