"""Weaviate by URL through weaviate-client: searches and batches over gRPC, settings over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, ParamSpec, TypeVar

import grpc
import httpx
import numpy as np
from httpx import HTTPError
from weaviate import WeaviateClient
from weaviate.auth import Auth
from weaviate.classes.query import MetadataQuery
from weaviate.collections import Collection
from weaviate.collections.classes.internal import Object
from weaviate.config import AdditionalConfig, Timeout
from weaviate.connect import ConnectionParams
from weaviate.exceptions import UnexpectedStatusCodeError, WeaviateBaseError

from bakeoff.plugins.kit.adapter import SmallVectors, TunedByEf, expect_rows, guarantee, make_hits
from bakeoff.plugins.kit.bounded_pool import endpoint_of
from bakeoff.plugins.kit.client_errors import Reply, reports_client_errors
from bakeoff.plugins.kit.encoded import HoldsKind
from bakeoff.plugins.kit.existing import (
    READ_ROWS,
    metric_of,
    named_hits,
    named_vectors,
    no_such_collection,
    no_such_field,
    payload_id,
    the_vector_field,
)
from bakeoff.plugins.kit.http_limits import BoundedTransport
from bakeoff.plugins.kit.payload import Payload, PayloadSchemaMixin, from_rows
from bakeoff.plugins.kit.server import own_collections, request_timeout, server_of
from bakeoff.plugins.stores._weaviate import (
    DISTANCES,
    PREFIX,
    WeaviateForm,
    WeaviateParams,
    WeaviateQuery,
    WeaviateRows,
    adopted_fields,
    filter_of,
)
from bakeoff.protocols import Guarantee
from bakeoff.runtime.http_client import TooSlow, Unreachable
from bakeoff.storage.consent import secret_for
from bakeoff.types import (
    Batch,
    CollectionFacts,
    ExistingCollection,
    Hits,
    Metric,
    NamedHits,
    NamedVectors,
    Storage,
    Where,
)

GRPC_PORT = 50_051
CALLS = ("Search", "BatchObjects", "BatchDelete", "Aggregate")
P = ParamSpec("P")
T = TypeVar("T")


class Stub:
    """The calls of the client's gRPC stub: the client would retry for a minute if the server is gone."""

    def __init__(self, stub: object) -> None:
        for name in CALLS:
            setattr(self, name, _once(getattr(stub, name)))


