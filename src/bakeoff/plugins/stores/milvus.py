"""Milvus: milvus-lite embedded (the C++ engine of 2.5, comparing every row), or a server by URI."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pymilvus import MilvusException

from bakeoff.plugins.stores import _milvus_client as milvus
from bakeoff.plugins.stores._base import expect_dims, expect_rows, hits, installed, translated
from bakeoff.plugins.stores._payload import VECTORS_ONLY, Declared, Payload, from_rows
from bakeoff.types import Batch, Hits, Metric, Where

ENGINE = translated("Milvus", MilvusException)


class MilvusStore(Declared):
    """One Milvus collection, built in the order insert, flush, index, load; a server's texts end at 65,535 bytes."""

    version: ClassVar[str] = "2"
    Params = milvus.MilvusParams
    Query = milvus.MilvusQuery
    max_dims: ClassVar[int] = 32_768
    gaps: ClassVar[dict[str, str]] = {
        **VECTORS_ONLY,
        "clients": "embedded, one client at a time has the file; a server takes many",
    }

    @ENGINE
    def __init__(self, params: milvus.MilvusParams, home: Path) -> None:
        self._params, self._index, self._file = params, params.kind(), home / "milvus.db"
        self._embedded = params.uri is None
        self._name, self._metric, self._rows = "", Metric.COSINE, 0
        self._client = milvus.connected(params.uri, self._file)

    @ENGINE
    def engine_version(self) -> str:
        return installed("milvus-lite") if self._embedded else f"Milvus {self._client.get_server_version()}"

    @ENGINE
    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._name, self._metric, self._rows = f"bakeoff_{collection}", metric, 0
        self._client.drop_collection(self._name)
        made = milvus.schema(self._client, self, dims)
        self._client.create_collection(self._name, schema=made, consistency_level="Strong")

    @ENGINE
    def insert(self, batch: Batch) -> None:
        for rows in milvus.requests(self, batch):
            self._client.insert(self._name, rows)
        self._rows += len(batch.ids)

    @ENGINE
    def replace(self, batch: Batch) -> None:
        for rows in milvus.requests(self, batch):
            self._client.upsert(self._name, rows)

    @ENGINE
    def ready(self) -> None:
        self._client.flush(self._name)
        made = milvus.index(self._client, self._params.build, self._index, self._metric)
        self._client.create_index(self._name, made)
        self._client.load_collection(self._name)
        self._assert_state()

    @ENGINE
    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._name, self._metric = f"bakeoff_{collection}", metric
        fields = {field["name"]: field for field in self._client.describe_collection(self._name)["fields"]}
        expect_dims("Milvus", int(fields["vector"]["params"]["dim"]), dims)
        self._client.load_collection(self._name)
        self._rows = self._count()
        self._assert_state()
        return self._rows

    def search(self, vector: np.ndarray, k: int, query: milvus.MilvusQuery) -> Hits:
        return self._nearest([vector], k, query)[0]

    def search_many(self, vectors: np.ndarray, k: int, query: milvus.MilvusQuery) -> list[Hits]:
        return self._nearest(list(vectors), k, query) if len(vectors) else []

    def search_where(self, vector: np.ndarray, k: int, query: milvus.MilvusQuery, where: Where) -> Hits:
        return self._nearest([vector], k, query, milvus.expression(self, where))[0]

    @ENGINE
    def payloads(self, ids: np.ndarray) -> list[Payload]:
        names = ["id", *self.columns()]
        found = self._client.get(self._name, ids=ids.tolist(), output_fields=names)
        return from_rows(self, ids, (tuple(row[name] for name in names) for row in found))

    @ENGINE
    def delete(self, ids: np.ndarray) -> None:
        self._client.delete(self._name, ids=ids.tolist())

    def close(self) -> None:
        self._client.close()
        if self._embedded:
            milvus.release(self._file)
        self._embedded = False  # released once; a file opened again by another instance is not ours

    @ENGINE
    def _nearest(self, vectors: list[Any], k: int, query: milvus.MilvusQuery, where: str = "") -> list[Hits]:
        how = {"hnsw": {"ef": max(query.ef, k)}, "ivf_flat": {"nprobe": query.probes}}.get(self._index, {})
        asked = {"limit": k, "search_params": {"params": how}}
        sign = -1 if self._metric is Metric.L2 else 1
        return [
            hits([hit["id"] for hit in found], [sign * hit["distance"] for hit in found])
            for found in self._client.search(self._name, data=vectors, filter=where, **asked)
        ]

    def _count(self) -> int:
        return int(self._client.query(self._name, output_fields=["count(*)"])[0]["count(*)"])

    def _assert_state(self) -> None:
        expect_rows("Milvus", self._count(), self._rows)
        milvus.expect_finished(self._client, self._name, self._index)
