"""F25: queries that cannot be scored, stored as 0 for both, counted in the mean difference."""

from __future__ import annotations

import numpy as np
import pytest

from bakeoff.stats.compare import compare
from bakeoff.stats.comparison import ScoreMatrix

QUERIES = tuple(f"q{i}" for i in range(20))
VALUES = np.vstack([[0.0] * 10 + [1.0, 0.5] * 5, [0.0] * 10 + [0.5, 0.5] * 5])


def test_f25_structural_queries_are_in_no_mean_and_no_tie_count() -> None:
    structural = dict.fromkeys(QUERIES[:10], "no truth")
    comparison = compare(ScoreMatrix(("a", "b"), QUERIES, VALUES, "MRR", structural=structural), seed=1)
    pair = comparison.pairs[0]
    assert pair.n == 10
    assert pair.difference == pytest.approx(0.25)
    assert (pair.wins, pair.losses, pair.ties) == (5, 0, 5)
    assert {dropped.reason for dropped in pair.dropped} == {"cannot be scored: no truth"}
    assert len(pair.dropped) == 10
    assert comparison.summary("a").n == 10


def test_f25_counting_them_would_have_halved_the_difference() -> None:
    assert compare(ScoreMatrix(("a", "b"), QUERIES, VALUES, "MRR"), seed=1).pairs[
        0
    ].difference == pytest.approx(0.125)
