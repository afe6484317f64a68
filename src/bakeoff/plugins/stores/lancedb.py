"""LanceDB, embedded: columnar files with IVF, quantised or HNSW-inside-IVF indexes, or none."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field

os.environ.setdefault(
    "LANCEDB_LOG", "error"
)  # else each new table is announced on the terminal; read at import

import lancedb
from lancedb.index import HnswFlat, HnswSq, IvfFlat, IvfPq

from bakeoff.errors import StoreError
from bakeoff.plugins.stores._base import (
    GraphBuild,
    GraphQuery,
    Settings,
    arrow_rows,
    hits,
    nearness,
    translated,
)
from bakeoff.types import Batch, Hits, Metric

ERRORS = (ValueError, RuntimeError, OSError, pa.ArrowException)


class Build(GraphBuild):
    """What shapes the index."""

    index: Literal["none", "ivf_flat", "ivf_pq", "ivf_hnsw_flat", "ivf_hnsw_sq"] = "ivf_hnsw_flat"
    partitions: Annotated[int | None, Field(ge=1, description="IVF: cells; None is the engine's choice")] = (
        None
    )
    sub_vectors: Annotated[int | None, Field(ge=1, description="PQ: codes a vector; None is dims/16")] = None
    flat_below: Annotated[
        int, Field(ge=0, description="smaller collections are searched without an index")
    ] = 256


class LancedbParams(Settings):
    """How a LanceDB index is built; 256 rows are the fewest PQ can be trained on, and below it all is compared."""

    build: Build = Build()


class LancedbQuery(GraphQuery):
    """What shapes a search."""

    probes: Annotated[int, Field(ge=1, description="IVF: cells looked at")] = 20
    refine: Annotated[
        int | None, Field(ge=1, description="quantised: k·refine rows are compared in full")
    ] = None


class LancedbStore:
    """One LanceDB table for each collection, in a folder."""

    version: ClassVar[str] = "1"
    Params = LancedbParams
    Query = LancedbQuery

    def __init__(self, params: LancedbParams, home: Path) -> None:
        self._build, self._home = params.build, home
        self._metric, self._rows = Metric.COSINE, 0
        self._table: Any = None

    @translated("LanceDB", *ERRORS)
    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._metric, self._rows = metric, 0
        schema = pa.schema([("id", pa.int64()), ("vector", pa.list_(pa.float32(), dims))])
        self._table = lancedb.connect(self._home).create_table(collection, schema=schema, mode="overwrite")

    @translated("LanceDB", *ERRORS)
    def insert(self, batch: Batch) -> None:
        self._table.add(arrow_rows(batch))
        self._rows += len(batch.ids)

    @translated("LanceDB", *ERRORS)
    def ready(self) -> None:
        self._table.optimize(cleanup_older_than=timedelta(milliseconds=1), delete_unverified=True)
        if self._indexed():
            self._table.create_index("vector", config=self._index())
        self._assert_state()

    @translated("LanceDB", *ERRORS)
    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._metric = metric
        self._table = lancedb.connect(self._home).open_table(collection)
        self._rows = self._table.count_rows()
        self._assert_state()
        return self._rows

    @translated("LanceDB", *ERRORS)
    def search(self, vector: np.ndarray, k: int, query: LancedbQuery) -> Hits:
        asked = self._table.search(vector, vector_column_name="vector").distance_type(self._metric.value)
        asked = asked.limit(k).nprobes(query.probes).ef(max(query.ef, k)).select(["id", "_distance"])
        found = (asked.refine_factor(query.refine) if query.refine else asked).to_arrow()
        return hits(found["id"], nearness(found["_distance"].to_numpy() * self._unit(query), self._metric))

    @translated("LanceDB", *ERRORS)
    def delete(self, ids: np.ndarray) -> None:
        self._table.delete(f"id IN ({', '.join(map(str, ids.tolist()))})")
        self._rows = self._table.count_rows()

    def close(self) -> None:
        self._table = None

    def _unit(self, query: LancedbQuery) -> float:
        """Quantised indexes answer cosine with the squared distance of unit vectors, 2·(1 − cosine)."""
        quantised = self._indexed() and self._build.index in ("ivf_pq", "ivf_hnsw_sq") and not query.refine
        return 0.5 if quantised and self._metric is Metric.COSINE else 1.0

    def _indexed(self) -> bool:
        return self._build.index != "none" and self._rows >= max(self._build.flat_below, 1)

    def _index(self) -> Any:
        build, kind = self._build, self._metric.value
        shared = {"distance_type": kind, "num_partitions": build.partitions}
        graph = {"m": build.m, "ef_construction": build.ef_construction}
        if build.index == "ivf_flat":
            return IvfFlat(**shared)
        if build.index == "ivf_pq":
            return IvfPq(**shared, num_sub_vectors=build.sub_vectors)
        return (HnswSq if build.index == "ivf_hnsw_sq" else HnswFlat)(**shared, **graph)

    def _assert_state(self) -> None:
        """The index covers every row where one was asked for."""
        state = self._table.index_stats("vector_idx") if self._indexed() else None
        covered = state.num_indexed_rows if state else 0
        if self._indexed() and covered != self._rows:
            raise StoreError(f"LanceDB has indexed {covered} of {self._rows} rows as {self._build.index}.")
