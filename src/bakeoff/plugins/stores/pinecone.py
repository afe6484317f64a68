"""Pinecone, a hosted service, through its own client; tested on a loopback service, not on Pinecone itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, ClassVar, TypeVar

import numpy as np
from httpx import HTTPError
from pinecone import Index, Pinecone, ServerlessSpec
from pinecone.errors import ApiError, NotFoundError, PineconeError
from pydantic import AfterValidator, Field

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import NoQuery, Settings, expect_dims, make_hits
from bakeoff.plugins.kit.bounded_pool import endpoint_of
from bakeoff.plugins.kit.client_errors import Reply, reports_client_errors
from bakeoff.plugins.kit.http_limits import BoundedTransport
from bakeoff.plugins.kit.payload import VECTORS_ONLY, Payload, PayloadSchemaMixin, from_rows, terms
from bakeoff.plugins.kit.rest import wait_until
from bakeoff.plugins.kit.server import own_collections, request_timeout, without_secret
from bakeoff.storage.consent import Destination, secret_for
from bakeoff.storage.environment import SettingSource
from bakeoff.types import Batch, Hits, Metric, Where

DEADLINE_S = 600
PREFIX = "bakeoff-"
NAME = 45  # characters allowed in an index name: a collection's name is truncated to fit
PART = 100  # rows per request: at most 1,000 and 2 MB are accepted
KEY = "BAKEOFF_PINECONE_KEY"
METRICS = {Metric.COSINE: "cosine", Metric.DOT: "dotproduct", Metric.L2: "euclidean"}
SIGNS = {"in": "$in", ">=": "$gte", "<=": "$lte"}
C = TypeVar("C", Pinecone, Index)


def index_name(collection: str) -> str:
    """The name of a collection's index."""
    return f"{PREFIX}{collection}".lower().replace("_", "-")[:NAME].rstrip("-")


def bounded(client: C, url: str) -> C:
    """A client with our limits that sends each request once: a hidden retry would be timed as one search."""
    client._http._client._transport = BoundedTransport(url, request_timeout())
    return client


def parts(ids: np.ndarray) -> Iterator[list[str]]:
    """Ids in Pinecone's form, in request-sized parts."""
    for begin in range(0, len(ids), PART):
        yield [str(number) for number in ids[begin : begin + PART].tolist()]


class PineconeParams(Settings):
    """Where serverless indexes are made; the key comes from BAKEOFF_PINECONE_KEY."""

    url: Annotated[str, AfterValidator(without_secret), Field(description="the control plane")] = (
        "https://api.pinecone.io"
    )
    cloud: Annotated[str, Field(description="aws, gcp or azure")] = "aws"
    region: Annotated[str, Field(description="of the cloud")] = "us-east-1"


