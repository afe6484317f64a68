"""Milvus: milvus-lite embedded (the C++ engine of 2.5, comparing every row), or a server by URI."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pymilvus import MilvusException

from bakeoff.plugins.kit.adapter import (
    expect_dims,
    expect_rows,
    guarantee,
    installed_engine,
    make_hits,
    translate_errors,
)
from bakeoff.plugins.kit.payload import VECTORS_ONLY, Payload, PayloadSchemaMixin, from_rows
from bakeoff.plugins.kit.server import PREFIX, given_server, own_collections, translate_server_errors
from bakeoff.plugins.stores import _milvus_client as milvus
from bakeoff.protocols import Guarantee, SearchKnob
from bakeoff.types import Batch, Hits, Metric, Where

SETTLED = "Strong"
"""The level of a query that waits until every write so far is visible."""


@translate_server_errors("Milvus", MilvusException)
class MilvusStore(PayloadSchemaMixin):
    """One Milvus collection, built in the order insert, flush, index, load; a server's texts end at 65,535 bytes."""

    version: ClassVar[str] = "2"
    Params = milvus.MilvusParams
    Query = milvus.MilvusQuery
    max_dims: ClassVar[int] = 32_768
    gaps: ClassVar[dict[str, str]] = {
        **VECTORS_ONLY,
        "clients": "embedded, one client at a time has the file; a server takes many",
    }

    @classmethod
    def guarantees(cls, params: milvus.MilvusParams, query: milvus.MilvusQuery) -> tuple[Guarantee, ...]:
        """How fresh a server's answer is; embedded, every write is seen at once."""
        if params.uri is None:
            return ()
        return (guarantee("consistency", "query.consistency_level", query),)

    @classmethod
    def search_knob(cls, params: milvus.MilvusParams) -> SearchKnob | None:
        """The candidates of a graph, or the cells looked at."""
        return params.knob()

    @translate_errors("Milvus", MilvusException)
    def __init__(self, params: milvus.MilvusParams, home: Path) -> None:
        self._params, self._index, self._file = params, params.kind(), home / "milvus.db"
        self._embedded = params.uri is None
        self._name, self._metric, self._rows = "", Metric.COSINE, 0
        self._client = milvus.connect(given_server(params.uri), self._file)

    def engine_version(self) -> str:
        return (
            installed_engine("milvus-lite")
            if self._embedded
            else f"Milvus {self._client.get_server_version()}"
        )

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self.drop(collection)
        self._name, self._metric, self._rows = PREFIX + collection, metric, 0
        made, shards = milvus.schema(self._client, self, dims), self._params.build.shards
        self._client.create_collection(self._name, schema=made, num_shards=shards)

    def collections(self) -> list[str]:
        return [] if self._embedded else own_collections(self._client.list_collections())

    def drop(self, collection: str) -> None:
        self._client.drop_collection(PREFIX + collection)

    def insert(self, batch: Batch) -> None:
        for rows in milvus.requests(self, batch):
            self._client.insert(self._name, rows)
        self._rows += len(batch.ids)

    def replace(self, batch: Batch) -> None:
        for rows in milvus.requests(self, batch):
            self._client.upsert(self._name, rows)
        self._settled_rows()

    def ready(self) -> None:
        self._client.flush(self._name)
        made = milvus.index(self._client, self._params.build, self._index, self._metric)
        self._client.create_index(self._name, made)
        self._load()

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._name, self._metric = PREFIX + collection, metric
        fields = {field["name"]: field for field in self._client.describe_collection(self._name)["fields"]}
        expect_dims("Milvus", int(fields["vector"]["params"]["dim"]), dims)
        self._load(counting=True)
        return self._rows

    def search(self, vector: np.ndarray, k: int, query: milvus.MilvusQuery) -> Hits:
        return self._nearest([vector], k, query)[0]

    def search_many(self, vectors: np.ndarray, k: int, query: milvus.MilvusQuery) -> list[Hits]:
        return self._nearest(list(vectors), k, query) if len(vectors) else []

    def search_where(self, vector: np.ndarray, k: int, query: milvus.MilvusQuery, where: Where) -> Hits:
        return self._nearest([vector], k, query, milvus.expression(self, where))[0]

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        names = ["id", *self.columns()]
        found = self._client.get(self._name, ids=ids.tolist(), output_fields=names)
        return from_rows(self, ids, (tuple(row[name] for name in names) for row in found))

    def delete(self, ids: np.ndarray) -> None:
        self._client.delete(self._name, ids=ids.tolist())
        self._settled_rows()

    def close(self) -> None:
        self._client.close()
        if self._embedded:
            milvus.release(self._file)
        self._embedded = False  # released once; a file opened again by another instance is not ours

    def _nearest(self, vectors: list[Any], k: int, query: milvus.MilvusQuery, where: str = "") -> list[Hits]:
        how = {"hnsw": {"ef": max(query.ef, k)}, "ivf_flat": {"nprobe": query.probes}}.get(self._index, {})
        asked: dict[str, Any] = {"limit": k, "search_params": {"params": how}}
        if not self._embedded:
            asked["consistency_level"] = query.consistency_level
        sign = -1 if self._metric is Metric.L2 else 1
        return [
            make_hits([hit["id"] for hit in found], [sign * hit["distance"] for hit in found])
            for found in self._client.search(self._name, data=vectors, filter=where, **asked)
        ]

    def _settled_rows(self) -> int:
        """The rows of the collection, counted when every write so far can be found by any search."""
        counted = self._client.query(self._name, output_fields=["count(*)"], consistency_level=SETTLED)
        return int(counted[0]["count(*)"])

    def _load(self, *, counting: bool = False) -> None:
        """Into memory, as often as was asked for, with every row in the finished index."""
        self._client.load_collection(self._name, replica_number=self._params.build.replicas + 1)
        held = self._settled_rows()
        self._rows = held if counting else self._rows
        expect_rows("Milvus", held, self._rows)
        milvus.expect_finished(self._client, self._name, self._index)
        if not self._embedded:
            milvus.expect_copies(self._client, self._name, self._params.build)
