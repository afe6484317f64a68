"""PostgreSQL with pgvector: search settings, a connection that remembers its settings and cursor, answers."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import Annotated, Any, Self, TypeVar

import psycopg
from pgvector import SparseVector as SparseVec
from pgvector.psycopg.sparsevec import SparseVectorBinaryDumper, SparseVectorDumper
from pgvector.psycopg.vector import VectorBinaryDumper, VectorBinaryLoader, VectorDumper, VectorLoader
from psycopg import Connection
from psycopg.abc import PQGen
from psycopg.adapt import Dumper
from psycopg.conninfo import conninfo_to_dict
from psycopg.types import TypeInfo
from pydantic import Field

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import GraphQuery, expect_rows, make_hits
from bakeoff.plugins.kit.existing import (
    SAMPLED,
    Kind,
    metric_of,
    no_such_collection,
    no_such_field,
    sampled_fields,
    the_vector_field,
)
from bakeoff.plugins.kit.payload import quoted
from bakeoff.plugins.kit.server import password, request_timeout, server_of
from bakeoff.storage.consent import Destination, secret_for
from bakeoff.storage.environment import SettingSource
from bakeoff.types import Batch, CollectionFacts, ExistingCollection, Hits, Metric, PayloadField, SparseVector


def know_vectors(connection: Connection[object]) -> None:
    """Register NumPy and sparse vectors with a connection.

    The client keeps every class it was ever given, and `pgvector.psycopg.register_vector` makes eight new
    ones per connection: a process that reconnects often would grow.
    """
    for name, written, bases in WRITTEN:
        info = TypeInfo.fetch(connection, name)
        if info is None:
            raise StoreError(
                f"pgvector: the database has no type {name}. Check that version 0.7 or later of the "
                "extension is installed."
            )
        info.register(connection)
        for writer in _writers(info.oid, bases):
            connection.adapters.register_dumper(written, writer)
        if name == "vector":
            for reader in (VectorLoader, VectorBinaryLoader):
                connection.adapters.register_loader(info.oid, reader)


WRITTEN: tuple[tuple[str, str | type, tuple[type[Dumper], ...]], ...] = (
    ("vector", "numpy.ndarray", (VectorDumper, VectorBinaryDumper)),
    ("sparsevec", SparseVec, (SparseVectorDumper, SparseVectorBinaryDumper)),
)
"""The engine's vector types, their Python types, and their writers."""


@cache
def _writers(oid: int, bases: tuple[type[Dumper], ...]) -> tuple[type[Dumper], ...]:
    """Writers for the type with this oid; each database assigns its own."""
    return tuple(type(base.__name__, (base,), {"oid": oid}) for base in bases)


def sparse_value(vector: SparseVector, dims: int) -> SparseVec:
    """A sparse vector in the client's form."""
    return SparseVec(dict(zip(vector.terms.tolist(), vector.weights.tolist(), strict=True)), dims)


def _vectors(batch: Batch) -> tuple[str, Iterable[Any]] | None:
    """Type and values of a batch's vectors, if it has any."""
    if batch.sparse is not None:
        dims = batch.sparse.dims
        return "sparsevec", (sparse_value(row, dims) for row in batch.sparse)
    if batch.tokens is not None:
        return "vector[]", (list(matrix) for matrix in batch.tokens)
    return None if batch.vectors is None else ("vector", batch.vectors)


