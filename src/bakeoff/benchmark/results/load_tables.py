"""The stored tables of a load: one row per pass, per bucket of its histograms, and per client process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bakeoff.benchmark.results.histogram import Histogram
from bakeoff.errors import DataError
from bakeoff.storage.parquet_io import read_parquet
from bakeoff.types import Schema

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
"""Columns that files of earlier versions do not have: null there."""
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


def histogram_of(rows: list[dict[str, Any]]) -> Histogram:
    """The histogram of stored buckets."""
    known = [row for row in rows if row["bucket"] != MISSING]
    missing = sum(row["count"] for row in rows if row["bucket"] == MISSING)
    buckets, counts = ([row[name] for row in known] for name in ("bucket", "count"))
    return Histogram(np.asarray(buckets, np.int64), np.asarray(counts, np.int64), missing)


def read_table(folder: Path, schema: Schema, *, optional: bool = False) -> pa.Table:
    """A table of a load; one that is optional is empty where there is no file."""
    import pyarrow as pa

    path = folder / f"{schema.name}.parquet"
    if optional and not path.is_file():
        return schema.table({name: [] for name, _ in schema.columns})
    try:
        return _whole(read_parquet(path), schema).cast(schema.arrow())
    except FileNotFoundError as exc:
        raise DataError(f"{path} is missing. The folder was changed; measure again.") from exc
    except (pa.ArrowException, ValueError, OSError) as exc:
        raise DataError(f"{path} cannot be read as a load ({exc}). Measure again.") from exc


def _whole(table: pa.Table, schema: Schema) -> pa.Table:
    """The table with the columns that later versions added, null, in the order of the schema."""
    import pyarrow as pa

    for name, kind in schema.columns:
        if name in ADDED and name not in table.column_names:
            table = table.append_column(name, pa.nulls(table.num_rows, pa.type_for_alias(kind)))
    return table
