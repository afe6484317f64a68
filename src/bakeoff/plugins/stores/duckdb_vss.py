"""DuckDB with its vss extension, embedded: an HNSW index over a table column, searched by SQL."""

from __future__ import annotations

import threading
from importlib.resources import files
from pathlib import Path
from typing import ClassVar

import duckdb
import duckdb_extension_vss
import numpy as np
import pyarrow as pa

from bakeoff.errors import StoreError
from bakeoff.plugins.kit import arrow_rows
from bakeoff.plugins.kit.adapter import (
    GraphParams,
    GraphQuery,
    TunedByEf,
    expect_rows,
    installed_engine,
    make_hits,
    translate_errors,
)
from bakeoff.plugins.kit.payload import (
    FLOAT32_ONLY,
    VECTORS_ONLY,
    Payload,
    PayloadSchemaMixin,
    from_rows,
    sql,
)
from bakeoff.types import Batch, Hits, Metric, PayloadField, Where

EXTENSION = files(duckdb_extension_vss) / f"extensions/v{duckdb.__version__}/vss.duckdb_extension"
TYPES = {"text": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE"}
METRICS = {
    Metric.COSINE: ("cosine", "array_cosine_distance"),
    Metric.DOT: ("ip", "array_negative_inner_product"),
    Metric.L2: ("l2sq", "array_distance"),
}


def written(vector: np.ndarray) -> str:
    """A vector as a statement's value, written as text because the client inspects each number of a list.

    Without pandas it even tries to import it for each: 8 ms of CPU for 64 numbers, against 0.4 ms as text.
    """
    return str(vector.tolist())


class DuckdbTable:
    """One table of a file: `id`, `vector` and payload columns, with an HNSW index over the vectors."""

    def __init__(self, file: Path, name: str, dims: int, metric: Metric, *, read_only: bool) -> None:
        self.connection = duckdb.connect(str(file), read_only=read_only)
        self._name, self._dims, self._metric = name, dims, metric
        self.run(f"LOAD '{EXTENSION}'")

    def run(self, statement: str, values: list[object] | None = None) -> duckdb.DuckDBPyConnection:
        """Execute a statement."""
        return self.connection.execute(statement, values)

    def make(self, columns: dict[str, PayloadField]) -> None:
        """Create the table, replacing an old one."""
        more = "".join(f', "{column}" {TYPES[field.kind]}' for column, field in columns.items())
        self.run("SET hnsw_enable_experimental_persistence = true")
        self.run(f'CREATE OR REPLACE TABLE "{self._name}" (id BIGINT, vector FLOAT[{self._dims}]{more})')

    def add(self, rows: pa.Table) -> None:
        """Insert rows."""
        self.connection.register("batch", rows)
        self.run(f'INSERT INTO "{self._name}" SELECT * FROM batch')  # noqa: S608
        self.connection.unregister("batch")

    def index(self, m: int, ef_construction: int) -> None:
        """Build the index and write everything to the file."""
        shape = f"metric = '{METRICS[self._metric][0]}', M = {m}, ef_construction = {ef_construction}"
        self.run(f'CREATE INDEX "{self._name}_hnsw" ON "{self._name}" USING HNSW (vector) WITH ({shape})')
        self.run("CHECKPOINT")

    def indexed_rows(self) -> int:
        """Number of rows in the index; raises StoreError if it would not be used."""
        asked = "SELECT count FROM pragma_hnsw_index_info() WHERE table_name = ?"
        found = self.run(asked, [self._name]).fetchone()
        if found is None:
            raise StoreError(f"DuckDB vss has no HNSW index on the table {self._name!r}.")
        plan = self.run(f"EXPLAIN {self.nearest(10)}", [written(np.zeros(self._dims))]).fetchall()
        if found[0] and "HNSW_INDEX_SCAN" not in plan[0][1]:
            raise StoreError("DuckDB vss would scan the table: its planner does not use the HNSW index.")
        return int(found[0])

    def nearest(self, k: int, where: str = "") -> str:
        """SQL for the k nearest; with a filter, in an order the index does not know, so that it is not used."""
        far = f"{METRICS[self._metric][1]}(vector, ?::FLOAT[{self._dims}])"
        rest = f"WHERE {where} ORDER BY far + 0" if where else "ORDER BY far"
        return f'SELECT id, {far} AS far FROM "{self._name}" {rest} LIMIT {int(k)}'  # noqa: S608

    def payloads(self) -> str:
        """SQL for the payloads of some ids."""
        return f'SELECT * EXCLUDE (vector) FROM "{self._name}" WHERE id IN (SELECT unnest(?))'  # noqa: S608

    def scores(self, distances: np.ndarray) -> np.ndarray:
        """Scores from the engine's distances: 1 − cosine, minus the product, or the plain distance."""
        far = distances.astype(np.float64)
        return {Metric.COSINE: 1.0 - far, Metric.DOT: -far, Metric.L2: -(far**2)}[self._metric]


@translate_errors("DuckDB vss", duckdb.Error)
class DuckdbVssStore(TunedByEf, PayloadSchemaMixin):
    """A DuckDB file with one table per collection; the extension comes from its package, not the network.

    Searches take turns: two at once in one process corrupt the extension's memory (seen with 1.5.5). A
    filtered search compares every matching row, since the index would only filter the few rows it found.
    """

    version: ClassVar[str] = "2"
    Params = GraphParams
    Query = GraphQuery
    max_dims: ClassVar[int] = 100_000
    gaps: ClassVar[dict[str, str]] = {
        **FLOAT32_ONLY,
        **VECTORS_ONLY,
        "delete": "an opened file is read only; not offered",
        "replace": "an opened file is read only; not offered",
        "batch": "searches take turns, one vector a statement",
        "clients": "the engine opens a file for writing once",
    }

    def __init__(self, params: GraphParams, home: Path) -> None:
        self._build, self._file = params.build, home / "rows.duckdb"
        self._rows, self._ef, self._turn = 0, 0, threading.Lock()
        self._table: DuckdbTable | None = None

    def engine_version(self) -> str:
        return installed_engine("duckdb", "duckdb_extension_vss")

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._connect(collection, dims, metric, read_only=False).make(self.columns())
        self._rows = 0

    def insert(self, batch: Batch) -> None:
        assert self._table is not None
        self._table.add(arrow_rows.table(self, batch))
        self._rows += len(batch.ids)

    def ready(self) -> None:
        assert self._table is not None
        self._table.index(self._build.m, self._build.ef_construction)
        expect_rows("DuckDB vss", self._table.indexed_rows(), self._rows)

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        """Open a table; a column of another dimension rejects the zeros that test the index."""
        self._rows = self._connect(collection, dims, metric, read_only=True).indexed_rows()
        return self._rows

    def search(self, vector: np.ndarray, k: int, query: GraphQuery) -> Hits:
        return self._nearest(k, query.ef, "", [written(vector)])

    def search_where(self, vector: np.ndarray, k: int, query: GraphQuery, where: Where) -> Hits:
        text, values = sql(self, where)
        return self._nearest(k, query.ef, text, [written(vector), *values])

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        assert self._table is not None
        with self._turn:
            return from_rows(self, ids, self._table.run(self._table.payloads(), [ids.tolist()]).fetchall())

    def close(self) -> None:
        if self._table is not None:
            self._table.connection.close()
        self._table = None

    def _nearest(self, k: int, ef: int, where: str, values: list[object]) -> Hits:
        assert self._table is not None
        with self._turn:
            if ef != self._ef:
                self._table.run(f"SET hnsw_ef_search = {ef}")
                self._ef = ef
            found = self._table.run(self._table.nearest(k, where), values).fetchnumpy()
        return make_hits(found["id"], self._table.scores(found["far"]))

    def _connect(self, collection: str, dims: int, metric: Metric, *, read_only: bool) -> DuckdbTable:
        self.close()
        self._ef, self._table = 0, DuckdbTable(self._file, collection, dims, metric, read_only=read_only)
        return self._table
