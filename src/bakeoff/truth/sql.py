"""SQL conditions over texts: DuckDB on Arrow, read-only and sandboxed, many conditions per scan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Self

from bakeoff.errors import TruthError
from bakeoff.truth.sql_process import Scan, SqlProcess, first_line, open_connection
from bakeoff.truth.sqlcheck import check_condition

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

SECONDS = 120.0
"""Seconds one scan may take per started gigabyte of texts."""
STEP = 1_000_000
"""Bytes of texts per step."""
BLOCK = 16_000_000
"""Bytes of rows sent at once."""
SCAN = 64
"""Most conditions per scan."""


class SqlEngine:
    """Runs conditions over the rows of one table, by its column names and their synonyms."""

    def __init__(
        self,
        name: str,
        rows: pa.Table,
        synonyms: Mapping[str, str],
        seconds: float = SECONDS,
        widen: Callable[[pa.RecordBatch], pa.RecordBatch] = lambda batch: batch,
        size: int | None = None,
        process: SqlProcess | None = None,
    ) -> None:
        """`widen` adds columns to a batch of rows while it is scanned; `size` is in bytes."""
        import pyarrow as pa

        size = rows.nbytes if size is None else size
        self._seconds = seconds * max(size / 1e9, 1)
        self._name, self._synonyms = name, dict(synonyms)
        self._rows, self._widen = rows, widen
        self._step = max(STEP * rows.num_rows // max(size, 1), 1)
        self._schema = widen(pa.RecordBatch.from_pylist([], schema=rows.schema)).schema
        self.columns = (*synonyms, *self._schema.names)
        self._connection = open_connection(Scan(name, synonyms, []), self._schema.empty_table())
        self._own = SqlProcess() if process is None else None
        self._process = process or self._own

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        if self._own is not None:
            self._own.end()

    def check(self, condition: str) -> str:
        """The condition in executable form, or an error that shows what is wrong and where."""
        import duckdb

        expression = check_condition(condition, self._name, self.columns, self._connection)
        try:
            kind = self._connection.sql(f"SELECT (\n{expression}\n) FROM {self._name}").types[0]  # noqa: S608
        except duckdb.Error as exc:
            raise TruthError(f"sql: {first_line(exc)}. Correct the condition: {expression}") from exc
        if str(kind) != "BOOLEAN":
            raise TruthError(f"sql: the condition is a {kind}, not true or false. Compare it with something.")
        return expression

    def rows(self, expressions: Sequence[str]) -> list[np.ndarray | TruthError]:
        """For each checked condition the rows where it is true, or why it could not be computed."""
        answers: list[np.ndarray | TruthError] = []
        for first in range(0, len(expressions), SCAN):
            answers += self._scan(expressions[first : first + SCAN])
        return answers

    def _scan(self, expressions: Sequence[str]) -> Sequence[np.ndarray | TruthError]:
        try:
            return self._run(expressions, self._seconds)
        except TruthError as exc:
            if len(expressions) == 1:
                return [exc]
            return [self._alone(expression, self._seconds / 4) for expression in expressions]

    def _alone(self, expression: str, seconds: float) -> np.ndarray | TruthError:
        """Run one condition alone, to find which one of a scan failed."""
        try:
            return self._run([expression], seconds)[0]
        except TruthError as exc:
            return exc

    def _run(self, expressions: Sequence[str], seconds: float) -> list[np.ndarray]:
        assert self._process is not None
        columns = self._columns_of(expressions)
        synonyms = {name: column for name, column in self._synonyms.items() if column in columns}
        scan = Scan(self._name, synonyms, list(expressions))
        return self._process.rows(scan, self._blocks(columns), seconds)

    def _columns_of(self, expressions: Sequence[str]) -> list[str]:
        """Columns whose name or synonym occurs in a condition; the first column if none does."""
        text = "\n".join(expressions).lower()
        named = {column for name, column in self._synonyms.items() if name.lower() in text}
        names: list[str] = self._schema.names
        return [name for name in names if name in named or name.lower() in text] or names[:1]

    def _blocks(self, columns: Sequence[str]) -> Iterator[bytes]:
        """The rows as Arrow streams of about BLOCK bytes, built on demand."""
        block: list[pa.RecordBatch] = []
        for batch in self._rows.to_batches(max_chunksize=self._step):
            block.append(self._widen(batch).select(columns))
            if sum(part.nbytes for part in block) >= BLOCK:
                yield _stream(block)
                block = []
        if block:
            yield _stream(block)


def _stream(batches: Sequence[pa.RecordBatch]) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return data
