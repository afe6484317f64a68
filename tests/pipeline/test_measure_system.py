from __future__ import annotations

import itertools
import json
from typing import Any

import pyarrow.compute as pc
import pytest

from bakeoff.pipeline.measure_system import failed_result
from bakeoff.pipeline.system_tables import CELL


def of(table: Any, system: str) -> list[dict[str, Any]]:
    return table.filter(pc.equal(table["system"], system)).to_pylist()


def test_the_row_of_a_system_says_what_it_is(ran: Any) -> None:
    rows = {row["system"]: row for row in ran.result.systems.to_pylist()}
    row = rows["semantic · wordllama(dims=64) · faiss · hybrid"]
    parts = [row[name] for name in ("chunker", "embedder", "store", "mode", "reranker")]
    assert parts == ["semantic", "wordllama(dims=64)", "faiss", "hybrid", None]
    assert (row["status"], row["reason"], row["dims"], row["stand_in"]) == ("done", "", 64, False)
    assert row["chunks"] == 14 and row["index_bytes"] > 14 * 64 * 4
    kind, name, version, params = json.loads(row["params"])[0]
    assert (kind, name) == ("chunkers", "semantic") and version.startswith("3") and "max_chars" in params
    words = rows["line · bm25"]
    assert (words["embedder"], words["store"], words["dims"]) == (None, "tantivy", None)


def test_ranks_count_from_one_in_served_order(ran: Any) -> None:
    for system in ran.result.done:
        rows = of(ran.result.rankings, system)
        by_query: dict[str, list[dict[str, Any]]] = {}
        for row in rows:
            by_query.setdefault(row["query_id"], []).append(row)
        for found in by_query.values():
            assert [row["rank"] for row in found] == list(range(1, len(found) + 1))
            scores = [row["score"] for row in found]
            assert all(a >= b - 1e-6 for a, b in itertools.pairwise(scores))


def test_every_phase_is_there_once(ran: Any) -> None:
    for system in ran.result.done:
        phases = [row["phase"] for row in of(ran.result.timings, system) if row["statistic"] == "seconds"]
        model = [] if system.endswith("bm25") else ["embed_chunks"]
        assert phases == ["read", "chunk", *model, "insert", "index", "ready", "ingest"]


def test_latencies_add_up(ran: Any) -> None:
    for row in ran.result.latencies.to_pylist():
        parts = [row[f"{step}_ms"] or 0.0 for step in ("embed", "search", "fuse", "rerank")]
        assert row["total_ms"] == pytest.approx(sum(parts)) and row["search_ms"] > 0


def test_a_failed_cell_has_a_row_and_nothing_else(ran: Any) -> None:
    from bakeoff.config import experiment

    plan = experiment.load(ran.result.path.parent / "bakeoff.yaml")
    cell = failed_result("run", plan.systems[0], "out of memory")
    row = cell.systems.to_pylist()[0]
    assert (row["status"], row["reason"], row["chunks"], row["index_bytes"]) == (
        "failed",
        "out of memory",
        None,
        None,
    )
    for schema in CELL:
        table = getattr(cell, schema.name)
        assert table.schema.equals(schema.arrow())
        assert table.num_rows == (1 if schema.name == "systems" else 0)
