"""Scores that words decide are marked as lower bounds, measure by measure (C-23)."""

from __future__ import annotations

import pytest

from bakeoff.report.build import build_report
from bakeoff.report.render.html import page
from bakeoff.report.render.markdown import text
from bakeoff.report.sections.systems import is_lower_bound, queries_by_words
from bakeoff.runs.analysis import Result
from bakeoff.runs.record import ReviewedTruth

MEASURES = ("nDCG@10(document)", "RR@10(document)", "Hit@1(document)", "P@5(document)", "R@10(document)")
BOUNDS = {"RR@10(document)", "Hit@1(document)", "P@5(document)"}


def judged_by(result: Result, source: str, queries: int) -> Result:
    """The run as if the first queries had been judged by a rule of this source."""
    hits = [
        hit.model_copy(update={"source": source}) if place < queries else hit
        for place, hit in enumerate(result.record.truth_hits)
    ]
    result.record = result.record.model_copy(update={"truth_hits": hits})
    return result


@pytest.mark.parametrize("source", ["sql", "signals", "keywords", "documents+sql"])
def test_rr_hit_and_precision_are_marked_where_words_decide(make_run, source: str) -> None:  # type: ignore[no-untyped-def]
    report = build_report(judged_by(make_run(systems=2, measures=MEASURES), source, 3))
    assert {note.label for note in report.systems.measures if note.lower_bound} == BOUNDS
    assert [line for line in report.headline.could_change if "3 questions" in line and "lower bounds" in line]
    html, markdown = page(report), text(report)
    assert html.count("<small>lower bound</small>") == 3
    assert markdown.count(", lower bound |") == 3


@pytest.mark.parametrize("source", ["documents", "sections", "spans"])
def test_nothing_is_marked_where_places_are_named(make_run, source: str) -> None:  # type: ignore[no-untyped-def]
    report = build_report(judged_by(make_run(systems=2, measures=MEASURES), source, 3))
    assert not any(note.lower_bound for note in report.systems.measures)
    assert "lower bound" not in text(report) and "lower bound" not in page(report)


def test_what_people_judged_is_not_judged_by_words(make_run) -> None:  # type: ignore[no-untyped-def]
    result = judged_by(make_run(systems=2), "sql", 2)
    first, second = queries_by_words(result)
    result.reviewed = ReviewedTruth((first,), ("anna",), 10, 45)
    assert queries_by_words(result) == [second]


@pytest.mark.parametrize("measure", ["R@10", "nDCG@10", "AP", "SecAcc@10", "kNN@10(vector)"])
def test_other_measures_are_not_lower_bounds(measure: str) -> None:
    assert not is_lower_bound(measure)