@reports_client_errors
class PineconeStore(PayloadSchemaMixin):
    """A serverless index per collection; not tested on the service itself."""

    version: ClassVar[str] = "1"
    engine = "Pinecone"
    client_errors = (PineconeError, HTTPError)
    Params = PineconeParams
    Query = NoQuery
    max_dims: ClassVar[int] = 20_000
    gaps: ClassVar[dict[str, str]] = VECTORS_ONLY | {
        "storage": "the service chooses how it keeps vectors",
        "replace": "what is written over shows some seconds later, and nothing says when",
        "batch": "its client takes one vector a request",
        "long payloads": "a row's payload has at most 40 kB",
    }

    def __init__(self, params: PineconeParams, home: Path) -> None:
        key = secret_for(KEY, Destination(params.url, SettingSource.EXPERIMENT))
        if not key:
            raise StoreError("Pinecone needs a key: set BAKEOFF_PINECONE_KEY in the environment or in .env.")
        self.place = endpoint_of("Pinecone", params.url).place
        client = Pinecone(api_key=key, host=params.url, timeout=request_timeout())
        self._params, self._client = params, bounded(client, params.url)
        self._index: Index | None = None
        self._inserted, self._metric = 0, Metric.COSINE

    def reply_of(self, exc: Exception) -> Reply | None:
        return (exc.status_code, exc.body or exc.message) if isinstance(exc, ApiError) else None

    def _use(self, host: str | None, metric: Metric) -> None:
        if not host:
            raise StoreError("Pinecone: the index has no host yet. Try again when it is ready.")
        self._close_index()
        self._index, self._metric = bounded(self._client.index(host=host), host), metric

    @property
    def _rows(self) -> Index:
        if self._index is None:
            raise StoreError("Pinecone: no collection is open. Create or open one first.")
        return self._index

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self.drop(collection)
        index = self._client.indexes.create(
            name=index_name(collection),
            dimension=dims,
            metric=METRICS[metric],
            spec=ServerlessSpec(cloud=self._params.cloud, region=self._params.region),
            deletion_protection="disabled",
            timeout=DEADLINE_S,
        )
        self._use(index.host, metric)
        self._inserted = 0

    def collections(self) -> list[str]:
        return own_collections((one.name for one in self._client.indexes.list()), PREFIX)

    def drop(self, collection: str) -> None:
        try:
            self._client.indexes.delete(index_name(collection), timeout=DEADLINE_S)
        except NotFoundError:
            return

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        found = self._client.indexes.describe(index_name(collection))
        expect_dims("Pinecone", found.dimension or 0, dims)
        self._use(found.host, metric)
        self._inserted = self._count()
        return self._inserted

    def insert(self, batch: Batch) -> None:
        assert batch.vectors is not None
        vectors = np.asarray(batch.vectors, np.float32).tolist()
        rows: list[dict[str, object]] = [
            {"id": str(number), "values": vectors[i]} for i, number in enumerate(batch.ids.tolist())
        ]
        for row, payload in zip(rows, batch.payloads or (), strict=False):
            row["metadata"] = {column: payload[field.name] for column, field in self.columns().items()}
        for begin in range(0, len(rows), PART):
            self._rows.upsert(vectors=rows[begin : begin + PART])
        self._inserted += len(rows)

    def ready(self) -> None:
        """Wait until the index counts every row: writes show some seconds later."""
        self._await_count(self._inserted)

    def delete(self, ids: np.ndarray) -> None:
        left = self._count() - len(ids)
        for part in parts(ids):
            self._rows.delete(ids=part)
        self._await_count(left)

    def _count(self) -> int:
        return self._rows.describe_index_stats().total_vector_count

    def _await_count(self, rows: int) -> None:
        wait_until("Pinecone", f"it counts {rows} rows", lambda: self._count() == rows, DEADLINE_S)

    def search(self, vector: np.ndarray, k: int, query: NoQuery) -> Hits:
        return self.search_where(vector, k, query, ())

    def search_where(self, vector: np.ndarray, k: int, query: NoQuery, where: Where) -> Hits:
        clauses = self._clauses(where)
        condition = {"$and": clauses} if clauses else None
        found = self._rows.query(vector=vector.astype(np.float32).tolist(), top_k=k, filter=condition).matches
        scores = np.array([one.score for one in found], np.float64)
        # euclidean: the squared distance
        return make_hits([int(one.id) for one in found], -scores if self._metric is Metric.L2 else scores)

    def _clauses(self, where: Where) -> list[dict[str, object]]:
        names = self.column_of()
        return [
            {names[term.field]: {SIGNS[term.sign]: term.values if term.sign == "in" else term.values[0]}}
            for term in terms(self.fields, where)
        ]

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        names = list(self.columns())
        rows = (row for part in parts(ids) for row in self._rows.fetch(ids=part).vectors.items())
        return from_rows(
            self, ids, ((int(name), *map((one.metadata or {}).get, names)) for name, one in rows)
        )

    def _close_index(self) -> None:
        if self._index is not None:
            self._index.close()
            self._index = None

    def close(self) -> None:
        self._close_index()
        self._client.close()
