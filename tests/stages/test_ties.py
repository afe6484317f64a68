"""A score that hangs on the order of equally scored results is stored with its range (F17)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff.measures.conventions import DEFAULT
from bakeoff.stages.judged import Scored
from bakeoff.stages.retrieve import Leg
from bakeoff.stages.ties import ties
from bakeoff.truth.queries import read_queries
from bakeoff.truth.resolve import resolve
from bakeoff.types import Hits


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
        leg = Leg((Hits(np.array(rows, np.int64), np.array(scores)),), np.ones((1, 1)), True)
        work = Scored(leg, chunking, queries, truth, DEFAULT, lambda: np.zeros(0), lambda: None)
        return ties("run", "system", work, ("RR@10(document)", "R@10(document)")).to_pylist()

    return run


def test_different_scores_leave_nothing_to_say(tied: Any) -> None:
    assert tied(0.9, 0.8) == []


def test_equal_scores_give_the_range_and_the_expected_value(tied: Any) -> None:
    (row,) = tied(0.9, 0.9)  # recall at 10 is the same in either order, so only the reciprocal rank is told
    assert (row["query_id"], row["measure"]) == ("q", "RR@10(document)")
    assert (row["low"], row["high"], row["expected"]) == (0.5, 1.0, 0.75)