COPIED = {"text": "text", "integer": "int8", "number": "float8"}
EXTENSION = """SELECT pg_advisory_lock(7407); CREATE EXTENSION IF NOT EXISTS vector; SELECT pg_advisory_unlock(7407);
SET client_min_messages = warning"""
INDEXED = """SELECT amname, indisvalid AND indisready FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
JOIN pg_am ON pg_am.oid = relam WHERE indrelid = %s::regclass"""
TUNE = """SELECT set_config('hnsw.ef_search', %s, false), set_config('hnsw.max_scan_tuples', %s, false),
set_config('ivfflat.probes', %s, false), set_config('enable_seqscan', %s, false),
set_config('hnsw.iterative_scan', scan, false), set_config('ivfflat.iterative_scan', scan, false)
FROM (SELECT %s AS scan)"""
TABLES = """SELECT CASE schemaname WHEN 'public' THEN '' ELSE schemaname || '.' END || tablename FROM pg_tables
WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"""
COLUMNS = """SELECT attname::text, format_type(atttypid, NULL) FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"""
OPERATOR_CLASSES = """SELECT opcname::text FROM pg_index JOIN pg_opclass ON pg_opclass.oid = ANY(indclass::oid[])
JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY(indkey) AND attname = %s
WHERE indrelid = %s::regclass AND opcname ~ '^(half)?vec(tor)?_'"""
FILTERED: dict[str, Kind] = {
    **dict.fromkeys(("text", "character varying", "character", "uuid"), "text"),
    **dict.fromkeys(("smallint", "integer", "bigint"), "integer"),
    **dict.fromkeys(("real", "double precision", "numeric"), "number"),
    **dict.fromkeys(("date", "timestamp without time zone", "timestamp with time zone"), "date"),
    "boolean": "boolean",
}
CASTS = {"integer": "numeric", "number": "numeric", "boolean": "boolean"}
READ_ONLY = "SET default_transaction_read_only = on; SET TIME ZONE 'UTC'"
CONNECTING = 10
MOST_EF = 1000  # the engine's limit; for a larger k the scan continues by itself
CANCELLED = 1.0  # seconds after the limit in which the server may still report the timeout
FAR = itemgetter(1)
R = TypeVar("R")


class PgvectorQuery(GraphQuery):
    """Search settings."""

    probes: Annotated[int, Field(ge=1, le=32_768, description="IVFFlat: cells searched")] = 10
    max_scan: Annotated[int, Field(ge=1, description="HNSW: approximate limit of visited rows")] = 20_000


