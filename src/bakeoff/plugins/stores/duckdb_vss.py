"""DuckDB with its vss extension, embedded: an HNSW index over a table's column, searched by SQL."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import numpy as np

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
from bakeoff.plugins.kit.payload import VECTORS_ONLY, Payload, PayloadSchemaMixin, from_rows, sql
from bakeoff.plugins.stores._duckdb import DuckdbTable, written
from bakeoff.types import Batch, Hits, Metric, Where

ENGINE = translate_errors("DuckDB vss", duckdb.Error)


class DuckdbVssStore(TunedByEf, PayloadSchemaMixin):
    """A DuckDB file with one table for each collection; the extension comes from its package, not the network.

    Searches take turns: two at once in one process break the extension's memory (seen with 1.5.5). A search with a
    filter compares every row that satisfies it, since the index would filter the few rows it has found.
    """

    version: ClassVar[str] = "2"
    Params = GraphParams
    Query = GraphQuery
    max_dims: ClassVar[int] = 100_000
    gaps: ClassVar[dict[str, str]] = {
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

    @ENGINE
    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._connect(collection, dims, metric, read_only=False).make(self.columns())
        self._rows = 0

    @ENGINE
    def insert(self, batch: Batch) -> None:
        assert self._table is not None
        self._table.add(arrow_rows.table(self, batch))
        self._rows += len(batch.ids)

    @ENGINE
    def ready(self) -> None:
        assert self._table is not None
        self._table.index(self._build.m, self._build.ef_construction)
        expect_rows("DuckDB vss", self._table.indexed(), self._rows)

    @ENGINE
    def open(self, collection: str, dims: int, metric: Metric) -> int:
        """A column of another dimension does not take the zeros that the index is tried with."""
        self._rows = self._connect(collection, dims, metric, read_only=True).indexed()
        return self._rows

    @ENGINE
    def search(self, vector: np.ndarray, k: int, query: GraphQuery) -> Hits:
        return self._nearest(k, query.ef, "", [written(vector)])

    @ENGINE
    def search_where(self, vector: np.ndarray, k: int, query: GraphQuery, where: Where) -> Hits:
        text, values = sql(self, where)
        return self._nearest(k, query.ef, text, [written(vector), *values])

    @ENGINE
    def payloads(self, ids: np.ndarray) -> list[Payload]:
        assert self._table is not None
        with self._turn:
            return from_rows(self, ids, self._table.run(self._table.payloads(), [ids.tolist()]).fetchall())

    def close(self) -> None:
        if self._table is not None:
            self._table.connection.close()
        self._table = None

    def _nearest(self, k: int, ef: int, where: str, values: list[Any]) -> Hits:
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
