"""F16: recall never computed for a category, stored as 0.0 and averaged in."""

from __future__ import annotations

import numpy as np
import pytest

from bakeoff.measures.api import evaluate
from bakeoff.measures.arrays import JudgmentArrays, RankingArrays
from bakeoff.measures.evaluate import evaluate as evaluate_arrays
from bakeoff.measures.names import parse

pytestmark = pytest.mark.usefixtures("way")
QRELS = {"judged": {"a": 1, "b": 0}, "empty": {"a": 0}}
RUN = {"judged": {"a": 1.0}, "empty": {"a": 1.0}, "unjudged": {"a": 1.0}}


def test_f16_what_cannot_be_computed_is_null_and_leaves_the_mean_alone() -> None:
    result = evaluate(QRELS, RUN, ["R@5"])
    assert result.per_query["empty"]["R@5"] is None and result.per_query["unjudged"]["R@5"] is None
    assert result.mean["R@5"] == 1.0 and result.counts["R@5"] == 1
    assert {one.query for one in result.excluded} == {"empty", "unjudged"}


def test_f16_nothing_computed_has_no_mean() -> None:
    result = evaluate({"empty": {"a": 0}}, {"empty": {"a": 1.0}}, ["R@5"])
    assert result.mean["R@5"] is None and result.bounds["R@5"] is None


def test_f16_null_is_null_in_tables() -> None:
    table = evaluate(QRELS, RUN, ["R@5"]).to_arrow()
    assert table.column("value").null_count == 2
    assert table.column("value").to_pylist().count(0.0) == 0


def test_f16_arrays_hold_nan_and_their_mean_skips_it() -> None:
    rankings = RankingArrays(np.array([0, 1]), np.array([5, 5]), np.array([1.0, 1.0]))
    judgments = JudgmentArrays(np.array([0, 1]), np.array([5, 5]), np.array([1, 0]))
    scores = evaluate_arrays(rankings, judgments, [parse("R@5")])
    assert np.isnan(scores.values[1, 0])
    assert scores.means()[0] == pytest.approx(1.0)
