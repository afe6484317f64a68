"""PostgreSQL with pgvector: what shapes a search, a connection that keeps its settings and its cursor, answers."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from functools import cache
from operator import itemgetter
from typing import Annotated, Any, Self, TypeVar

import psycopg
from pgvector.psycopg.vector import VectorBinaryDumper, VectorBinaryLoader, VectorDumper, VectorLoader
from psycopg import Connection
from psycopg.abc import PQGen
from psycopg.adapt import Dumper
from psycopg.conninfo import conninfo_to_dict
from psycopg.types import TypeInfo
from pydantic import Field

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import GraphQuery, expect_rows, make_hits
from bakeoff.plugins.kit.server import password, request_timeout, server_of
from bakeoff.storage.consent import Destination, secret_for
from bakeoff.storage.environment import SettingSource
from bakeoff.types import Batch, Hits, Metric, PayloadField


def know_vectors(connection: Connection[Any]) -> None:
    """Let a connection take NumPy rows as vectors.

    The client keeps every class it was ever given, and `pgvector.psycopg.register_vector` makes eight new ones for each
    connection: a process that connects again and again would grow.
    """
    info = TypeInfo.fetch(connection, "vector")
    if info is None:
        raise StoreError(
            "pgvector: the database has no type vector. Look whether its extension is installed."
        )
    info.register(connection)
    for writer in _writers(info.oid):
        connection.adapters.register_dumper("numpy.ndarray", writer)
    for reader in (VectorLoader, VectorBinaryLoader):
        connection.adapters.register_loader(info.oid, reader)


@cache
def _writers(oid: int) -> tuple[type[Dumper], ...]:
    """Writers of the type with this number; each database numbers it anew."""
    return tuple(type(base.__name__, (base,), {"oid": oid}) for base in (VectorDumper, VectorBinaryDumper))


COPIED = {"text": "text", "integer": "int8", "number": "float8"}
EXTENSION = """SELECT pg_advisory_lock(7407); CREATE EXTENSION IF NOT EXISTS vector; SELECT pg_advisory_unlock(7407);
SET client_min_messages = warning"""
INDEXED = """SELECT amname, indisvalid AND indisready FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
JOIN pg_am ON pg_am.oid = relam WHERE indrelid = %s::regclass"""
TUNE = """SELECT set_config('hnsw.ef_search', %s, false), set_config('hnsw.max_scan_tuples', %s, false),
set_config('ivfflat.probes', %s, false), set_config('enable_seqscan', %s, false),
set_config('hnsw.iterative_scan', scan, false), set_config('ivfflat.iterative_scan', scan, false)
FROM (SELECT %s AS scan)"""
CONNECTING = 10
MOST_EF = 1000  # the engine's limit; for a larger k its scan continues by itself
CANCELLED = 1.0  # seconds after the limit in which the server itself may say that it was reached
FAR = itemgetter(1)
R = TypeVar("R")


class PgvectorQuery(GraphQuery):
    """What shapes a search."""

    probes: Annotated[int, Field(ge=1, le=32_768, description="IVFFlat: cells looked at")] = 10
    max_scan: Annotated[int, Field(ge=1, description="HNSW: rows visited at most, about")] = 20_000


class PostgresConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that commits each statement, knows vectors, and is told a setting only when it changes.

    The server ends a statement that takes too long; one whose server says nothing at all ends with the connection.
    """

    tuned: tuple[object, ...]
    asking: psycopg.Cursor[tuple[Any, ...]]
    limit: float | None = None  # seconds to wait for the server's word on one statement

    @classmethod
    def to(cls, given: str | None, synchronous_commit: str = "on") -> Self:
        """Connect to the address given, or to the one the environment names; one that cannot be read is not shown."""
        server = server_of("pgvector", "BAKEOFF_PGVECTOR_DSN", given)
        try:
            told = conninfo_to_dict(server.url)
        except psycopg.ProgrammingError:
            raise StoreError(
                "pgvector: the DSN cannot be read. It looks like postgresql://user@host:5432/database."
            ) from None
        secret = _secret(told, server.source) if given else {}
        made = cls.connect(autocommit=True, **{**_waiting(request_timeout()), **told, **secret})
        made._give(request_timeout())
        made.execute(EXTENSION)
        made.execute(f"SET synchronous_commit = {synchronous_commit}")
        know_vectors(made)
        made.tuned, made.asking = (), made.cursor(binary=True)
        return made

    def wait(self, gen: PQGen[R], interval: float = 0.1, timeout: float | None = None) -> R:
        """Run one exchange with the server; where it says nothing for too long, the connection is given up."""
        try:
            return super().wait(gen, interval, timeout or self.limit)
        except psycopg.errors._WaitTimeout:
            self.pgconn.finish()
            raise

    @contextlib.contextmanager
    def unhurried(self) -> Iterator[Self]:
        """Itself, with no limit of time: an index of many rows takes what it takes."""
        self._give(None)
        try:
            yield self
        finally:
            if not self.closed:
                self._give(request_timeout())

    def _give(self, seconds: float | None) -> None:
        """Let each statement have so many seconds."""
        self.limit = None if seconds is None else seconds + CANCELLED
        self.execute(f"SET statement_timeout = {math.ceil(1000 * (seconds or 0))}")

    def tuned_to(self, query: PgvectorQuery, k: int, seqscan: str, *, further: bool) -> Self:
        """Itself, set for a search.

        `seqscan`, on or off, says whether the planner may compare every row. `further`: the index's scan goes on until
        k rows are found; the server then keeps all it has seen, which takes a tenth to a quarter of a search's time.
        """
        scan = "relaxed_order" if further or k > MOST_EF else "off"
        wanted = (min(max(query.ef, k), MOST_EF), query.max_scan, query.probes, seqscan, scan)
        if wanted != self.tuned:
            self.rows(TUNE, *map(str, wanted))
            self.tuned = wanted
        return self

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """What a statement answers; one cursor asks them all, for it knows how to write the values of the last one."""
        return self.asking.execute(statement, values).fetchall()

    def count(self, table: str) -> int:
        """Rows of a table."""
        return int(self.rows(f'SELECT count(*) FROM "{table}"')[0][0])  # noqa: S608

    def width(self, table: str) -> int:
        """Dimensions of a table's vectors."""
        asked = "SELECT atttypmod FROM pg_attribute WHERE attname = 'vector' AND attrelid = %s::regclass"
        return int(self.rows(asked, f'"{table}"')[0][0])

    def expect(self, table: str, index: str | None, rows: int) -> None:
        """Check that a table has all its rows and valid indexes, the vectors' one among them."""
        expect_rows("pgvector", self.count(table), rows)
        found = dict(self.rows(INDEXED, f'"{table}"'))
        if not all(found.values()) or (index and index not in found):
            raise StoreError(f"pgvector has not finished its {index} index; the table's indexes: {found}.")

    def copy_in(self, table: str, batch: Batch, fields: dict[str, PayloadField]) -> None:
        """Add rows by COPY in binary form; of texts only the words matter, so their NUL characters become spaces."""
        names = [
            "id",
            *(["vector"] if batch.vectors is not None else []),
            *(["text"] if batch.texts else []),
            *fields,
        ]
        types = {"id": "int8", "vector": "vector", "text": "text"} | {
            c: COPIED[f.kind] for c, f in fields.items()
        }
        columns: list[Any] = [batch.ids.tolist()]
        columns += [batch.vectors] if batch.vectors is not None else []
        columns += [[text.replace("\0", " ") for text in batch.texts]] if batch.texts else []
        columns += [[row[field.name] for row in batch.payloads or ()] for field in fields.values()]
        into = f'COPY "{table}" ({", ".join(names)}) FROM STDIN (FORMAT BINARY)'
        with self.cursor() as cursor, cursor.copy(into) as copy:
            copy.set_types([types[name] for name in names])
            for row in zip(*columns, strict=True):
                copy.write_row(row)


