"""A score that hangs on the order of equally scored results is stored with its range (F17)."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff.measures.conventions import DEFAULT
from bakeoff.measures.names import parse
from bakeoff.measures.presets import preset
from bakeoff.pipeline.query_pipeline import StepResult
from bakeoff.pipeline.scoring.inputs import ScoringInputs
from bakeoff.pipeline.scoring.score import measure_values
from bakeoff.pipeline.scoring.ties import any_equal, tied_rows, ties_table
from bakeoff.truth.queries import read_queries
from bakeoff.truth.resolve import resolve
from bakeoff.types import Hits

BY_CHUNKS = preset("vectordb").conventions


def tie_ranges(work: ScoringInputs, names: tuple[str, ...]) -> list[dict[str, Any]]:
    found = tied_rows(work, [parse(name) for name in names]) if any_equal(work) else {}
    return ties_table("run", "system", found).to_pylist()


@pytest.fixture
def tied(bench: Any) -> Any:
    """The ties of one query whose right document is the second of two served chunks with given scores."""
    Path("queries.yaml").write_text("queries: [{id: q, text: a, truth: {documents: [guide/auth.md]}}]\n")
    queries = read_queries(Path("queries.yaml"))
    chunking = bench.chunking("semantic", merge_below=0)
    truth = resolve(queries, bench.corpus().documents, {chunking.fingerprint: chunking.chunks}, strict=True)
    texts = chunking.chunks["text"].to_pylist()
    rows = [
        next(i for i, text in enumerate(texts) if words in text) for words in ("Value added", "Access tokens")
    ]

    def run(*scores: float) -> list[dict[str, Any]]:
        leg = StepResult((Hits(np.array(rows, np.int64), np.array(scores)),), np.ones((1, 1)))
        work = ScoringInputs(leg, chunking, queries, truth, DEFAULT, lambda: np.zeros(0), lambda: None)
        return tie_ranges(work, ("RR@10(document)", "R@10(document)"))

    return run


NAMES = ("RR(document)", "R@3(document)", "Hit@2(document)", "nDCG@4(document)", "P_unique@3(document)")


@pytest.mark.parametrize("seed", range(6))
def test_the_ends_with_ranks_of_chunks_are_those_of_all_orders(bench: Any, seed: int) -> None:
    """Served chunks of four documents, some of them tied; every order of the tied ones is scored."""
    Path("queries.yaml").write_text(
        "queries: [{id: q, text: a, truth: {documents: [guide/auth.md, src/cache.py]}}]\n"
    )
    queries = read_queries(Path("queries.yaml"))
    chunking = bench.chunking("line", doc_lines=2, code_lines=4, overlap=0)
    truth = resolve(queries, bench.corpus().documents, {chunking.fingerprint: chunking.chunks}, strict=True)
    random = np.random.default_rng(seed)
    doc = chunking.chunks["doc"].to_numpy()
    some = random.choice(np.flatnonzero(doc < 5), 7, replace=False)
    levels = np.sort(random.integers(0, 3, len(some)))[::-1].astype(float)

    def work(rows: np.ndarray, scores: np.ndarray) -> ScoringInputs:
        leg = StepResult((Hits(rows.astype(np.int64), scores),), np.ones((1, 1)))
        return ScoringInputs(leg, chunking, queries, truth, BY_CHUNKS, lambda: np.zeros(0), lambda: None)

    seen: dict[str, set[float]] = {name: set() for name in NAMES}
    for order in itertools.permutations(range(len(some))):
        if (np.diff(levels[list(order)]) <= 0).all():
            one = measure_values(
                work(some[list(order)], -np.arange(len(some), dtype=float)), [parse(name) for name in NAMES]
            )
            for measure, column in one.items():
                seen[str(measure)].add(round(float(column[0]), 12))
    rows = tie_ranges(work(some, levels), NAMES)
    assert {row["measure"] for row in rows} == {name for name, found in seen.items() if len(found) > 1}
    for row in rows:
        found = seen[row["measure"]]
        assert (row["low"], row["high"]) == (pytest.approx(min(found)), pytest.approx(max(found))), row
        assert row["expected"] is None


def test_different_scores_leave_nothing_to_say(tied: Any) -> None:
    assert tied(0.9, 0.8) == []


def test_equal_scores_give_the_range_and_the_expected_value(tied: Any) -> None:
    (row,) = tied(0.9, 0.9)  # recall at 10 is the same in either order, so only the reciprocal rank is told
    assert (row["query_id"], row["measure"]) == ("q", "RR@10(document)")
    assert (row["low"], row["high"], row["expected"]) == (0.5, 1.0, 0.75)
