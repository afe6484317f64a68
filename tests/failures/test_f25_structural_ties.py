"""F25: queries that cannot be scored, stored as 0 for both, counted in the mean difference."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from bakeoff.report.build import build_report
from bakeoff.runs.analysis import open_run
from bakeoff.runs.folder import RunFolder
from bakeoff.stats.compare import compare
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.storage.schemas import SCORES

_place = Path(__file__).resolve().parents[1] / "report" / "conftest.py"
_spec = importlib.util.spec_from_file_location("report_run_f25", _place)
assert _spec
assert _spec.loader
made_up = sys.modules[_spec.name] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(made_up)

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


def test_f25_zeros_stored_for_queries_without_an_answer_stay_out_of_a_run_s_comparison(
    tmp_path: Path,
) -> None:
    """Whatever number the file holds for them: what a query is decides, not what was written beside it."""
    made = made_up.write_run(tmp_path / "run", made_up.Made(systems=3, queries=20, negatives=8))
    before = made.comparison
    place = made.scores.schema.get_field_index("value")
    zeros = made.scores.set_column(place, "value", made.scores["value"].fill_null(0.0))
    RunFolder(made.path).table(SCORES, [zeros])
    after = open_run(made.path)
    assert after.comparison == before and after.verdict == made.verdict
    assert {pair.n for pair in after.comparison.pairs} == {12}
    assert {pair.wins + pair.losses + pair.ties for pair in after.comparison.pairs} == {12}
    assert build_report(after).systems == build_report(made).systems
