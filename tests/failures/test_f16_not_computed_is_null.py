"""F16: recall never computed for a category, stored as 0.0 and averaged in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bakeoff.measures.api import evaluate
from bakeoff.measures.arrays import JudgmentArrays, RankingArrays
from bakeoff.measures.evaluate import evaluate as evaluate_arrays
from bakeoff.measures.names import parse
from bakeoff.report.build import build_report
from bakeoff.runs.analysis import Result
from bakeoff.runs.run import run
from bakeoff.runs.score_grid import mean_scores, read_grid

both_ways = pytest.mark.usefixtures("way")
QRELS = {"judged": {"a": 1, "b": 0}, "empty": {"a": 0}}
RUN = {"judged": {"a": 1.0}, "empty": {"a": 1.0}, "unjudged": {"a": 1.0}}


@both_ways
def test_f16_what_cannot_be_computed_is_null_and_leaves_the_mean_alone() -> None:
    result = evaluate(QRELS, RUN, ["R@5"])
    assert result.per_query["empty"]["R@5"] is None and result.per_query["unjudged"]["R@5"] is None
    assert result.mean["R@5"] == 1.0 and result.counts["R@5"] == 1
    assert {one.query for one in result.excluded} == {"empty", "unjudged"}


@both_ways
def test_f16_nothing_computed_has_no_mean() -> None:
    result = evaluate({"empty": {"a": 0}}, {"empty": {"a": 1.0}}, ["R@5"])
    assert result.mean["R@5"] is None and result.bounds["R@5"] is None


@both_ways
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


@pytest.fixture
def by_answer(small: Path) -> Result:
    """A run whose measure has no value for a whole category: its truth does not say where the answer is."""
    small.write_text(small.read_text() + "measures: {primary: R@20(answer), also: [R@20(document)]}\n")
    return run(small, out=Path("run"))


def test_f16_a_category_that_cannot_be_scored_has_no_mean_and_lowers_none(by_answer: Result) -> None:
    rows = [row for row in by_answer.scores.to_pylist() if row["measure"] == "R@20(answer)"]
    assert {row["query_id"]: row["value"] for row in rows if row["value"] is not None} == {
        "evict": 1.0,
        "jitter": 1.0,
    }
    (summary,) = by_answer.comparison.systems
    assert (summary.mean, summary.n, len(summary.excluded)) == (1.0, 2, 12)
    (groups,) = (one for one in build_report(by_answer).breakdowns if one.label == "category")
    means = dict(zip(groups.groups, groups.rows[0][1], strict=True))
    assert (means["guide"].value, means["guide"].n) == (None, 0)
    assert (means["code"].value, means["code"].n) == (1.0, 2)


def test_f16_the_report_s_own_means_skip_null(by_answer: Result) -> None:
    grid = read_grid(by_answer)
    assert mean_scores(grid, "R@20(answer)") == {by_answer.done[0]: 1.0}
    assert np.isnan(grid.values["R@20(answer)"]).sum() == 12
