"""Milvus: milvus-lite embedded (the C++ engine of 2.5, comparing every row), or a server by URI."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from milvus_lite.server_manager import server_manager_instance as lite
from pymilvus import DataType, MilvusException
from pymilvus.client.types import LoadState

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import (
    SmallVectors,
    expect_dims,
    expect_rows,
    guarantee,
    installed_engine,
    make_hits,
    translate_errors,
)
from bakeoff.plugins.kit.encoded import HoldsKind, require_terms
from bakeoff.plugins.kit.existing import (
    READ_ROWS,
    SAMPLED,
    metric_of,
    named_hits,
    named_vectors,
    no_such_collection,
    no_such_field,
    payload_id,
    the_vector_field,
)
from bakeoff.plugins.kit.payload import VECTORS_ONLY, Payload, PayloadSchemaMixin, from_rows
from bakeoff.plugins.kit.server import (
    PREFIX,
    expect_spread,
    given_server,
    own_collections,
    request_timeout,
    translate_server_errors,
)
from bakeoff.plugins.stores._milvus import (
    METRICS,
    SETTLED,
    MilvusParams,
    MilvusQuery,
    VectorField,
    connect,
    expect_finished,
    expect_newer,
    expression,
    filter_columns,
    index,
    requests,
    root_field,
    schema,
    sparse_value,
)
from bakeoff.protocols import Guarantee, SearchKnob
from bakeoff.types import (
    Batch,
    CollectionFacts,
    ExistingCollection,
    Hits,
    JsonObject,
    Metric,
    NamedHits,
    NamedVectors,
    SparseVector,
    Storage,
    VectorKind,
    Where,
)


@translate_server_errors("Milvus", MilvusException)
class MilvusStore(HoldsKind, SmallVectors, PayloadSchemaMixin):
    """One Milvus collection, built in the order insert, flush, index, load; a server's texts are limited to
    65,535 bytes. Only quantised vectors are kept."""

    version: ClassVar[str] = "2"
    Params = MilvusParams
    Query = MilvusQuery
    max_dims: ClassVar[int] = 32_768
    storages = ("float16", "int8", "binary")
    gaps: ClassVar[dict[str, str]] = {
        **VECTORS_ONLY,
        "int8": "milvus-lite has no index of bytes; a server has IVF_SQ8",
        "clients": "embedded, one client at a time has the file; a server takes many",
    }

    @classmethod
    def guarantees(cls, params: MilvusParams, query: MilvusQuery) -> tuple[Guarantee, ...]:
        """How fresh a server's answer is; embedded, every write is visible at once."""
        if params.uri is None:
            return ()
        return (guarantee("consistency", "query.consistency_level", query),)

    @classmethod
    def search_knob(cls, params: MilvusParams) -> SearchKnob | None:
        """The setting that trades recall for speed: candidates of a graph, or cells searched."""
        return params.knob()

    @translate_errors("Milvus", MilvusException)
    def __init__(self, params: MilvusParams, home: Path) -> None:
        self._params, self._file = params, home / "milvus.db"
        self._vectors = VectorField(params.kind())
        self._embedded = params.uri is None
        self._name, self._metric, self._rows = "", Metric.COSINE, 0
        self._existing, self._brought_in = ExistingCollection(""), False
        self._client = connect(given_server(params.uri), self._file)

    def set_storage(self, storage: Storage) -> None:
        super().set_storage(storage)
        if storage == "int8" and self._embedded:
            raise StoreError(
                "milvus-lite has no index of int8 vectors. Use float16 or binary, or give a server's uri."
            )
        if storage == "float16" and not self._embedded:
            expect_newer(self._client, "float16 vectors")

    def hold(self, kind: VectorKind) -> None:
        super().hold(kind)
        if kind == "sparse" and not self._embedded:
            expect_newer(self._client, "sparse vectors")

    def _use(self, collection: str, dims: int, metric: Metric) -> None:
        self._name, self._metric = PREFIX + collection, metric
        self._vectors = VectorField(self._params.kind(), dims, metric, self._storage, self.kind)

    def engine_version(self) -> str:
        if self._embedded:
            return installed_engine("milvus-lite")
        return f"Milvus {self._client.get_server_version()}"

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self.drop(collection)
        self._use(collection, dims, metric)
        self._rows = 0
        fields, shards = schema(self._client, self, self._vectors), self._params.build.shards
        self._client.create_collection(self._name, schema=fields, num_shards=shards)

    def collections(self) -> list[str]:
        return [] if self._embedded else own_collections(self._client.list_collections())

    def drop(self, collection: str) -> None:
        self._client.drop_collection(PREFIX + collection)

    def insert(self, batch: Batch) -> None:
        for rows in requests(self, batch, self._vectors):
            self._client.insert(self._name, rows)
        self._rows += len(batch.ids)

    def replace(self, batch: Batch) -> None:
        for rows in requests(self, batch, self._vectors):
            self._client.upsert(self._name, rows)
        self._settled_rows()

    def ready(self) -> None:
        self._client.flush(self._name)
        self._client.create_index(self._name, index(self._client, self._params.build, self._vectors))
        self._load()

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._use(collection, dims, metric)
        fields = {field["name"]: field for field in self._client.describe_collection(self._name)["fields"]}
        if self._vectors.length:
            expect_dims("Milvus", int(fields["vector"]["params"]["dim"]), self._vectors.length["dim"])
        self._load(counting=True)
        return self._rows

    def open_existing(self, collection: ExistingCollection, metric: Metric) -> CollectionFacts:
        """Open an existing collection; if it was not in memory, it is released again at the end."""
        known = self._client.list_collections()
        if collection.name not in known:
            raise no_such_collection("Milvus", collection.name, known)
        held_as = self._client.describe_collection(collection.name)
        fields = {one["name"]: one for one in held_as["fields"]}
        vectors = [name for name, one in fields.items() if one["type"] == DataType.FLOAT_VECTOR]
        vector = the_vector_field("Milvus", collection.vector_field, vectors)
        own = collection.id_field or next(name for name, one in fields.items() if one.get("is_primary"))
        if root_field(own) not in fields and not held_as.get("enable_dynamic_field"):
            raise no_such_field("Milvus", own, fields, "field of ids")
        self._name, self._existing = collection.name, replace(collection, id_field=own, vector_field=vector)
        index = self._client.describe_index(self._name, vector)
        if not index:
            raise StoreError(f"Milvus cannot search {self._name!r}: {vector!r} has no index.")
        held = metric_of("Milvus", METRICS, index["metric_type"])
        self._metric = held or metric
        self._bring_in()
        first = self._client.query(self._name, limit=SAMPLED, output_fields=["*"])
        self.adopt(filter_columns(fields, first))
        return CollectionFacts(self._settled_rows(), int(fields[vector]["params"]["dim"]), held)

    def _bring_in(self) -> None:
        """Load it into memory, which searches need; `close` releases it."""
        if self._client.get_load_state(self._name)["state"] != LoadState.Loaded:
            self._client.load_collection(self._name)
            self._brought_in = not self._embedded

    def search_existing(self, vector: np.ndarray, k: int, query: MilvusQuery, where: Where = ()) -> NamedHits:
        field, sign = self._existing.id_field, -1 if self._metric is Metric.L2 else 1
        asked: JsonObject = {
            "limit": k,
            "output_fields": [root_field(field)],
            "filter": expression(self, where),
        }
        asked |= {"anns_field": self._existing.vector_field, **self._consistency(query)}
        asked["search_params"] = {"params": {"ef": max(query.ef, k), "nprobe": query.probes}}
        (found,) = self._client.search(self._name, data=[vector], **asked)
        ids = [payload_id("Milvus", hit["entity"], field) for hit in found]
        return named_hits(ids, (sign * hit["distance"] for hit in found))

    def read_existing(self, where: Where = (), after: Any = None) -> NamedVectors:
        field, vector = self._existing.id_field, self._existing.vector_field
        rows = after or self._client.query_iterator(
            self._name,
            batch_size=READ_ROWS,
            filter=expression(self, where),
            output_fields=[root_field(field), vector],
            timeout=request_timeout(),
        )
        found = rows.next()
        if not found:
            rows.close()
        ids = [payload_id("Milvus", row, field) for row in found]
        return named_vectors(ids, (row[vector] for row in found), rows if found else None)

    def _consistency(self, query: MilvusQuery) -> JsonObject:
        """Consistency level of a server's answer."""
        return {} if self._embedded else {"consistency_level": query.consistency_level}

    def search(self, vector: np.ndarray, k: int, query: MilvusQuery) -> Hits:
        return self._nearest([self._vectors.value(vector)], k, query)[0]

    def search_sparse(self, vector: SparseVector, k: int, query: MilvusQuery, where: Where = ()) -> Hits:
        require_terms("Milvus", self._vectors.dims, vector)
        if not len(vector.terms):
            return make_hits([], [])
        return self._nearest([sparse_value(vector)], k, query, expression(self, where))[0]

    def search_many(self, vectors: np.ndarray, k: int, query: MilvusQuery) -> list[Hits]:
        return self._nearest(list(map(self._vectors.value, vectors)), k, query) if len(vectors) else []

    def search_where(self, vector: np.ndarray, k: int, query: MilvusQuery, where: Where) -> Hits:
        return self._nearest([self._vectors.value(vector)], k, query, expression(self, where))[0]

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        names = ["id", *self.columns()]
        found = self._client.get(self._name, ids=ids.tolist(), output_fields=names)
        return from_rows(self, ids, (tuple(row[name] for name in names) for row in found))

    def delete(self, ids: np.ndarray) -> None:
        self._client.delete(self._name, ids=ids.tolist())
        self._settled_rows()

    def close(self) -> None:
        if self._brought_in:
            self._client.release_collection(self._name)
            self._brought_in = False
        self._client.close()
        if self._embedded:
            lite.release_server(str(self._file))
        self._embedded = False  # release it once; a file reopened by another instance is not ours

    def _nearest(self, vectors: list[object], k: int, query: MilvusQuery, where: str = "") -> list[Hits]:
        how = {"params": self._vectors.search_params(query, k)}
        asked: JsonObject = {"limit": k, "search_params": how, **self._consistency(query)}
        return [
            self._vectors.hits(found)
            for found in self._client.search(self._name, data=vectors, filter=where, **asked)
        ]

    def _settled_rows(self) -> int:
        """Number of rows, counted once every write is visible to all searches."""
        counted = self._client.query(self._name, output_fields=["count(*)"], consistency_level=SETTLED)
        return int(counted[0]["count(*)"])

    def _load(self, *, counting: bool = False) -> None:
        """Load the requested replicas, with every row in the finished index."""
        self._client.load_collection(self._name, replica_number=self._params.build.replicas + 1)
        held = self._settled_rows()
        self._rows = held if counting else self._rows
        expect_rows("Milvus", held, self._rows)
        expect_finished(self._client, self._name, self._vectors.index_type)
        if not self._embedded:
            shards = self._client.describe_collection(self._name)["num_shards"]
            copies = len(self._client.describe_replica(self._name))
            expect_spread("Milvus", (shards, copies - 1), self._params.build)
