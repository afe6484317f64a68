"""SemPrec, SemLift, FalsePos and Judged at k: bounds over the unjudged, and comparisons where both are complete."""

from __future__ import annotations

import pytest

from bakeoff.measures.labels import Label
from bakeoff.review.auto_vs_human import compare_auto_human, human_values
from bakeoff.review.human_scores import JudgedResult
from bakeoff.review.measures import pool_rankings, review_figures
from bakeoff.review.outcomes import ItemOutcome, OutcomeState
from bakeoff.review.pool import ReviewPool

KW, SEM, FP = Label.KEYWORD_MATCH, Label.SEMANTIC_MATCH, Label.FALSE_POSITIVE
SERVED = {
    "a": {"q0": ("s0", "a0"), "q1": ("s1", "a1"), "q2": ("s2", "a2")},
    "b": {"q0": ("s0", "b0"), "q1": ("s1", "b1"), "q3": ("s3", "b3")},
}
LABELS = {"s0": KW, "a0": SEM, "b0": FP, "s1": KW, "a1": SEM, "s2": FP, "a2": FP, "s3": KW, "b3": SEM}


def test_values_and_bounds_by_hand() -> None:
    a, b = review_figures(SERVED, LABELS, 2).systems
    assert (a.queries, a.complete) == (("q0", "q1", "q2"), ("q0", "q1", "q2"))
    assert a.values["SemPrec"].value == pytest.approx(4 / 6)
    assert a.values["SemLift"].value == pytest.approx(2 / 6)
    assert b.complete == ("q0", "q3")
    assert b.judged == pytest.approx(5 / 6)
    assert (b.values["SemPrec"].low, b.values["SemPrec"].high) == (pytest.approx(4 / 6), pytest.approx(5 / 6))
    assert b.counts[Label.UNJUDGED] == 1


def test_pairs_are_compared_on_queries_complete_for_both() -> None:
    pair = review_figures(SERVED, LABELS, 2).pairs[0]
    assert (pair.measure, pair.queries, pair.common) == ("SemPrec", ("q0",), 2)
    assert pair.difference == 0.5
    assert pair.left_out == {
        "q1": "unjudged results of b",
        "q2": "no complete review of b",
        "q3": "no complete review of a",
    }
    assert pair.bounds is not None
    assert (pair.bounds.low, pair.bounds.high) == (pytest.approx(0.25), pytest.approx(0.5))


def test_what_both_returned_and_nobody_judged_moves_no_bound() -> None:
    labels = {key: value for key, value in LABELS.items() if key != "s0"}
    pair = review_figures(SERVED, labels, 2).pairs[0]
    assert pair.bounds is not None
    assert (pair.bounds.low, pair.bounds.high) == (pytest.approx(0.25), pytest.approx(0.5))


def test_rankings_of_a_pool(pool: ReviewPool) -> None:
    found = pool_rankings(pool)
    assert found["a"]["q0"] == (pool.items[0].id, pool.items[1].id)


def test_sides_by_rules_by_people_and_combined() -> None:
    settled = {
        item: ItemOutcome(item, f"q{item[1]}", OutcomeState.AGREED, label) for item, label in LABELS.items()
    }
    ranked = {
        system: {query: [JudgedResult(item) for item in items] for query, items in by_query.items()}
        for system, by_query in SERVED.items()
    }
    human = human_values(ranked, settled, "RR@10(chunk)")
    assert human["a", "q0"] == 1.0
    assert ("b", "q1") not in human
    automated = {(s, q): 0.5 for s in "ab" for q in ("q0", "q1", "q2", "q3")}
    a, _b, even, *_ = compare_auto_human(
        "ab", "RR@10", automated, human, {"q0": "even", "q1": "odd", "q2": "even", "q3": "odd"}
    )
    assert (a.automated.value, a.automated.n) == (0.5, 4)
    assert (a.human.value, a.human.n) == (1.0, 1)
    assert (a.combined.value, a.combined.n) == (pytest.approx(2.5 / 4), 4)
    assert (even.category, even.automated.n, even.human.n) == ("even", 2, 1)
