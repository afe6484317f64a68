"""A load on disk, written again whenever a pass ends; `open_load` reads it back.

RUN/load/TIME/        of a run; runs/load-NAME-TIME/ of an experiment or a dataset
  record.json         format, kind "load", status (done | failed | partial), stopped, sentence, origin, demand,
                      harness_us, systems (opening, first query, index, resources), failed, points, comparisons
                      (pairs of systems under a load, Welch and Holm), clients (one per client process and pass),
                      highest, prices, costs, notes, machine, versions
  load_passes.parquet       one row per (system, load, run): LOAD_PASSES
  load_histograms.parquet   one row per (system, load, run, what, bucket): LOAD_HISTOGRAMS; `what` is latency or lag
  load_clients.parquet, load_client_histograms.parquet   the same by client process, where there were several

A point is all runs of one system under one load. Across runs it has median, iqr [q1, q3], std (sample, ddof 1, null for
one run) and every value; across queries it has percentiles of the merged histograms. `avg_latency_ms`,
`queries_per_second` and `recall_at_k` are aliases with the names other tools expect: a median, its std and iqr across
runs (S3-14, C-15).
Null means not measured, with the reason in a note. Latencies of an open loop count from the intended arrival.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.benchmark.results.histogram import Histogram, merge_histograms
from bakeoff.benchmark.results.records import RECORD, read_record
from bakeoff.errors import DataError
from bakeoff.storage.parquet_io import read_parquet
from bakeoff.storage.schemas import Schema
from bakeoff.types import Json, JsonObject, TableRow

if TYPE_CHECKING:
    import pyarrow as pa


SIDES = ("client", "server")
USES = ("avg_cpu_percent", "peak_cpu_percent", "avg_memory_mb", "peak_memory_mb")
LOAD_PASSES = Schema(
    "load_passes",
    (
        ("system", "string"), ("load", "string"), ("kind", "string"), ("clients", "string"), ("concurrency", "int32"),
        ("rate", "double"), ("run", "int32"), ("probe", "bool"), ("sent", "int64"), ("answered", "int64"),
        ("errors", "int64"), ("timeouts", "int64"), ("unsent", "int64"), ("short", "int64"), ("seconds", "double"),
        ("qps", "double"), ("mean_ms", "double"), ("p50_ms", "double"), ("p90_ms", "double"), ("p95_ms", "double"),
        ("p99_ms", "double"), ("lag_p99_ms", "double"), ("quality", "double"), ("drift", "double"),
        ("harness_us", "double"), ("harness_share", "double"), ("reached", "bool"),
        *((f"{side}_{use}", "double") for side in SIDES for use in USES),
        ("joules", "double"), ("stopped", "string"), ("error", "string"), ("processes", "int32"),
        ("window_s", "double"), ("window_answered", "int64"),
    ),
)  # fmt: skip
"""A null was not measured: `rate` of a closed loop, `quality` of an open one, the server side of a remote server.

`processes` is how many client processes there were, 0 for none; of several, `qps` is of the window in which all of them
were on duty, and the counts are of the whole pass.
"""
ADDED = ("processes", "window_s", "window_answered")
"""Columns that files of earlier versions lack; read as null."""
LOAD_HISTOGRAMS = Schema(
    "load_histograms",
    (
        ("system", "string"), ("load", "string"), ("run", "int32"), ("what", "string"), ("bucket", "int64"),
        ("low_ns", "int64"), ("high_ns", "int64"), ("count", "int64"),
    ),
)  # fmt: skip
"""Bucket −1 without edges counts the queries that got no answer."""
LOAD_CLIENTS = Schema(
    "load_clients",
    (
        ("system", "string"), ("load", "string"), ("run", "int32"), ("client", "string"), ("host", "string"),
        ("sent", "int64"), ("answered", "int64"), ("errors", "int64"), ("timeouts", "int64"), ("unsent", "int64"),
        ("began_s", "double"), ("ended_s", "double"), ("window_answered", "int64"), ("qps", "double"),
        ("mean_ms", "double"), ("p50_ms", "double"), ("p99_ms", "double"), ("lag_p99_ms", "double"),
        ("cpu_percent", "double"), ("memory_mb", "double"), ("offset_ms", "double"), ("offset_unsure_ms", "double"),
        ("drift_ppm", "double"), ("drift_unsure_ppm", "double"), ("wall_offset_ms", "double"), ("lost", "string"),
        ("note", "string"),
    ),
)  # fmt: skip
"""`began_s` and `ended_s` are on the driver's clock, from the common begin; `qps` is in the common window.

