"""F24: comparing systems on different query sets (11 queries against 7)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from bakeoff.runs.compare_runs import compare_across
from bakeoff.stats.compare import compare
from bakeoff.stats.comparison import ScoreMatrix

_place = Path(__file__).resolve().parents[1] / "report" / "conftest.py"
_spec = importlib.util.spec_from_file_location("report_run_f24", _place)
assert _spec
assert _spec.loader
made_up = sys.modules[_spec.name] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(made_up)


def test_f24_only_shared_queries_count_and_the_others_are_listed() -> None:
    a = {f"q{i:02d}": 1.0 if i >= 7 else 0.5 for i in range(11)}
    b = {f"q{i:02d}": 0.6 for i in range(7)}
    comparison = compare(ScoreMatrix.of({"a": a, "b": b}, "RR"), seed=1)
    (pair,) = comparison.pairs
    assert comparison.ranking == ("b", "a"), "the four easy queries that only a has do not make it best"
    assert pair.n == 7
    assert pair.mean_a == pytest.approx(0.5)
    assert pair.difference == pytest.approx(-0.1)
    assert [dropped.query for dropped in pair.dropped] == ["q07", "q08", "q09", "q10"]
    assert all("for b" in dropped.reason for dropped in pair.dropped)


def test_f24_the_reason_of_a_missing_score_is_repeated() -> None:
    values = np.array([[1.0, np.nan, 0.5], [0.5, 0.5, np.nan]])
    matrix = ScoreMatrix(
        ("a", "b"), ("q1", "q2", "q3"), values, "SemPrec@10", missing={("a", "q2"): "review not complete"}
    )
    comparison = compare(matrix, seed=1)
    second, third = comparison.pairs[0].dropped
    assert second.query == "q2" and second.reason.endswith("for a: review not complete")
    assert third.query == "q3" and "for b: no reason" in third.reason
    assert comparison.summary("a").n == 2
    assert [dropped.query for dropped in comparison.summary("b").excluded] == ["q3"]
    assert any("different queries" in note for note in comparison.notes)


def test_f24_two_runs_are_compared_on_the_queries_both_have(tmp_path: Path) -> None:
    """Eleven queries against seven; with the other four as zeros the shorter run would look worse."""
    longer, shorter = (
        made_up.write_run(tmp_path / name, made_up.Made(systems=2, queries=n, negatives=0))
        for name, n in (("eleven", 11), ("seven", 7))
    )
    comparison = compare_across(longer, shorter)
    system = longer.done[0]
    pair = comparison.pair(f"{system} @ {longer.record.run}", f"{system} @ {shorter.record.run}")
    assert pair.n == 7
    assert [dropped.query for dropped in pair.dropped] == ["q-08", "q-09", "q-10", "q-11"]
    primary = longer.matrix(longer.record.primary)
    shared = [
        place
        for place, query in enumerate(primary.queries)
        if query in shorter.matrix(primary.measure).queries
    ]
    assert pair.mean_a == pytest.approx(primary.values[primary.systems.index(system), shared].mean())
