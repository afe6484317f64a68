"""A load on disk, written again whenever a pass ends; `open_load` reads it back.

RUN/load/TIME/        of a run; runs/load-NAME-TIME/ of an experiment or a dataset
  record.json         format, kind "load", status (done | failed | partial), stopped, sentence, origin, demand,
                      harness_us, systems (opening, first query, index, resources), failed, points, highest, prices,
                      costs, notes, machine, versions
  load_passes.parquet       one row a (system, load, run): LOAD_PASSES
  load_histograms.parquet   one row a (system, load, run, what, bucket): LOAD_HISTOGRAMS; `what` is latency or lag

A point is all runs of one system under one load. Across runs it has median, iqr [q1, q3], std (sample, ddof 1, null for
one run) and every value; across queries it has percentiles of the merged histograms. `avg_latency_ms`,
`queries_per_second` and `recall_at_k` are aliases with the names other tools expect: a median, its std and iqr across
runs (S3-14, C-15).
Null means not measured, with the reason in a note. Latencies of an open loop count from the intended arrival.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bakeoff.cache import write_file
from bakeoff.errors import DataError
from bakeoff.load.clock import Latency
from bakeoff.load.histogram import Histogram, merged
from bakeoff.load.passes import Pass, percentiles
from bakeoff.load.points import LoadPoint
from bakeoff.load.pressure import Pressed
from bakeoff.load.resources import Resources
from bakeoff.load.sentences import sentence
from bakeoff.load.targets import Target
from bakeoff.machine import machine, versions
from bakeoff.plan import Prices
from bakeoff.stats.runs import RunSummary, summarise
from bakeoff.types import Schema

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
LOADS = "load"
_SIDES = ("client", "server")
_USES = ("avg_cpu_percent", "peak_cpu_percent", "avg_memory_mb", "peak_memory_mb")
LOAD_PASSES = Schema(
    "load_passes",
    (
        ("system", "string"), ("load", "string"), ("kind", "string"), ("clients", "string"), ("concurrency", "int32"),
        ("rate", "double"), ("run", "int32"), ("probe", "bool"), ("sent", "int64"), ("answered", "int64"),
        ("errors", "int64"), ("timeouts", "int64"), ("unsent", "int64"), ("short", "int64"), ("seconds", "double"),
        ("qps", "double"), ("mean_ms", "double"), ("p50_ms", "double"), ("p90_ms", "double"), ("p95_ms", "double"),
        ("p99_ms", "double"), ("lag_p99_ms", "double"), ("quality", "double"), ("drift", "double"),
        ("harness_us", "double"), ("harness_share", "double"), ("reached", "bool"),
        *((f"{side}_{use}", "double") for side in _SIDES for use in _USES),
        ("joules", "double"), ("stopped", "string"), ("error", "string"),
    ),
)  # fmt: skip
"""A null was not measured: `rate` of a closed loop, `quality` of an open one, the server side of a remote server."""
LOAD_HISTOGRAMS = Schema(
    "load_histograms",
    (
        ("system", "string"), ("load", "string"), ("run", "int32"), ("what", "string"), ("bucket", "int64"),
        ("low_ns", "int64"), ("high_ns", "int64"), ("count", "int64"),
    ),
)  # fmt: skip
"""Bucket −1 without edges counts the queries that got no answer."""
MISSING = -1


@dataclass(frozen=True)
class LoadResult:
    """A load's folder, read when asked."""

    path: Path
    record: dict[str, Any]

    @cached_property
    def passes(self) -> pa.Table:
        """One row a system, load and run."""
        return _read(self.path, LOAD_PASSES)

    @cached_property
    def histograms(self) -> pa.Table:
        """One row a system, load, run and bucket."""
        return _read(self.path, LOAD_HISTOGRAMS)

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
        return merged(_histogram(rows) for rows in parts.values())


def save(folder: Path, found: Pressed, prices: Prices | None = None) -> dict[str, Any]:
    """Write everything that is known, each file in one step, and return the record."""
    folder.mkdir(parents=True, exist_ok=True)
    record = to_dict(found, prices)
    _parquet(folder, LOAD_PASSES, [_pass_row(one) for one in found.passes])
    _parquet(folder, LOAD_HISTOGRAMS, [row for one in found.passes for row in _histogram_rows(one)])
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


def to_dict(found: Pressed, prices: Prices | None = None) -> dict[str, Any]:
    """Everything but the rows, as plain values."""
    points = found.points()
    return {
        "format": FORMAT,
        "kind": "load",
        "status": found.status.value,
        "stopped": found.stopped,
        "sentence": sentence(found),
        "origin": asdict(found.origin),
        "demand": asdict(found.demand),
        "harness_us": {load.name: seconds * 1e6 for load, seconds in found.harness.items()},
        "systems": [_system(target, found) for target in found.targets],
        "failed": found.failed,
        "points": [_point(point, found) for point in points],
        "highest": {system: _highest([one.rate for one in rates]) for system, rates in found.highest.items()},
        "prices": prices.model_dump(mode="json") if prices else None,
        "costs": {system: one.to_dict() for system, one in found.costs.items()},
        "notes": [note for point in points for note in point.notes],
        "machine": machine(),
        "versions": versions(),
    }


def _system(target: Target, found: Pressed) -> dict[str, Any]:
    cold, opening = found.cold.get(target.label), target.opening
    return {
        "system": target.label,
        "store": target.store,
        "setting": target.setting,
        "k": target.k,
        "quality": target.grade.name if target.grade else None,
        "opening_s": opening.seconds,
        "build_time_s": opening.build_seconds,
        "index_mb": None if opening.index_bytes is None else opening.index_bytes / 1e6,
        "first_query_ms": cold.first_ms if cold else None,
        "warm_up_queries": cold.queries if cold else 0,
        "warm_up_mean_ms": cold.rest_mean_ms if cold else None,
        "ingestion": {"resources": _resources(opening.resources)},
    }


