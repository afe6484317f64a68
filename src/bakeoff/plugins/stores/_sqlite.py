"""SQLite with the sqlite-vec extension: a connection for each thread, since one answers one search at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import sqlite_vec

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.payload import PayloadSchemaMixin, value_rows
from bakeoff.types import Batch, Metric

try:
    import pysqlite3 as sqlite
except ImportError:  # its wheels are for Linux; elsewhere Python's own SQLite may be able to load extensions
    import sqlite3 as sqlite

Error = sqlite.Error


def schema(collection: str, dims: int, metric: Metric, columns: Iterable[str]) -> Iterator[str]:
    """What makes a collection anew: a vec0 table of vectors, and a plain one of payloads beside it."""
    for table in (collection, f"{collection}_payload"):
        yield f'DROP TABLE IF EXISTS "{table}"'
    vector = f"vector float[{dims}] distance_metric={metric.value}"
    yield f'CREATE VIRTUAL TABLE "{collection}" USING vec0(id INTEGER PRIMARY KEY, {vector})'
    more = "".join(f', "{name}"' for name in columns)
    yield f'CREATE TABLE "{collection}_payload" (id INTEGER PRIMARY KEY{more})'


def add(connection: Any, collection: str, store: PayloadSchemaMixin, batch: Batch) -> None:
    """Put rows and their payloads into a collection; they are there when the connection commits."""
    assert batch.vectors is not None
    rows = np.ascontiguousarray(batch.vectors, np.float32)
    pairs = ((number, row.tobytes()) for number, row in zip(batch.ids.tolist(), rows, strict=True))
    connection.executemany(f'INSERT INTO "{collection}"(id, vector) VALUES (?, ?)', pairs)  # noqa: S608
    if store.fields:
        places = ", ?" * len(store.fields)
        into = f'INSERT INTO "{collection}_payload" VALUES (?{places})'  # noqa: S608
        connection.executemany(into, value_rows(store, batch))


def remove(connection: Any, collection: str, ids: np.ndarray) -> None:
    """Take rows and their payloads out of a collection."""
    for table in (collection, f"{collection}_payload"):
        gone = ((number,) for number in ids.tolist())
        connection.executemany(f'DELETE FROM "{table}" WHERE id = ?', gone)  # noqa: S608
    connection.commit()


class Connections:
    """Connections to one file; `mode` is "rwc" to make it, "rw" to open one that is there."""

    def __init__(self, file: Path, synchronous: str = "full") -> None:
        self._file, self._mode, self._synchronous = file, "rw", synchronous
        self._local, self._made, self._open = threading.local(), list[Any](), False

    def begin(self, mode: str) -> None:
        """Close what is open; later connections are of this mode."""
        self.close()
        self._mode, self._open = mode, True

    def here(self) -> Any:
        """This thread's own connection."""
        if not self._open:
            raise StoreError("sqlite-vec is closed: create or open a collection before searching.")
        if not hasattr(self._local, "connection"):
            self._local.connection = self._connected()
            self._made.append(self._local.connection)
        return self._local.connection

    def run(self, statement: str, values: list[Any] | None = None) -> Any:
        """Execute a statement on this thread's connection."""
        return self.here().execute(statement, values or [])

    def close(self) -> None:
        """Close them all, whichever thread made them."""
        for connection in self._made:
            connection.close()
        self._made, self._local, self._open = [], threading.local(), False

    def _connected(self) -> Any:
        where = f"file:{self._file}?mode={self._mode}"
        connection = sqlite.connect(where, uri=True, check_same_thread=False)
        if not hasattr(connection, "enable_load_extension"):
            raise StoreError("this Python's SQLite cannot load extensions. Install pysqlite3-binary.")
        connection.enable_load_extension(True)
        sqlite_vec.load(connection)
        connection.enable_load_extension(False)
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        return connection