def _once(call: Callable[P, T]) -> Callable[P, T]:
    def ask(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return call(*args, **kwargs)
        except grpc.RpcError as exc:
            if exc.code() is grpc.StatusCode.UNAVAILABLE:
                raise Unreachable(exc.details()) from exc
            if exc.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                raise TooSlow("the answer was not complete in time") from exc
            raise

    return ask


class Connection:
    """A client that connects on first use; without `?grpc=PORT`, an address implies the default port."""

    def __init__(self, url: str, key: str | None) -> None:
        page, _, port = url.partition("?grpc=")
        at = endpoint_of("Weaviate", page)
        self.place, self._root, self._key = at.place, at.root, key
        self._port, self._lock = int(port or GRPC_PORT), threading.Lock()
        self._client: WeaviateClient | None = None

    def client(self) -> WeaviateClient:
        """The connected client, after checking the server's version."""
        with self._lock:
            if self._client is None:
                self._client = self._connect()
        return self._client

    def _connect(self) -> WeaviateClient:
        seconds = request_timeout()
        limits = AdditionalConfig(timeout=Timeout(init=seconds, query=seconds, insert=seconds))
        client = WeaviateClient(
            connection_params=ConnectionParams.from_url(self._root, self._port),
            auth_client_secret=Auth.api_key(self._key) if self._key else None,
            additional_config=limits,
            skip_init_checks=True,  # they ask the package index for the client's latest version
        )
        inner = client._connection
        transport = BoundedTransport(self._root, seconds)
        inner._make_client = lambda _: httpx.Client(headers=inner._headers, transport=transport)
        try:
            client.connect()
        except BaseException:
            client.close()
            raise
        inner._grpc_stub = Stub(inner._grpc_stub)
        return client

    def close(self) -> None:
        """Close the connections; they are not reopened."""
        if self._client is not None:
            self._client.close()


@reports_client_errors
class WeaviateStore(HoldsKind, SmallVectors, TunedByEf, PayloadSchemaMixin):
    """One collection of a Weaviate server, version 1.27 or later; quantised and token vectors need 1.33 or
    later. int8 and binary are its rotational quantisation with 8 bits or 1, which keeps the full vectors and
    rescores by them."""

    version: ClassVar[str] = "1"
    engine = "Weaviate"
    client_errors = (WeaviateBaseError, HTTPError, ValueError)
    Params = WeaviateParams
    Query = WeaviateQuery
    max_dims: ClassVar[int] = 65_535
    storages = ("int8", "binary")
    rescores: ClassVar[tuple[Storage, ...]] = storages
    gaps: ClassVar[dict[str, str]] = {
        "batch": "its client takes one vector a request",
        "sparse vectors": "the engine makes its own from words, and takes none",
    }

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
        self._existing = ExistingCollection("")
        self._target: str | None = None
        self._filled: Collection = None

    def reply_of(self, exc: Exception) -> Reply | None:
        return (exc.status_code, exc.error) if isinstance(exc, UnexpectedStatusCodeError) else None

    def _use(self, collection: str, metric: Metric) -> None:
        form = WeaviateForm(self.kind, self._storage)
        self._rows = WeaviateRows(self._connection.client(), collection, self._params, form)
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
        self._rows.write_rows(batch, self.columns())
        self._inserted += len(batch.ids)

    def replace(self, batch: Batch) -> None:
        self._rows.write_rows(batch, self.columns())
        self._rows.settle()

    def delete(self, ids: np.ndarray) -> None:
        self._rows.delete(ids)

    def ready(self) -> None:
        """Wait until every shard's vector queue is empty, its graph is on disk, and every row is counted."""
        self._rows.settle()
        expect_rows("Weaviate", self._rows.count(), self._inserted)

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._use(collection, metric)
        self._rows.check(dims, self._params.build)
        self._inserted = self._rows.count()
        return self._inserted

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        rows, names = self._rows.read_rows(ids).items(), list(self.columns())
        return from_rows(self, ids, ((number, *map(one.get, names)) for number, one in rows))

    def open_existing(self, collection: ExistingCollection, metric: Metric) -> CollectionFacts:
        """Open an existing collection; its settings stay unchanged, including `ef`."""
        every = self._connection.client().collections
        if not every.exists(collection.name):
            raise no_such_collection("Weaviate", collection.name, every.list_all())
        rows, self._existing = every.get(collection.name), collection
        self._filled, config = rows, rows.config.get()
        named = config.vector_config or {}
        field = the_vector_field("Weaviate", collection.vector_field, list(named)) if named else ""
        index = named[field].vector_index_config if field else config.vector_index_config
        held = metric_of("Weaviate", DISTANCES, getattr(getattr(index, "distance_metric", None), "value", ""))
        self._metric, self._target = held or metric, field or None
        self.adopt(adopted_fields(config.properties))
        own = collection.id_field
        if own and own not in (names := [one.name for one in config.properties]):
            raise no_such_field("Weaviate", own, names, "property of ids")
        first = rows.query.fetch_objects(limit=1, include_vector=True).objects
        dims = len(self._vector_of(first[0]) or ()) if first else 0
        return CollectionFacts(rows.aggregate.over_all(total_count=True).total_count or 0, dims, held)

    def _vector_of(self, one: Object) -> list[float] | None:
        """Vector of an object under the searched name, or its only one."""
        found: list[float] | None = one.vector.get(self._target or "default")
        return found

    def search_existing(
        self, vector: np.ndarray, k: int, query: WeaviateQuery, where: Where = ()
    ) -> NamedHits:
        found = self._filled.query.near_vector(
            vector.tolist(),
            limit=k,
            filters=filter_of(self, where),
            target_vector=self._target,
            return_metadata=MetadataQuery(distance=True),
            return_properties=self._id_properties(),
        ).objects
        top = 1.0 if self._metric is Metric.COSINE else 0.0
        return named_hits(map(self._id_of, found), (top - one.metadata.distance for one in found))

    def read_existing(self, where: Where = (), after: Any = None) -> NamedVectors:
        """Read all rows by id; those within a filter by offset, which the engine limits."""
        page = {"limit": READ_ROWS, "include_vector": True, "return_properties": self._id_properties()}
        if where:
            found = self._filled.query.fetch_objects(
                filters=filter_of(self, where), offset=after or 0, **page
            ).objects
            more: object = (after or 0) + READ_ROWS
        else:
            found = self._filled.query.fetch_objects(after=after, **page).objects
            more = found[-1].uuid if found else None
        last = len(found) < READ_ROWS
        return named_vectors(map(self._id_of, found), map(self._vector_of, found), None if last else more)

    def _id_properties(self) -> list[str]:
        return [self._existing.id_field] if self._existing.id_field else []

    def _id_of(self, one: Object) -> str:
        field = self._existing.id_field
        return payload_id("Weaviate", one.properties, field) if field else str(one.uuid)

    def search(self, vector: np.ndarray, k: int, query: WeaviateQuery) -> Hits:
        return self.search_where(vector, k, query, ())

    def search_where(self, vector: np.ndarray, k: int, query: WeaviateQuery, where: Where) -> Hits:
        return self.search_rescored(vector, k, query, 0, where)

    def search_rescored(
        self, vector: np.ndarray, k: int, query: WeaviateQuery, candidates: int, where: Where = ()
    ) -> Hits:
        self._rows.tune(query.ef, candidates)
        ids, far = self._rows.near(vector, k, filter_of(self, where), query.consistency_level)
        top = 1.0 if self._metric is Metric.COSINE else 0.0
        return make_hits(ids, [top - one for one in far])

    def search_tokens(self, tokens: np.ndarray, k: int, query: WeaviateQuery, where: Where = ()) -> Hits:
        return self.search_where(tokens, k, query, where)

    def search_text(self, text: str, k: int, query: WeaviateQuery) -> Hits:
        return self.search_text_where(text, k, query, ())

    def search_text_where(self, text: str, k: int, query: WeaviateQuery, where: Where) -> Hits:
        if not text.strip():
            return make_hits([], [])  # the engine rejects a query without words
        return make_hits(*self._rows.with_words(text, k, filter_of(self, where), query.consistency_level))

    def search_hybrid(self, text: str, vector: np.ndarray, k: int, query: WeaviateQuery) -> Hits:
        self._rows.tune(query.ef)
        return make_hits(*self._rows.with_both(text, vector, k, query))

    def close(self) -> None:
        self._connection.close()
