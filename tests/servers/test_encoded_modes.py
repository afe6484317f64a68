"""Sparse and token vectors through `bakeoff run` on real engines: BM25 as sparse vectors ranks as BM25 does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from bakeoff import registry

EXPERIMENT = """\
name: encoded
corpus: {folder: corpus}
queries: queries.yaml
chunkers: [{line: {doc_lines: 4}}]
encoders: [bm25_sparse]
modes: [sparse]
depth: 20
"""
ROUNDING = 1e-5


def rankings(run: Path, store: str) -> dict[str, list[tuple[str, float]]]:
    """Chunks and scores of each question in the system of a store, by rank."""
    found: dict[str, list[tuple[str, float]]] = {}
    for row in pq.read_table(run / "rankings.parquet").sort_by("rank").to_pylist():
        if f"· {store}" in row["system"]:
            found.setdefault(row["query_id"], []).append((row["chunk_id"], row["score"]))
    return found


@pytest.mark.parametrize("name", ["pgvector", "elasticsearch", "opensearch", "milvus", "qdrant"])
def test_bm25_as_sparse_vectors_ranks_as_bm25_does(
    name: str,
    engine: Callable[[str], dict[str, str]],
    known: Callable[[str], str],
    home: Path,
    laid_out: Callable[..., Path],
    cli: Callable[..., Any],
) -> None:
    """Rows change places only where their scores differ by no more than the engine rounds a weight."""
    if name == "pgvector":
        engine(name)
    elif name in ("elasticsearch", "opensearch"):
        known(name)
    path = laid_out(Path.cwd(), EXPERIMENT)
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | {"stores": ["postings", name]}))
    assert cli("run", "bakeoff.yaml", "--out", "run").code == 0
    true, found = rankings(Path("run"), "postings"), rankings(Path("run"), name)
    assert true.keys() == found.keys() and sum(map(len, true.values())) > 30
    error = 2 * getattr(registry.load("stores", name), "weight_error", 0.0) + ROUNDING
    for query, ranking in true.items():
        scores = dict(ranking)
        assert {chunk for chunk, _ in found[query]} == scores.keys(), query
        for (_, due), (chunk, score) in zip(ranking, found[query], strict=True):
            assert scores[chunk] == pytest.approx(due, rel=error), (query, chunk)
            assert score == pytest.approx(scores[chunk], rel=error), (query, chunk)
