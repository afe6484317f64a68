"""A load on disk, written again whenever a pass ends; `open_load` reads it back.

RUN/load/TIME/        of a run; runs/load-NAME-TIME/ of an experiment or a dataset
  record.json         format, kind "load", status (done | failed | partial), stopped, sentence, origin, demand,
                      harness_us, systems (opening, first query, index, resources), failed, points, comparisons
                      (pairs of systems under a load, Welch and Holm), clients (one a client process and pass),
                      highest, prices, costs, notes, machine, versions
  load_passes.parquet       one row a (system, load, run): LOAD_PASSES
  load_histograms.parquet   one row a (system, load, run, what, bucket): LOAD_HISTOGRAMS; `what` is latency or lag
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
from typing import TYPE_CHECKING, Any

from bakeoff.benchmark.results.histogram import Histogram, merge_histograms
from bakeoff.benchmark.results.load_tables import (
    LOAD_CLIENT_HISTOGRAMS,
    LOAD_CLIENTS,
    LOAD_HISTOGRAMS,
    LOAD_PASSES,
    MISSING,
    histogram_of,
    read_table,
)
from bakeoff.benchmark.results.records import RECORD, read_record
from bakeoff.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

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
    """A load's folder, read when asked."""

    path: Path
    record: dict[str, Any]

    @cached_property
    def passes(self) -> pa.Table:
        """One row a system, load and run."""
        return read_table(self.path, LOAD_PASSES)

    @cached_property
    def histograms(self) -> pa.Table:
        """One row a system, load, run and bucket."""
        return read_table(self.path, LOAD_HISTOGRAMS)

    @cached_property
    def clients(self) -> pa.Table:
        """One row a system, load, run and client process; empty where there were none."""
        return read_table(self.path, LOAD_CLIENTS, optional=True)

    @cached_property
    def client_histograms(self) -> pa.Table:
        """One row a system, load, run, client process and bucket; empty where there were none."""
        return read_table(self.path, LOAD_CLIENT_HISTOGRAMS, optional=True)

    def histogram(self, system: str, load: str, run: int | None = None, what: str = "latency") -> Histogram:
        """The latencies of a system under a load, of one run or of all together."""
        wanted = [
            row
            for row in self.histograms.to_pylist()
            if (row["system"], row["load"], row["what"]) == (system, load, what) and run in (None, row["run"])
        ]
        parts: dict[int, list[dict[str, Any]]] = {}
        for row in wanted:
            parts.setdefault(row["run"], []).append(row)
        return merge_histograms(histogram_of(rows) for rows in parts.values())


def open_load(folder: str | Path) -> LoadResult:
    """The load in a folder; of a run's folder, or of its load folder, the newest."""
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


def load_weight(point: Mapping[str, Any]) -> float:
    """How heavy a load is: queries per second asked for, or clients."""
    return float(point["rate"] if point["rate"] is not None else point["concurrency"])
