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

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.benchmark.load.record import FORMAT, to_dict
from bakeoff.benchmark.load.session import LoadSession
from bakeoff.benchmark.load.tables import (
    LOAD_CLIENT_HISTOGRAMS,
    LOAD_CLIENTS,
    LOAD_HISTOGRAMS,
    LOAD_PASSES,
    MISSING,
    client_histogram_rows,
    client_rows,
    histogram_of,
    histogram_rows,
    pass_row,
    read_table,
    write_table,
)
from bakeoff.benchmark.results.histogram import Histogram, merge_histograms
from bakeoff.config.plan import Prices
from bakeoff.errors import DataError
from bakeoff.storage.cache import write_file

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "FORMAT",
    "LOADS",
    "LOAD_HISTOGRAMS",
    "LOAD_PASSES",
    "MISSING",
    "LoadResult",
    "all_loads",
    "load_weight",
    "open_load",
    "save_load",
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


def save_load(folder: Path, found: LoadSession, prices: Prices | None = None) -> dict[str, Any]:
    """Write everything that is known, each file in one step, and return the record."""
    folder.mkdir(parents=True, exist_ok=True)
    record = to_dict(found, prices)
    write_table(folder, LOAD_PASSES, [pass_row(one) for one in found.passes])
    write_table(folder, LOAD_HISTOGRAMS, [row for one in found.passes for row in histogram_rows(one)])
    if any(one.team for one in found.passes):
        write_table(folder, LOAD_CLIENTS, [row for one in found.passes for row in client_rows(one)])
        kept = [row for one in found.passes for row in client_histogram_rows(one)]
        write_table(folder, LOAD_CLIENT_HISTOGRAMS, kept)
    write_file(folder / "record.json", json.dumps(record, indent=1, ensure_ascii=False).encode() + b"\n")
    return record


def open_load(folder: str | Path) -> LoadResult:
    """The load in a folder; of a run's folder, or of its load folder, the newest."""
    path = Path(folder)
    if not (path / "record.json").is_file():
        inside = sorted(all_loads(path))
        if not inside:
            raise DataError(f"{path} holds no load. Make one with: bakeoff load {path}")
        path = inside[-1]
    try:
        record = json.loads((path / "record.json").read_bytes())
    except (ValueError, RecursionError) as exc:
        raise DataError(
            f"{path}/record.json is not JSON ({exc}). The file is damaged; measure again."
        ) from exc
    if not isinstance(record, dict) or record.get("kind") != "load" or record.get("format") != FORMAT:
        raise DataError(
            f"{path}/record.json is no load of format {FORMAT}. Give a folder that `bakeoff load` wrote."
        )
    return LoadResult(path, record)


def all_loads(folder: str | Path) -> tuple[Path, ...]:
    """The folders of the loads below a run's folder, or below its load folder, oldest first."""
    root = Path(folder) / LOADS if (Path(folder) / LOADS).is_dir() else Path(folder)
    return tuple(sorted(path.parent for path in root.glob("*/record.json")))


def load_weight(point: Mapping[str, Any]) -> float:
    """How heavy a load is: queries per second asked for, or clients."""
    return float(point["rate"] if point["rate"] is not None else point["concurrency"])
