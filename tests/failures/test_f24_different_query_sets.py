"""F24: comparing systems on different query sets (11 queries against 7)."""

from __future__ import annotations

import numpy as np
import pytest

from bakeoff.stats.compare import compare
from bakeoff.stats.comparison import ScoreMatrix


def test_f24_only_shared_queries_count_and_the_others_are_listed() -> None:
    a = {f"q{i:02d}": 1.0 if i >= 7 else 0.5 for i in range(11)}
    b = {f"q{i:02d}": 0.6 for i in range(7)}
    pair = compare(ScoreMatrix.of({"a": a, "b": b}, "RR"), seed=1).pairs[0]
    assert pair.n == 7
    assert pair.mean_a == pytest.approx(0.5)
    assert pair.difference == pytest.approx(-0.1)
    assert [dropped.query for dropped in pair.dropped] == ["q07", "q08", "q09", "q10"]
    assert all("not scored for b" in dropped.reason for dropped in pair.dropped)


def test_f24_the_reason_of_a_missing_score_is_repeated() -> None:
    values = np.array([[1.0, np.nan, 0.5], [0.5, 0.5, np.nan]])
    matrix = ScoreMatrix(
        ("a", "b"), ("q1", "q2", "q3"), values, "SemPrec@10", missing={("a", "q2"): "review not complete"}
    )
    comparison = compare(matrix, seed=1)
    assert [(d.query, d.reason) for d in comparison.pairs[0].dropped] == [
        ("q2", "not scored for a: review not complete"),
        ("q3", "not scored for b: no reason was recorded"),
    ]
    assert comparison.summary("a").n == 2
    assert [dropped.query for dropped in comparison.summary("b").excluded] == ["q3"]
    assert any("different queries" in note for note in comparison.notes)
