"""sqlite-vec, embedded: every vector is compared, inside SQLite."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import sqlite_vec

from bakeoff.errors import StoreError
from bakeoff.plugins.stores._base import NoQuery, Settings, expect_rows, hits, nearness, translated
from bakeoff.types import Batch, Hits, Metric

try:
    import pysqlite3 as sqlite
except ImportError:  # its wheels are for Linux; elsewhere Python's own SQLite may be able to load extensions
    import sqlite3 as sqlite

FILE = "rows.sqlite"
SEARCH = 'SELECT id, distance FROM "{}" WHERE vector MATCH ? AND k = ? ORDER BY distance'


class SqliteVecParams(Settings):
    """Nothing to choose: there is no index, every row is compared."""


class SqliteVecStore:
    """A vec0 table in a SQLite file; the engine has cosine and l2, no dot, and answers k up to 4,096."""

    version: ClassVar[str] = "1"
    Params = SqliteVecParams
    Query = NoQuery

    def __init__(self, params: SqliteVecParams, home: Path) -> None:
        self._home = home
        self._metric, self._rows, self._table = Metric.COSINE, 0, ""
        self._mode, self._local = "", threading.local()
        self._connections: list[Any] = []

    @translated("sqlite-vec", sqlite.Error)
    def create(self, collection: str, dims: int, metric: Metric) -> None:
        if metric is Metric.DOT:
            raise StoreError("sqlite-vec has no inner product. Use metric: cosine or l2 with it.")
        self.close()
        self._mode = "rwc"
        self._metric, self._rows, self._table = metric, 0, collection
        self._connection.execute(f'DROP TABLE IF EXISTS "{collection}"')
        column = f"vector float[{dims}] distance_metric={metric.value}"
        self._connection.execute(
            f'CREATE VIRTUAL TABLE "{collection}" USING vec0(id INTEGER PRIMARY KEY, {column})'
        )

    @translated("sqlite-vec", sqlite.Error)
    def insert(self, batch: Batch) -> None:
        assert batch.vectors is not None
        rows = np.ascontiguousarray(batch.vectors, np.float32)
        pairs = ((number, row.tobytes()) for number, row in zip(batch.ids.tolist(), rows, strict=True))
        self._connection.executemany(f'INSERT INTO "{self._table}"(id, vector) VALUES (?, ?)', pairs)  # noqa: S608
        self._rows += len(batch.ids)

    @translated("sqlite-vec", sqlite.Error)
    def ready(self) -> None:
        self._connection.commit()
        expect_rows("sqlite-vec", self._count(), self._rows)

    @translated("sqlite-vec", sqlite.Error)
    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self.close()
        self._mode = "rw"
        self._metric, self._table = metric, collection
        self._rows = self._count()
        return self._rows

    @translated("sqlite-vec", sqlite.Error)
    def search(self, vector: np.ndarray, k: int, query: NoQuery) -> Hits:
        asked = (vector.astype(np.float32).tobytes(), min(k, self._rows))
        found = self._connection.execute(SEARCH.format(self._table), asked).fetchall() if self._rows else []
        distances = np.array([row[1] for row in found], np.float64)
        squared = distances**2 if self._metric is Metric.L2 else distances
        return hits([row[0] for row in found], nearness(squared, self._metric))

    @translated("sqlite-vec", sqlite.Error)
    def delete(self, ids: np.ndarray) -> None:
        gone = ((number,) for number in ids.tolist())
        self._connection.executemany(f'DELETE FROM "{self._table}" WHERE id = ?', gone)  # noqa: S608
        self._connection.commit()
        self._rows = self._count()

    def close(self) -> None:
        for connection in self._connections:
            connection.close()
        self._connections, self._local = [], threading.local()

    def _count(self) -> int:
        return int(self._connection.execute(f'SELECT count(*) FROM "{self._table}"').fetchone()[0])  # noqa: S608

    @property
    def _connection(self) -> Any:
        """This thread's own connection: SQLite answers one search at a time on each."""
        if not hasattr(self._local, "connection"):
            self._local.connection = self._connected()
            self._connections.append(self._local.connection)
        return self._local.connection

    def _connected(self) -> Any:
        where = f"file:{self._home / FILE}?mode={self._mode}"
        connection = sqlite.connect(
            where, uri=True, check_same_thread=False
        )  # closed by whoever closes the store
        if not hasattr(connection, "enable_load_extension"):
            raise StoreError("this Python's SQLite cannot load extensions. Install pysqlite3-binary.")
        connection.enable_load_extension(True)
        sqlite_vec.load(connection)
        connection.enable_load_extension(False)
        return connection
