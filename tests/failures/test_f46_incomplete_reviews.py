"""F46: reviews that are complete for one system only, and unjudged results that are counted two ways."""

from __future__ import annotations

import pytest

from bakeoff.measures.labels import Label
from bakeoff.review.measures import review_figures

KW, FP = Label.KEYWORD_MATCH, Label.FALSE_POSITIVE
SERVED = {
    "a": {"q0": ("x", "y"), "q1": ("z", "u")},
    "b": {"q0": ("x", "v"), "q2": ("w", "t")},
}
LABELS = {"x": KW, "y": KW, "v": FP, "z": FP, "w": KW, "t": KW}


def test_bounds_over_the_unjudged_are_always_there() -> None:
    a, _ = review_figures(SERVED, LABELS, 2).systems
    assert a.values["SemPrec"].value == pytest.approx(0.5), (
        "one way of counting: by k, the unjudged not relevant"
    )
    assert a.values["SemPrec"].high == pytest.approx(0.75)
    assert a.judged == 0.75


def test_systems_are_compared_only_where_both_are_complete() -> None:
    pair = review_figures(SERVED, LABELS, 2).pairs[0]
    assert pair.queries == ("q0",)
    assert pair.difference == 0.5
    assert set(pair.left_out) == {"q1", "q2"}


@pytest.mark.parametrize(("of_a", "of_b"), [(("x", "y"), ("x", "u")), (("x", "u"), ("x", "y"))])
def test_a_query_that_is_complete_for_one_of_the_two_is_left_out(
    of_a: tuple[str, ...], of_b: tuple[str, ...]
) -> None:
    served = {"a": {"q0": ("x", "y"), "q3": of_a}, "b": {"q0": ("x", "v"), "q3": of_b}}
    pair = review_figures(served, LABELS, 2).pairs[0]
    assert pair.queries == ("q0",) and set(pair.left_out) == {"q3"} and pair.difference == 0.5


def test_no_common_complete_query_gives_no_difference() -> None:
    pair = review_figures({"a": {"q1": ("z", "u")}, "b": {"q2": ("w", "t")}}, LABELS, 2).pairs[0]
    assert pair.difference is None
    assert not pair.interval.defined