def _point(point: LoadPoint, found: Pressed) -> dict[str, Any]:
    k = next((target.k for target in found.targets if target.label == point.system), None)
    return {
        "system": point.system,
        "load": point.load.name,
        **asdict(point.load),
        "probe": point.probe,
        "top_k": k,
        "runs": point.runs,
        "avg_latency_ms": _alias(point.mean_ms),
        "queries_per_second": _alias(point.qps),
        "recall_at_k": _alias(point.quality),
        "latency_ms": {
            "mean": _spread(point.mean_ms),
            **{row.name.removesuffix("_ms"): {"across_queries": _latency(row)} for row in point.latencies},
        },
        "qps_measured": _spread(point.qps),
        "quality": _spread(point.quality),
        "sent_late_ms": {row.name.removesuffix("_ms"): _latency(row) for row in point.lags},
        **{
            name: getattr(point, name)
            for name in ("sent", "answered", "errors", "timeouts", "unsent", "short")
        },
        "reached": point.reached,
        "harness_share": point.harness_share,
        "harness_over_limit": point.marked,
        "resources": {"client": asdict(point.client), "server": asdict(point.server), "joules": point.joules},
        "notes": list(point.notes),
    }


def _alias(summary: RunSummary) -> dict[str, Any]:
    """The structure of S3-14: median, sample std, [q1, q3]."""
    iqr = None if summary.q1 is None else [summary.q1, summary.q3]
    return {"median": summary.median, "std": summary.sd, "iqr": iqr}


def _spread(summary: RunSummary) -> dict[str, Any]:
    values = {
        "runs": summary.n,
        **_alias(summary),
        "ddof": 1,
        "values": list(summary.values),
        "note": summary.note,
    }
    return {"across_runs": values}


def _highest(rates: Sequence[float | None]) -> dict[str, Any]:
    """Queries a second that kept the promise; a run in which no rate did counts as none, not as zero."""
    kept = [rate for rate in rates if rate is not None]
    return {**_spread(summarise(kept)), "runs_without": len(rates) - len(kept)}


def _latency(row: Latency) -> dict[str, Any]:
    return {"value": row.milliseconds, "samples": row.count, "note": row.note}


def _resources(used: Resources) -> dict[str, Any]:
    """The client's figures under S3-12's names, both sides apart, and energy."""
    return {
        **{use: getattr(used.client, use) for use in _USES},
        "client": asdict(used.client),
        "server": asdict(used.server),
        "energy": asdict(used.energy),
    }


def _pass_row(one: Pass) -> tuple[Any, ...]:
    shown = {row.name: row.milliseconds for row in percentiles(one.latency)}
    late = {row.name: row.milliseconds for row in percentiles(one.lag)} if one.lag is not None else {}
    used = one.resources
    return (
        one.system, one.load.name, one.load.kind, one.load.clients, one.load.concurrency, one.load.rate, one.run,
        one.probe, one.sent, one.answered, one.errors, one.timeouts, one.unsent, one.short, one.seconds, one.qps,
        one.mean_ms, shown["p50_ms"], shown["p90_ms"], shown["p95_ms"], shown["p99_ms"], late.get("p99_ms"),
        one.quality, one.drift, None if one.harness_seconds is None else one.harness_seconds * 1e6, one.harness_share,
        one.reached, *(getattr(side, use) for side in (used.client, used.server) for use in _USES),
        used.energy.joules, one.stopped, one.error,
    )  # fmt: skip


def _histogram_rows(one: Pass) -> list[tuple[Any, ...]]:
    head, rows = (one.system, one.load.name, one.run), []
    for what, histogram in (("latency", one.latency), ("lag", one.lag)):
        if histogram is None:
            continue
        columns = (histogram.buckets, *histogram.edges, histogram.counts)
        rows += [
            (*head, what, *values) for values in zip(*(column.tolist() for column in columns), strict=True)
        ]
        if histogram.missing:
            rows.append((*head, what, MISSING, None, None, histogram.missing))
    return rows


def _histogram(rows: list[dict[str, Any]]) -> Histogram:
    known = [row for row in rows if row["bucket"] != MISSING]
    missing = sum(row["count"] for row in rows if row["bucket"] == MISSING)
    buckets, counts = ([row[name] for row in known] for name in ("bucket", "count"))
    return Histogram(np.asarray(buckets, np.int64), np.asarray(counts, np.int64), missing)


def _parquet(folder: Path, schema: Schema, rows: list[tuple[Any, ...]]) -> None:
    import pyarrow.parquet as pq

    columns = list(zip(*rows, strict=True)) or [()] * len(schema.columns)
    named = {name: list(column) for (name, _), column in zip(schema.columns, columns, strict=True)}
    buffer = io.BytesIO()
    pq.write_table(schema.table(named), buffer, compression="zstd")
    write_file(folder / f"{schema.name}.parquet", buffer.getvalue())


def _read(folder: Path, schema: Schema) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / f"{schema.name}.parquet"
    try:
        return pq.read_table(path).cast(schema.arrow())
    except FileNotFoundError as exc:
        raise DataError(f"{path} is missing. The folder was changed; measure again.") from exc
    except (pa.ArrowException, ValueError, OSError) as exc:
        raise DataError(f"{path} cannot be read as a load ({exc}). Measure again.") from exc
