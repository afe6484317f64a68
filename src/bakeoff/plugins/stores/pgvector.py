"""PostgreSQL with pgvector: a table a collection, an HNSW or IVFFlat index, payload in columns, words by tsvector."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
import psycopg
from pydantic import Field

from bakeoff.errors import StoreError
from bakeoff.plugins.stores import _postgres as pg
from bakeoff.plugins.stores._base import GraphBuild, GraphQuery, Settings, expect_dims, expect_rows
from bakeoff.plugins.stores._payload import Declared, Payload, in_order, payload_of, sql
from bakeoff.plugins.stores._server import Address, EachThread, address, password, speaking_of
from bakeoff.types import Batch, Hits, Metric, Where

LIMITS = {"hnsw": 2_000, "ivfflat": 2_000, "none": 16_000}
MOST_EF = 1000  # the engine's bound; its scan goes on by itself where k is larger


class Build(GraphBuild):
    """What shapes the index; ef_construction is at least twice m."""

    index: Literal["hnsw", "ivfflat", "none"] = "hnsw"
    lists: Annotated[int, Field(ge=1, le=32_768, description="IVFFlat: cells")] = 100
    language: Annotated[str, Field(pattern="^[a-z_]+$", description="of the words")] = "english"


class PgvectorParams(Settings):
    """Where PostgreSQL is (BAKEOFF_PGVECTOR_DSN) and how the index is built."""

    dsn: Address = None
    build: Build = Build()


class PgvectorQuery(GraphQuery):
    """What shapes a search."""

    probes: Annotated[int, Field(ge=1, le=32_768, description="IVFFlat: cells looked at")] = 10
    max_scan: Annotated[int, Field(ge=1, description="HNSW: rows visited at most, about")] = 20_000


@speaking_of("pgvector", psycopg.Error)
class PgvectorStore(Declared):
    """A table of PostgreSQL, searched through the index that was asked for; with a filter the planner chooses."""

    version: ClassVar[str] = "1"
    Params, Query = PgvectorParams, PgvectorQuery
    max_dims: ClassVar[int] = LIMITS["hnsw"]
    gaps: ClassVar[dict[str, str]] = {"batch": "PostgreSQL takes one vector a statement"}

    def __init__(self, params: PgvectorParams, home: Path) -> None:
        self._build, self._given = params.build, params.dsn
        self._table, self._metric, self._dims, self._rows, self._texts = "", Metric.COSINE, 0, 0, False
        self._threads = EachThread(self._connect)

    def engine_version(self) -> str:
        ((found,),) = self._sql.rows("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
        return f"PostgreSQL {self._sql.info.parameter_status('server_version')}, pgvector {found}"

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        index, limit = self._build.index, LIMITS[self._build.index]
        if dims > limit:
            hint = " build.index none takes 16,000, and compares every row." if index != "none" else ""
            raise StoreError(f"pgvector: {dims:,} dimensions are over the {limit:,} of index {index}.{hint}")
        self._name(collection, dims, metric)
        self._sql.execute(pg.table(self._table, dims, self._build.language, self.columns()))

    def insert(self, batch: Batch) -> None:
        self._sql.copy_in(self._table, batch, self.columns())
        self._rows, self._texts = self._rows + len(batch.ids), self._texts or bool(batch.texts)

    def ready(self) -> None:
        build, ef = self._build, max(self._build.ef_construction, 2 * self._build.m)
        parts = [f"{pg.INDEXES[field.kind]} ({column})" for column, field in self.columns().items()]
        parts += ["gin (words)"] if self._texts else []
        shape = (
            f"m = {build.m}, ef_construction = {ef}" if build.index == "hnsw" else f"lists = {build.lists}"
        )
        if self._dims and build.index != "none":
            parts += [f"{build.index} (vector {pg.OPERATORS[self._metric]}) WITH ({shape})"]
        for part in parts:
            self._sql.execute(f'CREATE INDEX ON "{self._table}" USING {part}')
        self._sql.execute(f'VACUUM ANALYZE "{self._table}"')
        self._assert_state()

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._name(collection, dims, metric)
        expect_dims("pgvector", self._sql.width(self._table), max(dims, 1))
        self._rows = self._sql.count(self._table)
        self._assert_state()
        return self._rows

    def search(self, vector: np.ndarray, k: int, query: PgvectorQuery) -> Hits:
        self._tune(query, k, self._build.index != "none")
        return pg.near(self._sql.rows(pg.nearest(self._table, self._metric), vector, k), self._metric)

    def search_where(self, vector: np.ndarray, k: int, query: PgvectorQuery, where: Where) -> Hits:
        condition, values = sql(self, where, "%s")
        self._tune(query, k, through_index=False)
        statement = pg.nearest(self._table, self._metric, condition)
        return pg.near(self._sql.rows(statement, vector, *values, k), self._metric)

    def search_text(self, text: str, k: int, query: PgvectorQuery) -> Hits:
        statement = pg.matching(self._table, self._build.language)
        return pg.ranked(self._sql.rows(statement, text.replace("\0", " "), k))

    def search_hybrid(self, text: str, vector: np.ndarray, k: int, query: PgvectorQuery) -> Hits:
        """Reciprocal rank fusion, in SQL, of the `ef` nearest rows and the `ef` best by words."""
        deep, near = max(query.ef, k), pg.nearest(self._table, self._metric)
        self._tune(query, deep, self._build.index != "none")
        fused = pg.FUSE.format(near=near, words=pg.matching(self._table, self._build.language))
        return pg.ranked(self._sql.rows(fused, vector, deep, text.replace("\0", " "), deep, k))

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        found = self._sql.rows(pg.chosen(self._table, ("id", *self.columns())), ids.tolist())
        return in_order(ids, {row[0]: payload_of(self.fields, row[1:]) for row in found})

    def delete(self, ids: np.ndarray) -> None:
        self._sql.execute(pg.removed(self._table), [ids.tolist()])

    def replace(self, batch: Batch) -> None:
        with self._sql.transaction():
            self.delete(batch.ids)
            self._sql.copy_in(self._table, batch, self.columns())

    def close(self) -> None:
        self._threads.close()

    @property
    def _sql(self) -> pg.Connection:
        return self._threads.mine()

    def _connect(self) -> pg.Connection:
        at = address("pgvector", "BAKEOFF_PGVECTOR_DSN", self._given)
        return pg.Connection.to(at, **(password("pgvector") if self._given else {}))

    def _name(self, collection: str, dims: int, metric: Metric) -> None:
        self._table, self._dims, self._metric = f"bakeoff_{collection}", dims, metric
        self._rows, self._texts = 0, False

    def _tune(self, query: PgvectorQuery, k: int, through_index: bool) -> None:
        ef, seqscan = min(max(query.ef, k), MOST_EF), "off" if through_index else "on"
        self._sql.tune(hnsw__ef_search=ef, hnsw__max_scan_tuples=query.max_scan, enable_seqscan=seqscan)
        self._sql.tune(ivfflat__probes=query.probes)

    def _assert_state(self) -> None:
        expect_rows("pgvector", self._sql.count(self._table), self._rows)
        wanted = self._build.index if self._dims and self._build.index != "none" else None
        self._sql.expect_indexes(self._table, wanted)
