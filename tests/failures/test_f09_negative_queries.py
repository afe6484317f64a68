"""F09: a negative query averaged in as zero, or silently dropped."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from bakeoff.report.build import build_report
from bakeoff.report.render.html import write_html
from bakeoff.runs.analysis import open_run
from bakeoff.runs.checks.checking import validate
from bakeoff.runs.folder import QUERIES, RunFolder
from bakeoff.runs.run import run
from bakeoff.runs.verdict import false_alarms
from bakeoff.storage.schemas import RANKINGS

_place = Path(__file__).resolve().parents[1] / "report" / "conftest.py"
_spec = importlib.util.spec_from_file_location("report_run_f09", _place)
assert _spec
assert _spec.loader
made_up = sys.modules[_spec.name] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(made_up)

NEGATIVE = {"nothing", "nowhere"}


def test_f09_validate_counts_and_names_them(laid_out: Callable[..., Path], tmp_path: Path) -> None:
    report = validate(laid_out(tmp_path), home=tmp_path / "home")
    (found,) = (finding for finding in report.findings if finding.code == "negative")
    assert found.level == "note"
    assert found.message.startswith("2 queries ") and "(nothing, nowhere)" in found.message
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


def test_f09_the_threshold_is_chosen_on_other_queries_than_it_is_tried_on(tmp_path: Path) -> None:
    """With the threshold of all other queries one of the two is an alarm; with its own, none would be."""
    made = made_up.write_run(tmp_path / "run", made_up.Made(systems=1, queries=8, negatives=2))
    top = dict(zip(made.queries["query_id"].to_pylist(), [0.9, 0.9, 0.4] * 2 + [0.5, 0.1], strict=True))
    rows = made.rankings
    scores = [
        top[query] - 1e-3 * rank
        for query, rank in zip(rows["query_id"].to_pylist(), rows["rank"].to_pylist(), strict=True)
    ]
    place = rows.schema.get_field_index("score")
    RunFolder(made.path).table(RANKINGS, [rows.set_column(place, "score", pa.array(scores, pa.float64()))])
    alarms = false_alarms(open_run(made.path), made.done[0])
    assert alarms is not None and (alarms.negatives, alarms.above) == (2, 1)
    assert alarms.auroc == pytest.approx((4 * 2 + 2 * 1) / 12)


@pytest.mark.parametrize("negatives", [1, 2, 3])
def test_f09_every_negative_is_scored_whatever_its_place(tmp_path: Path, negatives: int) -> None:
    for name in ("one", "two"):
        made = made_up.write_run(tmp_path / name, made_up.Made(systems=1, queries=8, negatives=negatives))
        if name == "two":
            order = made.queries.take(pa.array([7, 0, 1, 2, 3, 4, 5, 6]))
            RunFolder(made.path).table(QUERIES, [order])
    found = [false_alarms(open_run(tmp_path / name, trust=True), made.done[0]) for name in ("one", "two")]
    assert found[0] is not None and found[0] == found[1] and found[0].negatives == negatives
    assert (found[0].above is None) is (negatives == 1)


@pytest.mark.parametrize("negatives", [1, 2])
def test_f09_they_are_scored_as_validate_announces(small: Path, negatives: int) -> None:
    """One negative has no threshold of its own kind, so validate announces AUROC alone; several are false alarms."""
    queries = small.parent / "queries.yaml"
    if negatives == 1:
        lines = queries.read_text().splitlines(keepends=True)
        queries.write_text("".join(line for line in lines if "id: nowhere" not in line))
    (note,) = (one for one in validate(small).findings if one.code == "negative")
    result = run(small, out=Path("run"))
    alarms = false_alarms(result, result.done[0])
    assert alarms is not None and alarms.negatives == negatives and alarms.auroc is not None
    assert ("false alarms" in note.message) is (alarms.above is not None)
    assert ("AUROC" in note.message) is (alarms.above is None)
    scored = {row["query_id"] for row in result.scores.to_pylist() if row["value"] is not None}
    assert not scored & NEGATIVE


def test_f09_the_report_names_them_and_counts_them_beside_every_mean(ran: Any, tmp_path: Path) -> None:
    text = write_html(ran.result, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "2 of them without" in text
    assert "n 12, 2 excluded" in text.replace("\n", " ")
    (negative,) = (one for one in build_report(ran.result).background.exclusions if "negative" in one.reason)
    assert set(negative.queries) == NEGATIVE and set(negative.measures) == set(ran.result.record.measures)
