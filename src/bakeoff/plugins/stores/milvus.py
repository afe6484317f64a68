"""Milvus: milvus-lite embedded (the C++ engine of 2.5, comparing every row), or a server by URI."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from milvus_lite.server_manager import server_manager_instance as lite
from pydantic import Field
from pymilvus import DataType, MilvusClient, MilvusException

from bakeoff.errors import StoreError
from bakeoff.plugins.stores._base import GraphBuild, GraphQuery, Settings, expect_rows, hits, translated
from bakeoff.types import Batch, Hits, Metric

FILE = "milvus.db"
PART = 2000  # rows a request, under the 64 MB of one gRPC message at 4,096 dimensions
Index = Literal["flat", "ivf_flat", "hnsw"]
METRICS = {Metric.COSINE: "COSINE", Metric.DOT: "IP", Metric.L2: "L2"}


class Build(GraphBuild):
    """What shapes the index; milvus-lite has flat only: it ignores nlist and nprobe and keeps no graph."""

    index: Annotated[Index | None, Field(description="None: hnsw on a server, flat embedded")] = None
    lists: Annotated[int, Field(ge=1, description="IVF: cells")] = 128


class MilvusParams(Settings):
    """Where Milvus is and how its index is built; a server's token comes from MILVUS_TOKEN."""

    uri: Annotated[str | None, Field(description="a server; None: embedded")] = None
    build: Build = Build()


class MilvusQuery(GraphQuery):
    """What shapes a search on a server."""

    probes: Annotated[int, Field(ge=1, description="IVF: cells looked at")] = 8


class MilvusStore:
    """One Milvus collection, built in the order insert, flush, index, load."""

    version: ClassVar[str] = "1"
    Params = MilvusParams
    Query = MilvusQuery

    @translated("Milvus", MilvusException)
    def __init__(self, params: MilvusParams, home: Path) -> None:
        self._build, self._file = params.build, home / FILE
        self._index = params.build.index or ("hnsw" if params.uri else "flat")
        if params.uri is None and self._index != "flat":
            raise StoreError(f"milvus-lite has no {self._index} index. Leave it out, or give a server's uri.")
        self._embedded = params.uri is None
        self._name, self._metric, self._rows = "", Metric.COSINE, 0
        at = params.uri or lite.start_and_get_uri(str(self._file))
        if at is None:
            raise StoreError(f"milvus-lite does not start on {self._file.name}. Is it open elsewhere?")
        self._client = MilvusClient(at, token=os.environ.get("MILVUS_TOKEN", ""), dedicated=True)

    @translated("Milvus", MilvusException)
    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._name, self._metric, self._rows = f"bakeoff_{collection}", metric, 0
        self._client.drop_collection(self._name)
        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("id", DataType.INT64, is_primary=True)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dims)
        self._client.create_collection(self._name, schema=schema, consistency_level="Strong")

    @translated("Milvus", MilvusException)
    def insert(self, batch: Batch) -> None:
        assert batch.vectors is not None
        rows = [{"id": int(i), "vector": row} for i, row in zip(batch.ids, batch.vectors, strict=True)]
        for begin in range(0, len(rows), PART):
            self._client.insert(self._name, rows[begin : begin + PART])
        self._rows += len(rows)

    @translated("Milvus", MilvusException)
    def ready(self) -> None:
        self._client.flush(self._name)
        index = self._client.prepare_index_params()
        metric = METRICS[self._metric]
        index.add_index("vector", index_type=self._index.upper(), metric_type=metric, params=self._shape())
        self._client.create_index(self._name, index)
        self._client.load_collection(self._name)
        self._assert_state()

    @translated("Milvus", MilvusException)
    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._name, self._metric = f"bakeoff_{collection}", metric
        self._client.load_collection(self._name)
        self._rows = self._count()
        self._assert_state()
        return self._rows

    @translated("Milvus", MilvusException)
    def search(self, vector: np.ndarray, k: int, query: MilvusQuery) -> Hits:
        how = {"hnsw": {"ef": max(query.ef, k)}, "ivf_flat": {"nprobe": query.probes}}.get(self._index, {})
        found = self._client.search(self._name, data=[vector], limit=k, search_params={"params": how})[0]
        scores = np.array([hit["distance"] for hit in found], np.float64)
        return hits([hit["id"] for hit in found], -scores if self._metric is Metric.L2 else scores)

    @translated("Milvus", MilvusException)
    def delete(self, ids: np.ndarray) -> None:
        self._client.delete(self._name, ids=ids.tolist())

    def close(self) -> None:
        self._client.close()
        if self._embedded:
            lite.release_server(str(self._file))
        self._embedded = False  # released once; a file opened again by another instance is not ours

    def _shape(self) -> dict[str, Any]:
        build = self._build
        graph = {"M": build.m, "efConstruction": build.ef_construction}
        return {"hnsw": graph, "ivf_flat": {"nlist": build.lists}}.get(self._index, {})

    def _count(self) -> int:
        return int(self._client.query(self._name, output_fields=["count(*)"])[0]["count(*)"])

    def _assert_state(self) -> None:
        """Every row is loaded, and the index that was asked for is finished over all of them."""
        expect_rows("Milvus", self._count(), self._rows)
        state = self._client.describe_index(self._name, "vector")
        waiting = state.get("pending_index_rows", 0)
        if state["index_type"] != self._index.upper() or state.get("state") != "Finished" or waiting:
            raise StoreError(f"Milvus has not finished its {self._index} index ({waiting} rows are waiting).")
