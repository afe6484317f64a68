"""DuckDB with its vss extension: the SQL of one table and its index."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
import duckdb_extension_vss
import numpy as np
import pyarrow as pa

from bakeoff.errors import StoreError
from bakeoff.types import Metric, PayloadField

EXTENSION = files(duckdb_extension_vss) / f"extensions/v{duckdb.__version__}/vss.duckdb_extension"
TYPES = {"text": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE"}
METRICS = {
    Metric.COSINE: ("cosine", "array_cosine_distance"),
    Metric.DOT: ("ip", "array_negative_inner_product"),
    Metric.L2: ("l2sq", "array_distance"),
}


def written(vector: np.ndarray) -> str:
    """A vector as a value of a statement; as a text, for of a list the client looks at each number apart.

    Where pandas is not installed it tries to import it for each: 8 ms of CPU for 64 numbers were seen, against 0.4 ms.
    """
    return str(vector.tolist())


class DuckdbTable:
    """One table of a file: `id`, `vector` and payload columns, with an HNSW index over the vectors."""

    def __init__(self, file: Path, name: str, dims: int, metric: Metric, *, read_only: bool) -> None:
        self.connection = duckdb.connect(str(file), read_only=read_only)
        self._name, self._dims, self._metric = name, dims, metric
        self.run(f"LOAD '{EXTENSION}'")

    def run(self, statement: str, values: list[Any] | None = None) -> Any:
        """Execute a statement."""
        return self.connection.execute(statement, values)

    def make(self, columns: dict[str, PayloadField]) -> None:
        """Make it anew."""
        more = "".join(f', "{column}" {TYPES[field.kind]}' for column, field in columns.items())
        self.run("SET hnsw_enable_experimental_persistence = true")
        self.run(f'CREATE OR REPLACE TABLE "{self._name}" (id BIGINT, vector FLOAT[{self._dims}]{more})')

    def add(self, rows: pa.Table) -> None:
        """Put rows in."""
        self.connection.register("batch", rows)
        self.run(f'INSERT INTO "{self._name}" SELECT * FROM batch')  # noqa: S608
        self.connection.unregister("batch")

    def index(self, m: int, ef_construction: int) -> None:
        """Build the index and write everything to the file."""
        shape = f"metric = '{METRICS[self._metric][0]}', M = {m}, ef_construction = {ef_construction}"
        self.run(f'CREATE INDEX "{self._name}_hnsw" ON "{self._name}" USING HNSW (vector) WITH ({shape})')
        self.run("CHECKPOINT")

    def indexed(self) -> int:
        """How many rows the index holds; a StoreError where it would not be used."""
        asked = "SELECT count FROM pragma_hnsw_index_info() WHERE table_name = ?"
        found = self.run(asked, [self._name]).fetchone()
        if found is None:
            raise StoreError(f"DuckDB vss has no HNSW index on the table {self._name!r}.")
        plan = self.run(f"EXPLAIN {self.nearest(10)}", [written(np.zeros(self._dims))]).fetchall()
        if found[0] and "HNSW_INDEX_SCAN" not in plan[0][1]:
            raise StoreError("DuckDB vss would scan the table: its planner does not use the HNSW index.")
        return int(found[0])

    def nearest(self, k: int, where: str = "") -> str:
        """A search for the k nearest; with a filter, in an order the index does not know, so that it is not used."""
        far = f"{METRICS[self._metric][1]}(vector, ?::FLOAT[{self._dims}])"
        rest = f"WHERE {where} ORDER BY far + 0" if where else "ORDER BY far"
        return f'SELECT id, {far} AS far FROM "{self._name}" {rest} LIMIT {int(k)}'  # noqa: S608

    def payloads(self) -> str:
        """A look-up of the payloads of some ids."""
        return f'SELECT * EXCLUDE (vector) FROM "{self._name}" WHERE id IN (SELECT unnest(?))'  # noqa: S608

    def scores(self, distances: np.ndarray) -> np.ndarray:
        """Scores from the engine's distances: 1 − cosine, minus the product, or the plain distance."""
        far = distances.astype(np.float64)
        return {Metric.COSINE: 1.0 - far, Metric.DOT: -far, Metric.L2: -(far**2)}[self._metric]
