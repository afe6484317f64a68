"""S1's table: approximate against exact neighbours, one row a system (S1-2..9)."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

from bakeoff.report.exports.files import Files
from bakeoff.report.exports.material import Material

COLUMNS = ("kNN@10", "R100@10", "P@10", "MRR", "p50 ms", "p90 ms", "p95 ms", "p99 ms", "QPS", "build s")

FORMULA = ("=", "+", "-", "@")


def export(material: Material) -> Files:
    """ann_results.csv; an empty cell was not measured."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["system", *COLUMNS])
    for row in material.systems:
        writer.writerow(
            [_text(row["system"]), *("" if value is None else value for value in _values(material, row))]
        )
    return Files({"ann_results.csv": out.getvalue().encode()}, {})


def _text(text: str) -> str:
    """A text that a spreadsheet shows and does not compute: one that begins like a formula gets an apostrophe."""
    line = " ".join(text.split())
    return f"'{line}" if line.startswith(FORMULA) else line


def _values(material: Material, row: Mapping[str, Any]) -> list[float | None]:
    system, timing = row["system"], material.result.timing
    quality = [
        material.mean(system, material.pick(name, k))
        for name, k in (("kNN", 10), ("R100", 10), ("P", 10), ("RR", None))
    ]
    times = [timing(system, "search", f"p{p}_ms") for p in (50, 90, 95, 99)]
    mean = timing(system, "search", "mean_ms")
    parts = [timing(system, phase, "seconds") for phase in ("insert", "index")]
    known = [part for part in parts if part is not None]
    build = sum(known) if len(known) == len(parts) else None
    return [*quality, *times, 1000 / mean if mean else None, build]
