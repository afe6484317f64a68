"""How far rules alone judge each category, told from the kinds of rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bakeoff.examples import find
from bakeoff.runs.checks.checking import automation_rows, check_automation
from bakeoff.truth.queries import read_queries

Make = Callable[..., Any]


def test_the_gold_queries_are_thirty_and_twenty() -> None:
    """S4-78, S4-79: incident and section yes, aircraft and phase mostly, conceptual and comparative need people."""
    queries = read_queries(find("incidents").experiment.parent / "queries.yaml")
    found = {row.category: {how: n for how, n in row.counts.items() if n} for row in automation_rows(queries)}
    assert found == {
        "incident_lookup": {"yes": 10},
        "section": {"yes": 10},
        "aircraft": {"mostly": 6},
        "phase": {"mostly": 4},
        "conceptual": {"partly": 12},
        "comparative": {"partly": 8},
    }
    (note,) = check_automation(queries)
    assert note.level == "note" and "20 queries of 50 (conceptual 12, comparative 8)" in note.message


def test_named_documents_need_no_people_and_unjudged_queries_do(lab: Make) -> None:
    made = lab(queries=(("truth: {documents: [mail.md]}", "truth: unjudged"),))
    (row,) = made.report().automation
    assert dict(row.counts) == {"yes": 3, "mostly": 0, "partly": 0, "no": 1}
    assert made.found("by-words") == []


def test_a_rule_about_words_is_said(lab: Make) -> None:
    made = lab(queries=(("{documents: [mail.md]}", "{keywords: {any: [letters]}, over: documents}"),))
    (note,) = made.found("by-words")
    assert "1 query of 4" in note.message and "lower bounds" in note.message
