"""F09: a negative query averaged in as zero, or silently dropped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from bakeoff.judging import false_alarms
from bakeoff.runner import run
from bakeoff.validation.checking import validate

NEGATIVE = {"nothing", "nowhere"}


def test_f09_validate_counts_and_names_them(laid_out: Callable[..., Path], tmp_path: Path) -> None:
    report = validate(laid_out(tmp_path), home=tmp_path / "home")
    (found,) = (finding for finding in report.findings if finding.code == "negative")
    assert found.level == "note"
    assert found.message.startswith("2 queries have no right answer (nothing, nowhere): scored apart")
    assert {row.queries for row in report.ceilings if row.best is not None} == {12}
    assert report.power is not None and report.power.queries == 12


def test_f09_in_a_run_they_have_no_relevance_score_and_are_among_the_excluded(ran: Any) -> None:
    scores = ran.result.scores.filter(pc.equal(ran.result.scores["measure"], ran.result.record.primary))
    unscored = scores.filter(pc.is_null(scores["value"]))
    assert set(unscored["query_id"].to_pylist()) == NEGATIVE
    assert {each.query_id for each in ran.result.record.excluded} == NEGATIVE
    assert all(summary.n == 12 for summary in ran.result.comparison.systems)


def test_f09_they_are_scored_apart(ran: Any) -> None:
    alarms = false_alarms(ran.result, ran.result.done[0])
    assert alarms is not None and alarms.negatives == 2 and 0 <= alarms.above <= 2


def test_f09_false_alarms_are_of_the_negative_queries_alone(small: Path) -> None:
    """At a threshold that every top score here reaches each of the two is an alarm, and nobody else is counted."""
    small.write_text(small.read_text() + "measures: {primary: nDCG@10, also: [FalseAlarm@0.001]}\n")
    result = run(small, out=Path("run"))
    rows = {
        row["query_id"]: row["value"] for row in result.scores.to_pylist() if "FalseAlarm" in row["measure"]
    }
    assert {query: value for query, value in rows.items() if value is not None} == dict.fromkeys(
        NEGATIVE, 1.0
    )


def test_f09_only_negative_queries_are_an_error(laid_out: Callable[..., Path], tmp_path: Path) -> None:
    experiment = laid_out(tmp_path)
    (tmp_path / "queries.yaml").write_text("queries:\n  - {id: no, text: sourdough bread, truth: negative}\n")
    report = validate(experiment, home=tmp_path / "home")
    assert "negative" in {finding.code for finding in report.of("error")}