class PostgresConnection(psycopg.Connection[tuple[object, ...]]):
    """A connection that commits each statement, knows vectors, and sends a setting only when it changes.

    The server ends a statement that takes too long; if the server is silent, the connection is given up.
    """

    tuned: tuple[object, ...]
    asking: psycopg.Cursor[tuple[object, ...]]
    limit: float | None = None  # seconds to wait for the server's word on one statement

    @classmethod
    def to(cls, dsn: str | None, synchronous_commit: str = "on", *, read_only: bool = False) -> Self:
        """Connect to the given address, or the environment's; an address that can't be parsed is not shown.

        With `read_only`, the server rejects every write.
        """
        server = server_of("pgvector", "BAKEOFF_PGVECTOR_DSN", dsn)
        try:
            settings = conninfo_to_dict(server.url)
        except psycopg.ProgrammingError:
            raise StoreError(
                "pgvector: the DSN can't be parsed. Use postgresql://user@host:5432/database."
            ) from None
        secret = _secret(settings, server.source) if dsn else {}
        connection = cls.connect(autocommit=True, **{**_waiting(request_timeout()), **settings, **secret})
        connection._give(request_timeout())
        connection.execute(READ_ONLY if read_only else EXTENSION)
        connection.execute(f"SET synchronous_commit = {synchronous_commit}")
        know_vectors(connection)
        connection.tuned, connection.asking = (), connection.cursor(binary=True)
        return connection

    def wait(self, gen: PQGen[R], interval: float = 0.1, timeout: float | None = None) -> R:
        """Run one exchange with the server; give up the connection if it is silent for too long."""
        try:
            return super().wait(gen, interval, timeout or self.limit)
        except psycopg.errors._WaitTimeout:
            self.pgconn.finish()
            raise

    @contextlib.contextmanager
    def without_timeout(self) -> Iterator[Self]:
        """This connection without a time limit: building an index of many rows may take long."""
        self._give(None)
        try:
            yield self
        finally:
            if not self.closed:
                self._give(request_timeout())

    def _give(self, seconds: float | None) -> None:
        """Limit each statement to this many seconds."""
        self.limit = None if seconds is None else seconds + CANCELLED
        self.execute(f"SET statement_timeout = {math.ceil(1000 * (seconds or 0))}")

    def tuned_to(self, query: PgvectorQuery, k: int, seqscan: str, *, further: bool) -> Self:
        """This connection, set up for a search.

        `seqscan`, on or off, says whether the planner may compare every row. With `further`, the index scan
        continues until k rows are found; the server then keeps all it has seen, which takes a tenth to a
        quarter of a search's time.
        """
        scan = "relaxed_order" if further or k > MOST_EF else "off"
        wanted = (min(max(query.ef, k), MOST_EF), query.max_scan, query.probes, seqscan, scan)
        if wanted != self.tuned:
            self.rows(TUNE, *map(str, wanted))
            self.tuned = wanted
        return self

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Rows of a statement; a single cursor is reused, because it knows how to write the previous values."""
        return self.asking.execute(statement, values).fetchall()

    def open_cursor(self, statement: str, values: Any) -> psycopg.ServerCursor[tuple[Any, ...]]:
        """A server-side cursor over a statement's rows; it lives until the transaction ends."""
        self.execute("BEGIN READ ONLY")
        cursor = self.cursor("bakeoff_rows")
        cursor.execute(statement, values)
        return cursor

    def count(self, table: str) -> int:
        """Rows of a table."""
        return int(self.rows(f'SELECT count(*) FROM "{table}"')[0][0])  # noqa: S608

    def dimensions(self, table: str) -> int:
        """Dimensions of a table's vectors."""
        asked = "SELECT atttypmod FROM pg_attribute WHERE attname = 'vector' AND attrelid = %s::regclass"
        return int(self.rows(asked, f'"{table}"')[0][0])

    def expect(self, table: str, index: str | None, rows: int) -> None:
        """Raise unless a table has all its rows and valid indexes, including the vectors'."""
        expect_rows("pgvector", self.count(table), rows)
        found = dict(self.rows(INDEXED, f'"{table}"'))
        if not all(found.values()) or (index and index not in found):
            raise StoreError(f"pgvector has not finished its {index} index; the table's indexes: {found}.")

    def copy_in(self, table: str, batch: Batch, fields: dict[str, PayloadField]) -> None:
        """Add rows with binary COPY; NUL characters in texts become spaces, since only the words matter."""
        kind, vectors = _vectors(batch) or ("", ())
        names = ["id", *(["vector"] if kind else []), *(["text"] if batch.texts else []), *fields]
        types = {"id": "int8", "vector": kind, "text": "text"} | {
            c: COPIED[f.kind] for c, f in fields.items()
        }
        columns: list[Any] = [batch.ids.tolist()]
        columns += [vectors] if kind else []
        columns += [[text.replace("\0", " ") for text in batch.texts]] if batch.texts else []
        columns += [[row[field.name] for row in batch.payloads or ()] for field in fields.values()]
        into = f'COPY "{table}" ({", ".join(names)}) FROM STDIN (FORMAT BINARY)'
        with self.cursor() as cursor, cursor.copy(into) as copy:
            copy.set_types([types[name] for name in names])
            for row in zip(*columns, strict=True):
                copy.write_row(row)