`offset_ms` is the client's monotonic clock minus the driver's before the load: between machines it is the difference of
their starts. `wall_offset_ms` is that of the wall clocks.
"""
LOAD_CLIENT_HISTOGRAMS = Schema(
    "load_client_histograms",
    (*LOAD_HISTOGRAMS.columns[:3], ("client", "string"), *LOAD_HISTOGRAMS.columns[3:]),
)
MISSING = -1


def histogram_of(rows: list[TableRow]) -> Histogram:
    """The histogram of stored buckets."""
    filled = [row for row in rows if row["bucket"] != MISSING]
    missing = sum(row["count"] for row in rows if row["bucket"] == MISSING)
    buckets, counts = ([row[name] for row in filled] for name in ("bucket", "count"))
    return Histogram(np.asarray(buckets, np.int64), np.asarray(counts, np.int64), missing)


def read_table(folder: Path, schema: Schema, *, optional: bool = False) -> pa.Table:
    """A table of a load; an optional table is empty if its file is missing."""
    import pyarrow as pa

    path = folder / f"{schema.name}.parquet"
    if optional and not path.is_file():
        return schema.table({name: [] for name, _ in schema.columns})
    try:
        return _add_new_columns(read_parquet(path), schema).cast(schema.arrow())
    except FileNotFoundError as exc:
        raise DataError(f"{path} is missing. The folder was changed; measure again.") from exc
    except (pa.ArrowException, ValueError, OSError) as exc:
        raise DataError(f"{path} cannot be read as a load ({exc}). Measure again.") from exc


def _add_new_columns(table: pa.Table, schema: Schema) -> pa.Table:
    """The table with missing newer columns added as null, in schema order."""
    import pyarrow as pa

    for name, kind in schema.columns:
        if name in ADDED and name not in table.column_names:
            table = table.append_column(name, pa.nulls(table.num_rows, pa.type_for_alias(kind)))
    return table


__all__ = [
    "LOADS",
    "LOAD_HISTOGRAMS",
    "LOAD_PASSES",
    "MISSING",
    "LoadResult",
    "all_loads",
    "load_weight",
    "open_load",
]
LOADS = "load"


@dataclass(frozen=True)
class LoadResult:
    """A load's folder, read lazily."""

    path: Path
    record: JsonObject

    @cached_property
    def passes(self) -> pa.Table:
        """One row per system, load and run."""
        return read_table(self.path, LOAD_PASSES)

    @cached_property
    def histograms(self) -> pa.Table:
        """One row per system, load, run and bucket."""
        return read_table(self.path, LOAD_HISTOGRAMS)

    @cached_property
    def clients(self) -> pa.Table:
        """One row per system, load, run and client process; empty if there were none."""
        return read_table(self.path, LOAD_CLIENTS, optional=True)

    @cached_property
    def client_histograms(self) -> pa.Table:
        """One row per system, load, run, client process and bucket; empty if there were none."""
        return read_table(self.path, LOAD_CLIENT_HISTOGRAMS, optional=True)

    def histogram(self, system: str, load: str, run: int | None = None, what: str = "latency") -> Histogram:
        """The latencies of a system under a load, of one run or of all together."""
        wanted = [
            row
            for row in self.histograms.to_pylist()
            if (row["system"], row["load"], row["what"]) == (system, load, what) and run in (None, row["run"])
        ]
        parts: dict[int, list[TableRow]] = {}
        for row in wanted:
            parts.setdefault(row["run"], []).append(row)
        return merge_histograms(histogram_of(rows) for rows in parts.values())


def open_load(folder: str | Path) -> LoadResult:
    """The load in a folder; for a run's folder, or its load folder, the newest one."""
    path = Path(folder)
    if not (path / RECORD).is_file():
        inside = sorted(all_loads(path))
        if not inside:
            raise DataError(f"{path} has no stored load. Make one with: bakeoff load {path}")
        path = inside[-1]
    return LoadResult(path, read_record(path, "load"))


def all_loads(folder: str | Path) -> tuple[Path, ...]:
    """The folders of the loads below a run's folder, or below its load folder, oldest first."""
    root = Path(folder) / LOADS if (Path(folder) / LOADS).is_dir() else Path(folder)
    return tuple(sorted(path.parent for path in root.glob("*/record.json")))


def load_weight(point: Mapping[str, Json]) -> float:
    """How heavy a load is: its rate or its number of clients."""
    return float(point["rate"] if point["rate"] is not None else point["concurrency"])
