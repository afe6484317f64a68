"""Computes conditions over rows with DuckDB in a process that can be killed.

DuckDB checks for interrupts only between blocks of rows, and texts that an expression creates count towards
none of its limits; so time and memory are limited per process.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.corpus.limited_process import LimitedProcess, ProcessEndedError, limit_memory, serve
from bakeoff.errors import TruthError

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    import pyarrow as pa

MEMORY_MB = 2000
"""Memory that conditions may use."""
MEMORY_PER_BYTE = 20
"""Bytes of memory per byte of a block of rows, if that is more: one text may exceed most corpora."""
THREADS = 4
"""A thread reserves address space, which counts as memory."""
SHUT = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "allow_community_extensions": "false",
    "max_expression_depth": "250",
    "memory_limit": f"{MEMORY_MB // 2}MB",
    "temp_directory": "",
    "threads": str(min(THREADS, os.cpu_count() or 1)),
}


@dataclass(frozen=True, slots=True)
class Scan:
    """Conditions to compute over blocks of rows of one table."""

    table: str
    synonyms: Mapping[str, str]
    conditions: Sequence[str]


def open_connection(scan: Scan, rows: pa.Table) -> duckdb.DuckDBPyConnection:
    """A connection that can access the rows, under the table's name and column synonyms, and nothing else."""
    import duckdb

    connection = duckdb.connect(":memory:", config=dict(SHUT))
    connection.register("given", rows)
    also = "".join(f', "{column}" AS "{name}"' for name, column in scan.synonyms.items())
    connection.execute(f"CREATE TEMP VIEW {scan.table} AS SELECT *{also} FROM given")  # noqa: S608
    connection.execute("SET python_enable_replacements = false")
    connection.execute("SET lock_configuration = true")
    return connection


class SqlProcess(LimitedProcess):
    """The process that computes conditions."""

    def __init__(self) -> None:
        super().__init__("bakeoff.truth.sql_process")

    def rows(self, scan: Scan, blocks: Iterable[bytes], seconds: float) -> list[np.ndarray]:
        """For each condition, the numbers of the rows where it is true; raises TruthError if a limit is reached."""
        import numpy as np

        matches: list[list[np.ndarray]] = [[] for _ in scan.conditions]
        self.start()
        first, end = 0, time.monotonic() + seconds
        for block in blocks:
            rows, numbers = self._ask(scan, block, end - time.monotonic(), seconds)
            for earlier, more in zip(matches, numbers, strict=True):
                earlier.append(more + first)
            first += rows
        return [np.concatenate([np.empty(0, np.int64), *parts]) for parts in matches]

    def _ask(self, scan: Scan, block: bytes, left: float, seconds: float) -> tuple[int, list[np.ndarray]]:
        try:
            answer = self.ask((scan, block), max(left, 0))
        except ProcessEndedError as exc:
            if exc.waited:
                raise TruthError(f"sql: stopped after {seconds:.3g} s. Make the condition simpler.") from exc
            raise TruthError(f"sql: {_OUT_OF_MEMORY}; DuckDB ended with {exc.crash}.") from exc
        if isinstance(answer, str):
            raise TruthError(answer)
        rows, numbers = answer
        return rows, numbers


_OUT_OF_MEMORY = f"the condition needs more than {MEMORY_MB:,} MB of memory. Join or change fewer texts in it"


def _compute(message: tuple[Scan, bytes]) -> tuple[int, list[np.ndarray]] | str:
    """Number of rows in a block, and where each condition is true; or why that can't be computed."""
    import duckdb
    import pyarrow as pa

    scan, block = message
    limit_memory(max(MEMORY_MB, MEMORY_PER_BYTE * len(block) / 2**20))
    try:
        rows = pa.ipc.open_stream(pa.py_buffer(block)).read_all()
        with open_connection(scan, rows) as connection:
            return rows.num_rows, _true_rows(connection, scan)
    except (duckdb.OutOfMemoryException, duckdb.InternalException, MemoryError):  # DuckDB reports both
        return f"sql: {_OUT_OF_MEMORY}."
    except duckdb.Error as exc:
        return f"sql: {first_line(exc)}. Correct the condition."


def _true_rows(connection: duckdb.DuckDBPyConnection, scan: Scan) -> list[np.ndarray]:
    import numpy as np

    # CASE stops at the first clause that decides; a plain AND in a SELECT computes them all
    columns = ", ".join(
        f"CASE WHEN (\n{text}\n) THEN true END AS c{i}" for i, text in enumerate(scan.conditions)
    )
    table = connection.sql(f"SELECT {columns} FROM {scan.table}").to_arrow_table()  # noqa: S608
    return [np.flatnonzero(column.is_valid().to_numpy()) for column in table.columns]


def first_line(exc: duckdb.Error) -> str:
    """DuckDB's message, without the position in the query."""
    return str(exc).split("\n", 1)[0].rstrip(".")


class _NoPandas:
    """Blocks pandas, which Arrow imports if it is installed: that takes longer than everything else here."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


def _open_service(_: object) -> Callable[[tuple[Scan, bytes]], tuple[int, list[np.ndarray]] | str]:
    """Runs in the process: import and start everything before its memory is limited."""
    sys.meta_path.insert(0, _NoPandas)
    import numpy as np
    import pyarrow as pa

    warm = pa.table({"text": ["a"]})
    with open_connection(Scan("chunks", {}, []), warm) as connection:
        assert _true_rows(connection, Scan("chunks", {}, ["text = 'a'"]))[0] == np.zeros(1)
    return _compute


if __name__ == "__main__":
    serve(_open_service)
