"""S1's table: approximate against exact neighbours, one row per system (S1-2..9)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from bakeoff.benchmark.results.ann_results import PointRow, read_ann
from bakeoff.measures.preset_settings import read_preset_file
from bakeoff.presets.export_context import ExportContext
from bakeoff.presets.export_files import Files
from bakeoff.types import TableRow

K = read_preset_file("ann").table_k
COLUMNS = (f"kNN@{K}", f"R100@{K}", f"P@{K}", "MRR", "p50 ms", "p90 ms", "p95 ms", "p99 ms", "QPS", "build s")

FORMULA = ("=", "+", "-", "@")


def export_ann(material: ExportContext) -> Files:
    """ann_results.csv of a run; an empty cell means not measured."""
    return _table([(row["system"], _values(material, row)) for row in material.systems])


def export_vectors(folder: Path) -> Files:
    """ann_results.csv of a folder of `bakeoff ann`, one row per store and setting; an empty cell means not measured."""
    data = read_ann(folder)
    files = _table([(point.label, _point_values(point, data.k)) for point in data.points])
    if data.k == K:
        return files
    note = (
        f"The stores were measured at k = {data.k}, so kNN@{K}, R100@{K}, P@{K} and MRR are empty. "
        f"Measure again with: bakeoff ann --k {K}"
    )
    return replace(files, notes=(note,))


def _table(rows: Iterable[tuple[str, Sequence[float | None]]]) -> Files:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["system", *COLUMNS])
    for name, values in rows:
        writer.writerow([_text(name), *("" if value is None else value for value in values)])
    return Files({"ann_results.csv": out.getvalue().encode()}, {})


def _point_values(point: PointRow, k: int) -> list[float | None]:
    quality = [point.recall.value, point.r100, point.precision, point.mrr] if k == K else [None] * 4
    times = [latency.value for latency in point.latencies]
    return [*quality, *times, point.qps_derived, point.store.build_s]


def _text(text: str) -> str:
    """Text that a spreadsheet does not evaluate: an apostrophe precedes anything that looks like a formula."""
    line = " ".join(text.split())
    return f"'{line}" if line.startswith(FORMULA) else line


def _values(material: ExportContext, row: TableRow) -> list[float | None]:
    system, timing = row["system"], material.result.timing
    quality = [
        material.mean(system, material.pick(name, k))
        for name, k in (("kNN", K), ("R100", K), ("P", K), ("RR", None))
    ]
    times = [timing(system, "search", f"p{p}_ms") for p in (50, 90, 95, 99)]
    mean = timing(system, "search", "mean_ms")
    parts = [timing(system, phase, "seconds") for phase in ("insert", "index")]
    known = [part for part in parts if part is not None]
    build = sum(known) if len(known) == len(parts) else None
    return [*quality, *times, 1000 / mean if mean else None, build]
