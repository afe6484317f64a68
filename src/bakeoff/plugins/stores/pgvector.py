"""PostgreSQL with pgvector: a table a collection, an HNSW or IVFFlat index, payload in columns, words by tsvector."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
import psycopg
from pydantic import Field

from bakeoff.plugins.kit.adapter import Settings, expect_dims, guarantee
from bakeoff.plugins.kit.payload import Payload, PayloadSchemaMixin, from_rows, sql
from bakeoff.plugins.kit.server import (
    PREFIX,
    Address,
    ThreadLocalConnections,
    own_collections,
    translate_server_errors,
)
from bakeoff.plugins.stores import _postgres as pg
from bakeoff.plugins.stores._postgres_sql import LIMITS, TABLES, Build, PostgresTable
from bakeoff.protocols import Guarantee, SearchKnob
from bakeoff.types import Batch, Hits, Metric, Where


class PgvectorParams(Settings):
    """Where PostgreSQL is (BAKEOFF_PGVECTOR_DSN) and how the index is built."""

    dsn: Address = None
    build: Build = Build()
    synchronous_commit: Annotated[
        Literal["on", "off", "local", "remote_write", "remote_apply"],
        Field(description="on: a write reaches the disk before its answer"),
    ] = "on"


@translate_server_errors("pgvector", psycopg.Error)
class PgvectorStore(PayloadSchemaMixin):
    """A table of PostgreSQL, searched through the index that was asked for; with a filter the planner chooses."""

    version: ClassVar[str] = "1"
    Params, Query = PgvectorParams, pg.PgvectorQuery
    max_dims: ClassVar[int] = LIMITS["hnsw"]
    gaps: ClassVar[dict[str, str]] = {"batch": "PostgreSQL takes one vector a statement"}

    @classmethod
    def guarantees(cls, params: PgvectorParams, query: pg.PgvectorQuery) -> tuple[Guarantee, ...]:  # noqa: ARG003
        """When a write is on disk."""
        return (guarantee("durability", "synchronous_commit", params),)

    @classmethod
    def search_knob(cls, params: PgvectorParams) -> SearchKnob | None:
        """The candidates of a graph, or the cells looked at."""
        return params.build.knob()

    def __init__(self, params: PgvectorParams, home: Path) -> None:
        self._build, self._rows, self._texts, self._further = params.build, 0, False, False
        self._table = PostgresTable("", 0, Metric.COSINE, params.build)
        self._threads = ThreadLocalConnections(
            lambda: pg.PostgresConnection.to(params.dsn, params.synchronous_commit)
        )

    def engine_version(self) -> str:
        ((found,),) = self._sql.rows("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
        return f"PostgreSQL {self._sql.info.parameter_status('server_version')}, pgvector {found}"

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._table = PostgresTable(PREFIX + collection, dims, metric, self._build)
        self._rows, self._texts, self._further = 0, False, False
        self._sql.execute(self._table.made(self.columns()))

    def collections(self) -> list[str]:
        return own_collections(name for (name,) in self._sql.rows(TABLES))

    def drop(self, collection: str) -> None:
        self._sql.execute(f'DROP TABLE IF EXISTS "{PREFIX}{collection}"')

    def insert(self, batch: Batch) -> None:
        self._sql.copy_in(self._table.name, batch, self.columns())
        self._rows, self._texts = self._rows + len(batch.ids), self._texts or bool(batch.texts)

    def ready(self) -> None:
        with self._sql.unhurried() as connection:
            for statement in self._table.indexed(self.columns(), words=self._texts):
                connection.execute(statement)
            connection.execute(f'VACUUM ANALYZE "{self._table.name}"')
            connection.expect(self._table, self._rows)

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._table = PostgresTable(PREFIX + collection, dims, metric, self._build)
        expect_dims("pgvector", self._sql.width(self._table.name), max(dims, 1))
        self._rows, self._further = self._sql.count(self._table.name), False
        self._sql.expect(self._table, self._rows)
        return self._rows

    def search(self, vector: np.ndarray, k: int, query: pg.PgvectorQuery) -> Hits:
        found = self._tuned(query, k, further=self._further).rows(self._table.nearest(k), vector)
        if len(found) < min(k, self._rows) and not self._further:
            self._further = True  # rows were deleted, or the cells looked at hold too few
            return self.search(vector, k, query)
        return pg.near(found, self._table.metric)

    def search_where(self, vector: np.ndarray, k: int, query: pg.PgvectorQuery, where: Where) -> Hits:
        condition, values = sql(self, where, "%s")
        statement = self._table.nearest(k, condition)
        connection = self._tuned(query, k, further=True, filtered=True)
        return pg.near(connection.rows(statement, vector, *values), self._table.metric)

    def search_text(self, text: str, k: int, query: pg.PgvectorQuery) -> Hits:
        return pg.read_hits(self._sql.rows(self._table.matching(k), text.replace("\0", " ")))

    def search_hybrid(self, text: str, vector: np.ndarray, k: int, query: pg.PgvectorQuery) -> Hits:
        """Reciprocal rank fusion, in SQL, of the `ef` nearest rows and the `ef` best by words."""
        deep = max(query.ef, k)
        fused = self._table.fused(deep, k)
        return pg.read_hits(
            self._tuned(query, deep, further=True).rows(fused, vector, text.replace("\0", " "))
        )

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        chosen = self._table.chosen(("id", *self.columns()))
        return from_rows(self, ids, self._sql.rows(chosen, ids.tolist()))

    def delete(self, ids: np.ndarray) -> None:
        self._sql.execute(self._table.removed(), [ids.tolist()])

    def replace(self, batch: Batch) -> None:
        with self._sql.transaction():
            self.delete(batch.ids)
            self._sql.copy_in(self._table.name, batch, self.columns())

    def close(self) -> None:
        self._threads.close()

    @property
    def _sql(self) -> pg.PostgresConnection:
        return self._threads.mine()

    def _tuned(
        self, query: pg.PgvectorQuery, k: int, *, further: bool, filtered: bool = False
    ) -> pg.PostgresConnection:
        """This thread's connection; the planner may compare every row with a filter, or where there is no index."""
        seqscan = "on" if filtered or self._build.index == "none" else "off"
        return self._sql.tuned_to(query, k, seqscan, further=further)
