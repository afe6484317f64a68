"""DuckDB with its vss extension, embedded: an HNSW index over a table's column, searched by SQL."""

from __future__ import annotations

import threading
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import duckdb_extension_vss
import numpy as np

from bakeoff.errors import StoreError
from bakeoff.plugins.stores._base import (
    GraphBuild,
    GraphQuery,
    Settings,
    arrow_rows,
    expect_rows,
    hits,
    translated,
)
from bakeoff.types import Batch, Hits, Metric

FILE = "rows.duckdb"
EXTENSION = files(duckdb_extension_vss) / f"extensions/v{duckdb.__version__}/vss.duckdb_extension"
METRICS = {
    Metric.COSINE: ("cosine", "array_cosine_distance"),
    Metric.DOT: ("ip", "array_negative_inner_product"),
    Metric.L2: ("l2sq", "array_distance"),
}


class DuckdbVssParams(Settings):
    """How the index is built."""

    build: GraphBuild = GraphBuild()


class DuckdbVssStore:
    """A DuckDB file with one table for each collection; the extension comes from its package, not the network.

    Searches take turns: two at once in one process break the extension's memory (seen with 1.5.5).
    """

    version: ClassVar[str] = "1"
    Params = DuckdbVssParams
    Query = GraphQuery

    def __init__(self, params: DuckdbVssParams, home: Path) -> None:
        self._build, self._file = params.build, home / FILE
        self._rows, self._ef, self._table, self._dims = 0, 0, "", 0
        self._metric = Metric.COSINE
        self._connection: Any = None
        self._turn = threading.Lock()

    @translated("DuckDB vss", duckdb.Error)
    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._named(collection, dims, metric)
        self._rows = 0
        self._connect(read_only=False)
        self._connection.execute("SET hnsw_enable_experimental_persistence = true")
        self._connection.execute(f'CREATE OR REPLACE TABLE "{collection}" (id BIGINT, vector FLOAT[{dims}])')

    @translated("DuckDB vss", duckdb.Error)
    def insert(self, batch: Batch) -> None:
        self._connection.register("batch", arrow_rows(batch))
        self._connection.execute(f'INSERT INTO "{self._table}" SELECT * FROM batch')  # noqa: S608
        self._connection.unregister("batch")
        self._rows += len(batch.ids)

    @translated("DuckDB vss", duckdb.Error)
    def ready(self) -> None:
        build, metric = self._build, METRICS[self._metric][0]
        shape = f"metric = '{metric}', M = {build.m}, ef_construction = {build.ef_construction}"
        index = f'"{self._table}_hnsw" ON "{self._table}" USING HNSW (vector) WITH ({shape})'
        self._connection.execute(f"CREATE INDEX {index}")
        self._connection.execute("CHECKPOINT")
        expect_rows("DuckDB vss", self._count(), self._rows)
        self._assert_index_is_used()

    @translated("DuckDB vss", duckdb.Error)
    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._named(collection, dims, metric)
        self._connect(read_only=True)
        self._rows = self._count()
        self._assert_index_is_used()
        return self._rows

    @translated("DuckDB vss", duckdb.Error)
    def search(self, vector: np.ndarray, k: int, query: GraphQuery) -> Hits:
        with self._turn:
            if query.ef != self._ef:
                self._connection.execute(f"SET hnsw_ef_search = {query.ef}")
                self._ef = query.ef
            found = self._connection.execute(self._sql(k), [vector]).fetchnumpy()
        far = found["far"].astype(np.float64)
        scores = {Metric.COSINE: 1.0 - far, Metric.DOT: -far, Metric.L2: -(far**2)}[self._metric]
        return hits(found["id"], scores)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _named(self, collection: str, dims: int, metric: Metric) -> None:
        self._table, self._dims, self._metric = collection, dims, metric

    def _sql(self, k: int) -> str:
        far = f"{METRICS[self._metric][1]}(vector, ?::FLOAT[{self._dims}])"
        return f'SELECT id, {far} AS far FROM "{self._table}" ORDER BY far LIMIT {int(k)}'  # noqa: S608

    def _count(self) -> int:
        asked = "SELECT count FROM pragma_hnsw_index_info() WHERE table_name = ?"
        found = self._connection.execute(asked, [self._table]).fetchone()
        if found is None:
            raise StoreError(f"DuckDB vss has no HNSW index on the table {self._table!r}.")
        return int(found[0])

    def _assert_index_is_used(self) -> None:
        nothing = np.zeros(self._dims, np.float32)
        plan = self._connection.execute(f"EXPLAIN {self._sql(10)}", [nothing]).fetchall()
        if self._rows and "HNSW_INDEX_SCAN" not in plan[0][1]:
            raise StoreError("DuckDB vss would scan the table: its planner does not use the HNSW index.")

    def _connect(self, *, read_only: bool) -> None:
        self.close()
        self._ef, self._connection = 0, duckdb.connect(str(self._file), read_only=read_only)
        self._connection.execute(f"LOAD '{EXTENSION}'")
