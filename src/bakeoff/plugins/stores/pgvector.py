"""PostgreSQL with pgvector: a table a collection, an HNSW or IVFFlat index, payload in columns, words by tsvector."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
import psycopg
from pydantic import Field

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import EF, PROBES, GraphBuild, Settings, expect_dims, guarantee
from bakeoff.plugins.kit.payload import Payload, PayloadSchemaMixin, from_rows, sql
from bakeoff.plugins.kit.server import (
    PREFIX,
    Address,
    ThreadLocalConnections,
    own_collections,
    translate_server_errors,
)
from bakeoff.plugins.stores import _postgres as pg
from bakeoff.protocols import Guarantee, SearchKnob
from bakeoff.types import Batch, Hits, Metric, PayloadField, Where

LIMITS = {"hnsw": 2_000, "ivfflat": 2_000, "none": 16_000}
SIGNS = {Metric.COSINE: "<=>", Metric.DOT: "<#>", Metric.L2: "<->"}
OPERATORS = {Metric.COSINE: "vector_cosine_ops", Metric.DOT: "vector_ip_ops", Metric.L2: "vector_l2_ops"}
COLUMNS = {"text": "text", "integer": "bigint", "number": "double precision"}
INDEXES = {"text": "hash", "integer": "btree", "number": "btree"}  # a B-tree takes no text over 2.7 kB
TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
FUSE = """WITH near AS ({near}), words AS ({words}), ranked AS (
SELECT id, row_number() OVER (ORDER BY far, id) AS place FROM near UNION ALL
SELECT id, row_number() OVER (ORDER BY score DESC, id) FROM words)
SELECT id, sum(1.0 / (60 + place))::float8 AS score FROM ranked GROUP BY id ORDER BY score DESC, id LIMIT {k}"""


class Build(GraphBuild):
    """What shapes the index; ef_construction is at least twice m."""

    index: Literal["hnsw", "ivfflat", "none"] = "hnsw"
    lists: Annotated[int, Field(ge=1, le=32_768, description="IVFFlat: cells")] = 100
    language: Annotated[str, Field(pattern="^[a-z_]+$", description="of the words")] = "english"

    def knob(self) -> SearchKnob | None:
        """What tunes a search of the index; the engine keeps at most 1,000 candidates."""
        cells = replace(PROBES, high=self.lists)
        return {"hnsw": replace(EF, high=pg.MOST_EF), "ivfflat": cells}.get(self.index)

    def options(self) -> str:
        """The shape as an index of SQL takes it."""
        if self.index == "hnsw":
            return f"m = {self.m}, ef_construction = {max(self.ef_construction, 2 * self.m)}"
        return f"lists = {self.lists}"


@functools.lru_cache(1024)
def nearest(table: str, metric: Metric, k: int, condition: str = "true") -> str:
    """The k rows nearest to a vector; values: the vector, the condition's.

    The count is part of the statement, for with a parameter there the server plans anew for each search; and the same
    text is the same object, by which the client knows that it has prepared it.
    """
    far = f"vector {SIGNS[metric]} %s"
    return f'SELECT id, {far} AS far FROM "{table}" WHERE {condition} ORDER BY far LIMIT {k}'  # noqa: S608


@dataclass(frozen=True, slots=True)
class PostgresTable:
    """One collection's table; 0 dimensions are for texts only."""

    name: str
    dims: int
    metric: Metric
    build: Build

    @property
    def index(self) -> str | None:
        """The kind of the vectors' index, where they have one."""
        return self.build.index if self.dims and self.build.index != "none" else None

    def made(self, fields: dict[str, PayloadField]) -> str:
        """An empty table in the place of one that may be there; a StoreError where its index takes fewer dimensions."""
        index, limit = self.build.index, LIMITS[self.build.index]
        if self.dims > limit:
            hint = " build.index none takes 16,000, and compares every row." if index != "none" else ""
            raise StoreError(
                f"pgvector: {self.dims:,} dimensions are over the {limit:,} of index {index}.{hint}"
            )
        columns = ["id bigint PRIMARY KEY", f"vector vector({max(self.dims, 1)})", "text text"]
        columns += [f"{column} {COLUMNS[field.kind]} NOT NULL" for column, field in fields.items()]
        columns += [f"words tsvector GENERATED ALWAYS AS (to_tsvector('{self.build.language}', text)) STORED"]
        return f'DROP TABLE IF EXISTS "{self.name}"; CREATE TABLE "{self.name}" ({", ".join(columns)})'

    def indexed(self, fields: dict[str, PayloadField], *, words: bool) -> Iterator[str]:
        """An index for each payload field, one for the words if there are any, one for the vectors."""
        parts = [f"{INDEXES[field.kind]} ({column})" for column, field in fields.items()]
        parts += ["gin (words)"] if words else []
        if self.index:
            parts += [f"{self.index} (vector {OPERATORS[self.metric]}) WITH ({self.build.options()})"]
        yield from (f'CREATE INDEX ON "{self.name}" USING {part}' for part in parts)

    def nearest(self, k: int, condition: str = "true") -> str:
        """The k rows nearest to a vector; values: the vector, the condition's."""
        return nearest(self.name, self.metric, k, condition)

    def matching(self, k: int) -> str:
        """The k best of the rows that have any of a text's words, ranked with the length of their text; value: text."""
        asked = f"replace(plainto_tsquery('{self.build.language}', %s)::text, ' & ', ' | ')::tsquery AS asked"
        ranked = "ts_rank(words, asked, 1)::float8 AS score"
        found = f'SELECT id, {ranked} FROM "{self.name}", (SELECT {asked}) AS one WHERE words @@ asked'  # noqa: S608
        return f"{found} ORDER BY score DESC, id LIMIT {k}"

    def fused(self, deep: int, k: int) -> str:
        """The k best by reciprocal ranks among the nearest and the best by words; values: vector, text."""
        return FUSE.format(near=self.nearest(deep), words=self.matching(deep), k=k)

    def chosen(self, columns: tuple[str, ...]) -> str:
        """Some columns of some rows; value: ids."""
        return f'SELECT {", ".join(columns)} FROM "{self.name}" WHERE id = ANY(%s)'  # noqa: S608

    def removed(self) -> str:
        """Some rows taken out; value: ids."""
        return f'DELETE FROM "{self.name}" WHERE id = ANY(%s)'  # noqa: S608


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
            connection.expect(self._table.name, self._table.index, self._rows)

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._table = PostgresTable(PREFIX + collection, dims, metric, self._build)
        expect_dims("pgvector", self._sql.width(self._table.name), max(dims, 1))
        self._rows, self._further = self._sql.count(self._table.name), False
        self._sql.expect(self._table.name, self._table.index, self._rows)
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
