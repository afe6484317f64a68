"""sqlite-vec, embedded: exact search inside SQLite; as float32, int8 or bits."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
import sqlite_vec
from pydantic import Field

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import (
    NoQuery,
    PackagedEngine,
    Settings,
    SmallVectors,
    expect_dims,
    expect_rows,
    guarantee,
    make_hits,
    score_from_distance,
    score_from_hamming,
    sign_bits,
    translate_errors,
    unit_rows,
)
from bakeoff.plugins.kit.payload import (
    VECTORS_ONLY,
    Payload,
    PayloadSchemaMixin,
    from_rows,
    sql,
    value_rows,
)
from bakeoff.protocols import Guarantee
from bakeoff.types import Batch, Hits, Metric, Storage, Where

try:
    import pysqlite3 as sqlite
except ImportError:  # its wheels are for Linux; elsewhere Python's own SQLite may load extensions
    import sqlite3 as sqlite

KINDS: dict[Storage, tuple[str, str]] = {
    "float32": ("float", "?"),
    "int8": ("int8", "vec_int8(?)"),
    "binary": ("bit", "vec_bit(?)"),
}
"""How a column of each storage is declared, and its values written."""
INT8 = 127.0
"""The int8 value of 1; vectors have length 1 there."""


def schema(
    collection: str, dims: int, metric: Metric, columns: Iterable[str], storage: Storage
) -> Iterator[str]:
    """SQL that creates a collection: a vec0 table of vectors and a plain table of payloads."""
    for table in (collection, f"{collection}_payload"):
        yield f'DROP TABLE IF EXISTS "{table}"'
    vector = f"vector {KINDS[storage][0]}[{stored_dims(dims, storage)}]"
    vector += "" if storage == "binary" else f" distance_metric={metric.value}"  # bits have a single metric
    yield f'CREATE VIRTUAL TABLE "{collection}" USING vec0(id INTEGER PRIMARY KEY, {vector})'
    more = "".join(f', "{name}"' for name in columns)
    yield f'CREATE TABLE "{collection}_payload" (id INTEGER PRIMARY KEY{more})'


def stored_dims(dims: int, storage: Storage) -> int:
    """Dimensions of the column: bits fill whole bytes."""
    return 8 * -(-dims // 8) if storage == "binary" else dims


def stored_rows(rows: np.ndarray, storage: Storage) -> np.ndarray:
    """Rows in the column's format."""
    if storage == "binary":
        return sign_bits(rows)
    if storage == "int8":
        return np.rint(unit_rows(rows) * INT8).astype(np.int8)
    return np.ascontiguousarray(rows, np.float32)


class Connections:
    """Connections to one file; `mode` is "rwc" to create it, "rw" to open an existing one."""

    def __init__(self, file: Path, synchronous: str = "full") -> None:
        self._file, self._mode, self._synchronous = file, "rw", synchronous
        self._local, self._every, self._open = threading.local(), list[sqlite.Connection](), False

    def begin(self, mode: str) -> None:
        """Close what is open; later connections use this mode."""
        self.close()
        self._mode, self._open = mode, True

    def here(self) -> sqlite.Connection:
        """This thread's connection."""
        if not self._open:
            raise StoreError("sqlite-vec is closed: create or open a collection before searching.")
        if not hasattr(self._local, "connection"):
            self._local.connection = self._connect()
            self._every.append(self._local.connection)
        return self._local.connection

    def run(self, statement: str, values: Sequence[object] | None = None) -> sqlite.Cursor:
        """Execute a statement on this thread's connection."""
        return self.here().execute(statement, values or [])

    def close(self) -> None:
        """Close the connections of all threads."""
        for connection in self._every:
            connection.close()
        self._every, self._local, self._open = [], threading.local(), False

    def _connect(self) -> sqlite.Connection:
        where = f"file:{self._file}?mode={self._mode}"
        connection = sqlite.connect(where, uri=True, check_same_thread=False)
        if not hasattr(connection, "enable_load_extension"):
            raise StoreError("this Python's SQLite cannot load extensions. Install pysqlite3-binary.")
        connection.enable_load_extension(True)
        sqlite_vec.load(connection)
        connection.enable_load_extension(False)
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        return connection


SEARCH = 'SELECT id, distance FROM "{0}" WHERE vector MATCH {2} AND k = ?{1} ORDER BY distance'
AMONG = ' AND id IN (SELECT id FROM "{0}_payload" WHERE {1})'


class SqliteVecParams(Settings):
    """Write settings; search is exact, without an index."""

    synchronous: Annotated[
        Literal["off", "normal", "full", "extra"], Field(description="full: a commit waits for the disk")
    ] = "full"