def _secret(told: dict[str, Any], source: SettingSource) -> dict[str, Any]:
    """The password for a DSN without one, for each of its hosts; libpq itself would send PGPASSWORD to any host."""
    hosts = str(told.get("hostaddr") or told.get("host") or "localhost").split(",")
    secret: dict[str, Any] = {}
    for host in hosts:
        name = "localhost" if host.startswith("/") else f"[{host}]" if ":" in host else host
        server = Destination(f"postgresql://{name}", source)
        secret_for("PGPASSWORD", server)
        secret = {**password("pgvector", server)}
    return secret


def _waiting(seconds: float) -> dict[str, Any]:
    """How long to wait for a connection, and when one whose other end is gone is given up; a DSN may say otherwise."""
    whole = math.ceil(seconds)
    alive = {"keepalives_idle": whole, "keepalives_interval": max(whole // 6, 1), "keepalives_count": 6}
    return {"connect_timeout": min(whole, CONNECTING), "tcp_user_timeout": 1000 * whole, **alive}


def read_hits(found: list[tuple[Any, ...]]) -> Hits:
    """Rows of id and score as an answer."""
    return make_hits([row[0] for row in found], [row[1] for row in found])


def near(found: list[tuple[Any, ...]], metric: Metric) -> Hits:
    """Rows of id and distance as an answer; the engine's relaxed order may be off by a little, so they are sorted."""
    found.sort(key=FAR)
    ids, far = zip(*found, strict=True) if found else ((), ())
    if metric is Metric.L2:
        return make_hits(ids, [-one * one for one in far])
    return make_hits(ids, [1.0 - one for one in far] if metric is Metric.COSINE else [-one for one in far])