@dataclass(frozen=True, slots=True)
class ExistingTable:
    """An existing table, with its id and vector columns, quoted; the metric is that of its index."""

    name: str
    id: str
    vector: str
    metric: Metric | None = None
    cast: str = "vector"

    @classmethod
    def find(
        cls, connection: PostgresConnection, asked: ExistingCollection, operators: dict[Metric, str]
    ) -> Self:
        """Find a table by name, optionally with a schema, and its columns."""
        name = ".".join(quoted(part) for part in asked.name.split("."))
        if connection.rows("SELECT to_regclass(%s)::text", name)[0][0] is None:
            known = [row[0] for row in connection.rows(TABLES)]
            raise no_such_collection("pgvector", asked.name, known)
        columns = dict(connection.rows(COLUMNS, name))
        own = asked.id_field or "id"
        if own.partition(".")[0] not in columns:
            raise no_such_field("pgvector", own, columns, "column of ids")
        vectors = [column for column, kind in columns.items() if kind in ("vector", "halfvec")]
        vector = the_vector_field("pgvector", asked.vector_field, vectors)
        classes = [row[0] for row in connection.rows(OPERATOR_CLASSES, vector, name)]
        names = {metric: one.partition("_")[2] for metric, one in operators.items()}
        held = metric_of("pgvector", names, classes[0].partition("_")[2]) if classes else None
        return cls(name, _column(own, columns), quoted(vector), held, columns[vector])

    def filter_columns(self, connection: PostgresConnection) -> dict[str, PayloadField]:
        """Columns that filters can name, and fields inside their JSON, by SQL expression."""
        columns, found = dict(connection.rows(COLUMNS, self.name)), dict[str, PayloadField]()
        for column, kind in columns.items():
            if kind in FILTERED:
                found[quoted(column)] = PayloadField(column, FILTERED[kind])
            if kind in ("json", "jsonb"):
                some = f"SELECT {quoted(column)} FROM {self.name} LIMIT {SAMPLED}"  # noqa: S608 - quoted
                for field in sampled_fields({column: row[0]} for row in connection.rows(some) if row[0]):
                    typed = CASTS.get(field.kind, "text")
                    found[f"({_column(field.name, columns)})::{typed}"] = field
        return found

    def facts(self, connection: PostgresConnection) -> CollectionFacts:
        """Rows and dimensions, and the metric of the index if there is one."""
        ((rows,),) = connection.rows(f"SELECT count(*) FROM {self.name}")  # noqa: S608 - quoted
        dims = connection.rows(f"SELECT vector_dims({self.vector}) FROM {self.name} LIMIT 1")  # noqa: S608 - quoted
        return CollectionFacts(rows, dims[0][0] if dims else 0, self.metric)

    def nearest(self, sign: str, k: int, condition: str) -> str:
        """SQL for the k nearest rows; values: the vector, the condition's."""
        far = f"{self.vector} {sign} %s::{self.cast} AS far"
        kept = f"FROM {self.name} WHERE {condition} ORDER BY far LIMIT {k}"
        return f"SELECT {self.id}::text, {far} {kept}"

    def rows_within(self, condition: str) -> str:
        """SQL for the rows within a condition, with their vectors."""
        return f"SELECT {self.id}::text, {self.vector}::vector FROM {self.name} WHERE {condition}"  # noqa: S608 - quoted


def _column(path: str, columns: dict[str, str]) -> str:
    """A column, or the text at a path inside a JSON column."""
    column, *inner = path.split(".")
    if not inner or path in columns:
        return quoted(path)
    keys = ", ".join("'" + name.replace("'", "''") + "'" for name in inner)
    return f"jsonb_extract_path_text({quoted(column)}::jsonb, {keys})"


def _secret(settings: dict[str, Any], source: SettingSource) -> dict[str, Any]:
    """The password for a DSN without one, per host; libpq itself would send PGPASSWORD to any host."""
    hosts = str(settings.get("hostaddr") or settings.get("host") or "localhost").split(",")
    secret: dict[str, Any] = {}
    for host in hosts:
        name = "localhost" if host.startswith("/") else f"[{host}]" if ":" in host else host
        server = Destination(f"postgresql://{name}", source)
        secret_for("PGPASSWORD", server)
        secret = {**password("pgvector", server)}
    return secret


def _waiting(seconds: float) -> dict[str, Any]:
    """Connection timeout, and when to give up a dead connection; a DSN may override them."""
    limit = math.ceil(seconds)
    alive = {"keepalives_idle": limit, "keepalives_interval": max(limit // 6, 1), "keepalives_count": 6}
    return {"connect_timeout": min(limit, CONNECTING), "tcp_user_timeout": 1000 * limit, **alive}


def read_hits(found: list[tuple[object, ...]]) -> Hits:
    """Hits from rows of id and score."""
    return make_hits([row[0] for row in found], [row[1] for row in found])


def near(found: list[tuple[Any, ...]], metric: Metric) -> Hits:
    """Hits from rows of id and distance, sorted because the engine's relaxed order may be slightly off."""
    found.sort(key=FAR)
    ids, far = zip(*found, strict=True) if found else ((), ())
    if metric is Metric.L2:
        return make_hits(ids, [-one * one for one in far])
    return make_hits(ids, [1.0 - one for one in far] if metric is Metric.COSINE else [-one for one in far])
