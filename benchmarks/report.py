"""The report: seconds, size and memory for 8 and 50 systems × 50 queries, and for 200 × 10,000."""

from __future__ import annotations

import importlib.util
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bakeoff.pipeline.system_tables import LATENCIES
from bakeoff.runs.folder import QUERIES
from bakeoff.storage.schemas import RANKINGS, SCORES, Schema
from common import Row, show

SYSTEMS, MANY = 200, 10_000
RANKS = 3


def main() -> int:
    """Time the small report here, and the large one in a process of its own, whose memory is its own."""
    if len(sys.argv) > 1:
        return _timed(Path(sys.argv[1]))
    with tempfile.TemporaryDirectory() as place:
        small, medium, large = (Path(place) / name for name in ("small", "medium", "large"))
        made = _made_up()
        made.write_run(small, made.Made())
        made.write_run(medium, made.Made(systems=50))
        made.write_run(large, made.Made(systems=SYSTEMS, queries=60, repeats=1))
        _grow(large)
        first, fifty, second = (_apart(folder) for folder in (small, medium, large))
    return show(
        [
            Row("8 × 50: seconds, of 3", first["seconds"], 3.0, "<= 1"),
            Row("8 × 50: MB, of 5", first["mb"], 5.0, "<= 1"),
            Row("50 × 50: seconds, of 3", fifty["seconds"], 3.0, "<= 1"),
            Row("50 × 50: CPU seconds, of 3", fifty["cpu"], 3.0),
            Row(f"{SYSTEMS} × {MANY:,}: seconds, of 60", second["seconds"], 60.0, "<= 1"),
            Row(f"{SYSTEMS} × {MANY:,}: CPU seconds, of 60", second["cpu"], 60.0),
            Row(f"{SYSTEMS} × {MANY:,}: peak memory in MB, of 4,000", second["peak_mb"], 4000.0, "<= 1"),
        ]
    )


def _apart(folder: Path) -> dict[str, float]:
    done = subprocess.run([sys.executable, __file__, str(folder)], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _timed(folder: Path) -> int:
    begin, cpu = time.perf_counter(), time.process_time()
    from bakeoff.report.render.html import write_html
    from bakeoff.runs.analysis import open_run

    path = write_html(open_run(folder))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures = {"seconds": time.perf_counter() - begin, "cpu": time.process_time() - cpu}
    print(json.dumps({**figures, "mb": path.stat().st_size / 1e6, "peak_mb": peak}))
    return 0


def _made_up() -> Any:
    """The made-up runs of the tests."""
    place = Path(__file__).resolve().parents[1] / "tests" / "report" / "conftest.py"
    spec = importlib.util.spec_from_file_location("made_up_runs", place)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _grow(folder: Path) -> None:
    """The same run with 10,000 queries: scores, latencies and rankings written a system at a time."""
    record = json.loads((folder / "run.json").read_text())
    ids = [f"q-{number:05d}" for number in range(MANY)]
    chance = np.random.default_rng(7)
    queries = {name: pa.nulls(MANY, pa.type_for_alias(kind)) for name, kind in QUERIES.columns}
    queries |= {"query_id": pa.array(ids), "text": pa.array([f"question {one}" for one in ids])}
    queries |= {"negative": pa.array([False] * MANY), "synthetic": pa.array([False] * MANY)}
    queries |= {"category": pa.array([f"c{n % 5}" for n in range(MANY)]), "tags": pa.array(["{}"] * MANY)}
    pq.write_table(QUERIES.table(queries), folder / "queries.parquet")
    systems = record["systems"]
    _write(folder, SCORES, lambda: _scores(systems, record["measures"], ids, chance))
    _write(folder, LATENCIES, lambda: _latencies(systems, ids, chance))
    _write(folder, RANKINGS, lambda: _rankings(systems, ids))


def _write(folder: Path, schema: Schema, tables: Callable[[], Iterator[pa.Table]]) -> None:
    with pq.ParquetWriter(folder / f"{schema.name}.parquet", schema.arrow()) as writer:
        for table in tables():
            writer.write_table(table)


def _scores(
    systems: list[str], measures: list[str], ids: list[str], chance: np.random.Generator
) -> Iterator[pa.Table]:
    hardness = chance.uniform(0, 1, MANY)
    for place, system in enumerate(systems):
        for measure in measures:
            noise = chance.uniform(0, 1, MANY)
            values = np.clip(0.5 * hardness + 0.5 * noise - place / 1000, 0, 1)
            yield SCORES.table(
                {
                    "run": pa.repeat("made-up", MANY),
                    "system": pa.repeat(system, MANY),
                    "query_id": ids,
                    "measure": pa.repeat(measure, MANY),
                    "unit": pa.repeat("document", MANY),
                    "source": pa.repeat("documents", MANY),
                    "value": values,
                }
            )


def _latencies(systems: list[str], ids: list[str], chance: np.random.Generator) -> Iterator[pa.Table]:
    for system in systems:
        milliseconds = chance.gamma(2, 2, MANY)
        nothing = pa.nulls(MANY, pa.float64())
        yield LATENCIES.table(
            {
                "run": pa.repeat("made-up", MANY),
                "system": pa.repeat(system, MANY),
                "repeat": np.zeros(MANY, np.int32),
                "query_id": ids,
                "embed_ms": nothing,
                "search_ms": milliseconds,
                "fuse_ms": nothing,
                "rerank_ms": nothing,
                "total_ms": milliseconds,
            }
        )


def _rankings(systems: list[str], ids: list[str]) -> Iterator[pa.Table]:
    rows = MANY * RANKS
    queries = pa.array(np.repeat(np.array(ids, dtype=object), RANKS))
    ranks = np.tile(np.arange(1, RANKS + 1, dtype=np.int32), MANY)
    for system in systems:
        yield RANKINGS.table(
            {
                "run": pa.repeat("made-up", rows),
                "system": pa.repeat(system, rows),
                "query_id": queries,
                "rank": ranks,
                "chunk_id": pa.repeat("chunk-00000", rows),
                "document_id": pa.repeat("a.md", rows),
                "start": np.zeros(rows, np.int32),
                "end": np.ones(rows, np.int32),
                "section": pa.repeat("", rows),
                "score": 1.0 / ranks,
            }
        )


if __name__ == "__main__":
    sys.exit(main())