@translate_errors("sqlite-vec", sqlite.Error)
class SqliteVecStore(PackagedEngine, SmallVectors, PayloadSchemaMixin):
    """A vec0 table in a SQLite file, payloads in a plain table; the engine answers k up to 4,096."""

    version: ClassVar[str] = "2"
    package = "sqlite-vec"
    storages = ("int8", "binary")
    Params = SqliteVecParams
    Query = NoQuery
    max_dims: ClassVar[int] = 8192
    gaps: ClassVar[dict[str, str]] = {
        **VECTORS_ONLY,
        "dot": "the engine has cosine and l2",
        "batch": "each statement searches for one vector",
    }

    @classmethod
    def guarantees(cls, params: SqliteVecParams, query: NoQuery) -> tuple[Guarantee, ...]:  # noqa: ARG003
        """When a write reaches the disk."""
        return (guarantee("durability", "synchronous", params),)

    def __init__(self, params: SqliteVecParams, home: Path) -> None:
        self._connections = Connections(home / "rows.sqlite", params.synchronous)
        self._metric, self._rows, self._table = Metric.COSINE, 0, ""

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        if metric is Metric.DOT:
            raise StoreError("sqlite-vec has no inner product. Use metric: cosine or l2 with it.")
        self._connections.begin("rwc")
        self._metric, self._rows, self._table = metric, 0, collection
        for statement in schema(collection, dims, metric, self.columns(), self._storage):
            self._connections.run(statement)

    def insert(self, batch: Batch) -> None:
        """Insert rows and their payloads; they are visible after the connection commits."""
        assert batch.vectors is not None
        connection, rows = self._connections.here(), stored_rows(batch.vectors, self._storage)
        pairs = ((number, row.tobytes()) for number, row in zip(batch.ids.tolist(), rows, strict=True))
        insert = f'INSERT INTO "{self._table}"(id, vector) VALUES (?, {KINDS[self._storage][1]})'  # noqa: S608
        connection.executemany(insert, pairs)
        if self.fields:
            places = ", ?" * len(self.fields)
            into = f'INSERT INTO "{self._table}_payload" VALUES (?{places})'  # noqa: S608
            connection.executemany(into, value_rows(self, batch))
        self._rows += len(batch.ids)

    def ready(self) -> None:
        self._connections.here().commit()
        expect_rows("sqlite-vec", self._count(), self._rows)

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._connections.begin("rw")
        self._metric, self._table = metric, collection
        self._rows = self._count()
        for (held,) in self._connections.run(f'SELECT vec_length(vector) FROM "{collection}" LIMIT 1'):  # noqa: S608
            expect_dims("sqlite-vec", held, stored_dims(dims, self._storage))
        return self._rows

    def search(self, vector: np.ndarray, k: int, query: NoQuery) -> Hits:
        return self._nearest(vector, k)

    def search_where(self, vector: np.ndarray, k: int, query: NoQuery, where: Where) -> Hits:
        text, values = sql(self, where)
        return self._nearest(vector, k, AMONG.format(self._table, text), values)

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        one = f'SELECT * FROM "{self._table}_payload" WHERE id = ?'  # noqa: S608
        rows = (row for number in ids.tolist() for row in self._connections.run(one, [number]))
        return from_rows(self, ids, rows)

    def delete(self, ids: np.ndarray) -> None:
        connection = self._connections.here()
        for table in (self._table, f"{self._table}_payload"):
            rows = ((number,) for number in ids.tolist())
            connection.executemany(f'DELETE FROM "{table}" WHERE id = ?', rows)  # noqa: S608
        connection.commit()
        self._rows = self._count()

    def replace(self, batch: Batch) -> None:
        self.delete(batch.ids)
        self.insert(batch)
        self.ready()

    def close(self) -> None:
        self._connections.close()

    def _nearest(
        self, vector: np.ndarray, k: int, among: str = "", values: Sequence[object] | None = None
    ) -> Hits:
        if not self._rows:
            return make_hits([], [])
        asked = [stored_rows(vector[None], self._storage).tobytes(), min(k, self._rows), *(values or [])]
        statement = SEARCH.format(self._table, among, KINDS[self._storage][1])
        found = self._connections.run(statement, asked).fetchall()
        far = np.array([row[1] for row in found], np.float64)
        return make_hits([row[0] for row in found], self._scores(far, len(vector)))

    def _scores(self, far: np.ndarray, dims: int) -> np.ndarray:
        if self._storage == "binary":
            return score_from_hamming(far, dims)
        if self._metric is Metric.L2:
            far = (far / INT8 if self._storage == "int8" else far) ** 2
        return score_from_distance(far, self._metric)

    def _count(self) -> int:
        return int(self._connections.run(f'SELECT count(*) FROM "{self._table}"').fetchone()[0])  # noqa: S608
