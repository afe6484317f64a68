"""PostgreSQL with pgvector: a table per collection, an HNSW or IVFFlat index, payload in columns, words by
tsvector."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import psycopg
from pydantic import Field

from bakeoff.plugins.kit.adapter import (
    SmallVectors,
    expect_dims,
    guarantee,
    make_hits,
    score_from_hamming,
)
from bakeoff.plugins.kit.encoded import HoldsKind, require_terms, require_tokens, require_weights
from bakeoff.plugins.kit.existing import READ_ROWS, named_hits, named_vectors, no_such_field
from bakeoff.plugins.kit.payload import Payload, PayloadSchemaMixin, Value, from_rows, sql
from bakeoff.plugins.kit.server import (
    PREFIX,
    Address,
    ThreadLocalConnections,
    own_collections,
    translate_server_errors,
)
from bakeoff.plugins.kit.words import UNSPACED, LanguageParams, space_words
from bakeoff.plugins.stores import _postgres as pg
from bakeoff.plugins.stores._postgres_table import LIMITS, OPERATORS, SIGNS, Build, PostgresTable
from bakeoff.protocols import Guarantee, SearchKnob
from bakeoff.types import (
    Batch,
    CollectionFacts,
    ExistingCollection,
    Hits,
    Metric,
    NamedHits,
    NamedVectors,
    SparseVector,
    Storage,
    Where,
)

WITHOUT_WORDS = UNSPACED | {"czech", "persian", "polish", "ukrainian"}
"""Languages for which the engine has no stems and stop words."""
TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"


class PgvectorParams(LanguageParams):
    """Where PostgreSQL is (BAKEOFF_PGVECTOR_DSN) and how the index is built."""

    dsn: Address = None
    build: Build = Build()
    synchronous_commit: Annotated[
        Literal["on", "off", "local", "remote_write", "remote_apply"],
        Field(description="on: a write reaches the disk before its answer"),
    ] = "on"


@translate_server_errors("pgvector", psycopg.Error)
class PgvectorStore(HoldsKind, SmallVectors, PayloadSchemaMixin):
    """A PostgreSQL table, searched through the requested index; with a filter, the planner chooses."""

    version: ClassVar[str] = "1"
    Params, Query = PgvectorParams, pg.PgvectorQuery
    max_dims: ClassVar[int] = LIMITS["hnsw"]
    storages = ("float16", "binary")
    rescores: ClassVar[tuple[Storage, ...]] = storages
    gaps: ClassVar[dict[str, str]] = {"batch": "PostgreSQL takes one vector a statement"}

    @classmethod
    def guarantees(cls, params: PgvectorParams, query: pg.PgvectorQuery) -> tuple[Guarantee, ...]:  # noqa: ARG003
        """When a write reaches the disk."""
        return (guarantee("durability", "synchronous_commit", params),)

    @classmethod
    def search_knob(cls, params: PgvectorParams) -> SearchKnob | None:
        """The setting that trades recall for speed: candidates of a graph, or cells searched."""
        return params.build.knob()

    def __init__(self, params: PgvectorParams, home: Path) -> None:
        self._build, self._rows, self._texts, self._further = params.build, 0, False, False
        self._words = "simple" if params.language in WITHOUT_WORDS else params.language or "english"
        self._table = PostgresTable("", 0, Metric.COSINE, params.build)
        self._threads = ThreadLocalConnections(
            lambda: pg.PostgresConnection.to(params.dsn, params.synchronous_commit, read_only=self._read_only)
        )
        self._read_only, self._existing, self._asked = False, pg.ExistingTable("", "", ""), Metric.COSINE

    def engine_version(self) -> str:
        ((found,),) = self._sql.rows("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
        return f"PostgreSQL {self._sql.info.parameter_status('server_version')}, pgvector {found}"

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._table = self._table_of(collection, dims, metric)
        self._rows, self._texts, self._further = 0, False, False
        self._sql.execute(self._table.create_table(self.columns()))

    def collections(self) -> list[str]:
        return own_collections(name for (name,) in self._sql.rows(TABLES))

    def drop(self, collection: str) -> None:
        self._sql.execute(f'DROP TABLE IF EXISTS "{PREFIX}{collection}"')

    def insert(self, batch: Batch) -> None:
        self._copy_in(batch)
        self._rows, self._texts = self._rows + len(batch.ids), self._texts or bool(batch.texts)

    def _copy_in(self, batch: Batch) -> None:
        if self.kind == "sparse":
            require_weights("pgvector", batch, self._table.most_weights)
        elif self.kind == "tokens":
            require_tokens("pgvector", batch)
        self._sql.copy_in(self._table.name, self._cut_texts(batch), self.columns())

    def ready(self) -> None:
        with self._sql.without_timeout() as connection:
            for statement in self._table.create_indexes(self.columns(), words=self._texts):
                connection.execute(statement)
            connection.execute(f'VACUUM ANALYZE "{self._table.name}"')
            connection.expect(self._table.name, self._table.index, self._rows)

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._table = self._table_of(collection, dims, metric)
        expect_dims("pgvector", self._sql.dimensions(self._table.name), max(dims, 1))
        self._rows, self._further = self._sql.count(self._table.name), False
        self._sql.expect(self._table.name, self._table.index, self._rows)
        return self._rows

    def search(self, vector: np.ndarray, k: int, query: pg.PgvectorQuery) -> Hits:
        found = self._tuned_connection(query, k, further=self._further).rows(self._table.nearest(k), vector)
        if len(found) < min(k, self._rows) and not self._further:
            self._further = True  # rows were deleted, or the searched cells hold too few
            return self.search(vector, k, query)
        return self._near(found)

    def search_rescored(
        self, vector: np.ndarray, k: int, query: pg.PgvectorQuery, candidates: int, where: Where = ()
    ) -> Hits:
        condition, values = sql(self, where, "%s") if where else ("true", [])
        connection = self._tuned_connection(query, candidates, further=True, filtered=bool(where))
        found = connection.rows(self._table.rescored(k, candidates, condition), vector, vector, *values)
        return pg.near(found, self._table.metric)

    def search_sparse(self, vector: SparseVector, k: int, query: pg.PgvectorQuery, where: Where = ()) -> Hits:
        """Search by HNSW over sparsevec, or every row; a row that shares no term has a product of 0 and is
        left out."""
        require_terms("pgvector", self._table.dims, vector)
        condition, values = sql(self, where, "%s") if where else ("true", [])
        connection = self._tuned_connection(query, k, further=bool(where), filtered=bool(where))
        asked = pg.sparse_value(vector, self._table.dims)
        found = connection.rows(self._table.nearest(k, condition), asked, *values)
        return pg.near([row for row in found if row[1] < 0], Metric.DOT)

    def search_tokens(self, tokens: np.ndarray, k: int, query: pg.PgvectorQuery, where: Where = ()) -> Hits:
        condition, values = sql(self, where, "%s") if where else ("true", [])
        return pg.read_hits(self._sql.rows(self._table.best_by_maxsim(k, condition), list(tokens), *values))

    def _near(self, found: list[tuple[Any, ...]]) -> Hits:
        """Hits from rows of id and distance."""
        if self._storage != "binary":
            return pg.near(found, self._table.metric)
        hits = pg.near(found, Metric.DOT)
        return make_hits(hits.ids, score_from_hamming(-hits.scores, self._table.dims))

    def open_existing(self, collection: ExistingCollection, metric: Metric) -> CollectionFacts:
        """Open an existing table, on connections that may only read."""
        self._read_only = True
        self._existing, self._asked = pg.ExistingTable.find(self._sql, collection, OPERATORS), metric
        self.adopt(self._existing.filter_columns(self._sql))
        return self._existing.facts(self._sql)

    def search_existing(
        self, vector: np.ndarray, k: int, query: pg.PgvectorQuery, where: Where = ()
    ) -> NamedHits:
        table = self._existing
        metric = table.metric or self._asked
        condition, values = sql(self, where, "%s")
        connection = self._sql.tuned_to(query, k, "on", further=True)
        found = connection.rows(table.nearest(SIGNS[metric], k, condition), vector, *values)
        if any(row[0] is None for row in found):
            raise no_such_field("pgvector", table.id, (one.name for one in self.fields), "value of ids")
        hits = pg.near([(row, far) for row, (_, far) in enumerate(found)], metric)
        return named_hits((found[row][0] for row in hits.ids.tolist()), hits.scores.tolist())

    def read_existing(self, where: Where = (), after: Any = None) -> NamedVectors:
        """Rows of a cursor, in a transaction that stays open while they are read."""
        connection = self._sql
        try:
            cursor = after or connection.open_cursor(*self._within(where))
            rows = cursor.fetchmany(READ_ROWS)
        except psycopg.Error:
            connection.rollback()
            raise
        more = cursor if len(rows) == READ_ROWS else None
        if more is None:
            connection.commit()
        vectors = (None if row[1] is None else row[1].to_numpy() for row in rows)
        return named_vectors((row[0] for row in rows), vectors, more)

    def _within(self, where: Where) -> tuple[str, list[Value]]:
        """SQL that reads the rows within a filter, and its values."""
        condition, values = sql(self, where, "%s")
        return self._existing.rows_within(condition), values

    def search_where(self, vector: np.ndarray, k: int, query: pg.PgvectorQuery, where: Where) -> Hits:
        condition, values = sql(self, where, "%s")
        statement = self._table.nearest(k, condition)
        connection = self._tuned_connection(query, k, further=True, filtered=True)
        return self._near(connection.rows(statement, vector, *values))

    def search_text(self, text: str, k: int, query: pg.PgvectorQuery) -> Hits:
        return pg.read_hits(self._sql.rows(self._table.matching(k), self._cut_words(text)))

    def search_hybrid(self, text: str, vector: np.ndarray, k: int, query: pg.PgvectorQuery) -> Hits:
        """Reciprocal rank fusion, in SQL, of the `ef` nearest rows and the `ef` best by words."""
        deep = max(query.ef, k)
        fused = self._table.fuse_rankings(deep, k)
        return pg.read_hits(
            self._tuned_connection(query, deep, further=True).rows(fused, vector, self._cut_words(text))
        )

    def _cut_words(self, text: str) -> str:
        """Prepare a text for the engine, which has no dictionary of languages without spaces."""
        return space_words(text) if self._words == "simple" else text.replace("\0", " ")

    def _cut_texts(self, batch: Batch) -> Batch:
        if batch.texts is None or self._words != "simple":
            return batch
        return replace(batch, texts=[self._cut_words(text) for text in batch.texts])

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        chosen = self._table.select_rows(("id", *self.columns()))
        return from_rows(self, ids, self._sql.rows(chosen, ids.tolist()))

    def delete(self, ids: np.ndarray) -> None:
        self._sql.execute(self._table.delete_rows(), [ids.tolist()])

    def replace(self, batch: Batch) -> None:
        with self._sql.transaction():
            self.delete(batch.ids)
            self._copy_in(batch)

    def close(self) -> None:
        self._threads.close()

    def _table_of(self, collection: str, dims: int, metric: Metric) -> PostgresTable:
        return PostgresTable(
            name=PREFIX + collection,
            dims=dims,
            metric=metric,
            build=self._build,
            words=self._words,
            storage=self._storage,
            kind=self.kind,
        )

    @property
    def _sql(self) -> pg.PostgresConnection:
        return self._threads.mine()

    def _tuned_connection(
        self, query: pg.PgvectorQuery, k: int, *, further: bool, filtered: bool = False
    ) -> pg.PostgresConnection:
        """This thread's connection; with a filter or without an index, the planner may compare every row."""
        seqscan = "on" if filtered or self._build.index == "none" else "off"
        return self._sql.tuned_to(query, k, seqscan, further=further)
