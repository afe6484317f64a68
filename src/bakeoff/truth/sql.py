"""SQL conditions over texts: DuckDB on Arrow, read-only and shut in, many conditions a scan."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

import duckdb

from bakeoff.errors import TruthError
from bakeoff.truth.sqlcheck import checked

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

SECONDS = 120.0
"""How long one scan may take, for each gigabyte of texts begun."""
STEP = 1_000_000
"""How many bytes of texts are looked at in one step."""
SCAN = 64
"""How many conditions are computed in one scan."""

_SHUT = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "allow_community_extensions": "false",
}


class Engine:
    """Runs conditions over the rows of one table, under its columns' names and their synonyms."""

    def __init__(
        self,
        name: str,
        rows: pa.Table,
        synonyms: Mapping[str, str],
        seconds: float = SECONDS,
        widen: Callable[[pa.RecordBatch], pa.RecordBatch] = lambda batch: batch,
        size: int | None = None,
    ) -> None:
        """`widen` gives a batch of the rows its further columns, while it is scanned; `size` is in bytes."""
        import pyarrow as pa

        self._connection = duckdb.connect(":memory:", config=dict(_SHUT))
        size = rows.nbytes if size is None else size
        self._seconds = seconds * max(size / 1e9, 1)
        self._name = name
        self._rows, self._widen = rows, widen
        self._step = max(STEP * rows.num_rows // max(size, 1), 1)
        self._schema = widen(pa.RecordBatch.from_pylist([], schema=rows.schema)).schema
        self.columns = (*synonyms, *self._schema.names)
        self._connection.register("given", self._schema.empty_table())
        also = "".join(f', "{column}" AS "{name}"' for name, column in synonyms.items())
        self._connection.execute(f"CREATE TEMP VIEW {name} AS SELECT *{also} FROM given")  # noqa: S608
        self._connection.execute("SET python_enable_replacements = false")
        self._connection.execute("SET lock_configuration = true")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def check(self, condition: str) -> str:
        """The condition as it is run, or an error that shows what is wrong with it and where."""
        expression = checked(condition, self._name, self.columns, self._connection)
        try:
            kind = self._connection.sql(f"SELECT (\n{expression}\n) FROM {self._name}").types[0]  # noqa: S608
        except duckdb.Error as exc:
            raise TruthError(f"sql: {_first_line(exc)}. Correct the condition: {expression}") from exc
        if str(kind) != "BOOLEAN":
            raise TruthError(f"sql: the condition is a {kind}, not true or false. Compare it with something.")
        return expression

    def rows(self, expressions: Sequence[str]) -> list[np.ndarray | TruthError]:
        """For each checked condition the rows where it is true, or why it could not be computed."""
        found: list[np.ndarray | TruthError] = []
        for first in range(0, len(expressions), SCAN):
            found += self._scan(expressions[first : first + SCAN])
        return found

    def _scan(self, expressions: Sequence[str]) -> Sequence[np.ndarray | TruthError]:
        try:
            return self._run(expressions, self._seconds)
        except TruthError as exc:
            if len(expressions) == 1:
                return [exc]
            return [self._alone(expression, self._seconds / 4) for expression in expressions]

    def _alone(self, expression: str, seconds: float) -> np.ndarray | TruthError:
        """One condition by itself, to find which one of a scan is at fault."""
        try:
            return self._run([expression], seconds)[0]
        except TruthError as exc:
            return exc

    def _run(self, expressions: Sequence[str], seconds: float) -> list[np.ndarray]:
        import numpy as np

        # CASE stops at the first clause that decides; a plain AND in a SELECT computes them all
        wanted = ", ".join(
            f"CASE WHEN (\n{text}\n) THEN true END AS c{i}" for i, text in enumerate(expressions)
        )
        self._connection.register("given", self._scanned())
        with self._limit(seconds):
            table = self._connection.sql(f"SELECT {wanted} FROM {self._name}").to_arrow_table()  # noqa: S608
        return [np.flatnonzero(table.column(i).is_valid().to_numpy()) for i in range(len(expressions))]

    def _scanned(self) -> pa.RecordBatchReader:
        """The rows in batches of about STEP bytes, each made when its turn comes.

        DuckDB can be interrupted only between them.
        """
        import pyarrow as pa

        batches = map(self._widen, self._rows.to_batches(max_chunksize=self._step))
        return pa.RecordBatchReader.from_batches(self._schema, batches)

    @contextmanager
    def _limit(self, seconds: float) -> Iterator[None]:
        done = threading.Event()
        watch = threading.Thread(target=self._stop_after, args=(seconds, done), daemon=True)
        watch.start()
        try:
            yield
        except duckdb.InterruptException as exc:
            raise TruthError(f"sql: stopped after {seconds:.3g} s. Make the condition simpler.") from exc
        except duckdb.Error as exc:
            raise TruthError(f"sql: {_first_line(exc)}. Correct the condition.") from exc
        finally:
            done.set()
            watch.join()

    def _stop_after(self, seconds: float, done: threading.Event) -> None:
        """Interrupt until it is done: a request that comes between planning and running is lost."""
        wait = seconds
        while not done.wait(wait):
            self._connection.interrupt()
            wait = 0.05


def _first_line(exc: duckdb.Error) -> str:
    return str(exc).split("\n", 1)[0].rstrip(".")
