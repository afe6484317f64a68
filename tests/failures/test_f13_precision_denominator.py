"""F13: precision divided by the number returned, or by unique documents, under the name precision@k."""

from __future__ import annotations

import pytest

from bakeoff.measures.api import evaluate
from bakeoff.measures.names import parse

pytestmark = pytest.mark.usefixtures("way")
QRELS = {"q": {"a": 1, "b": 1, "c": 0}}


def test_f13_a_short_list_is_filled_up_with_non_relevant_results() -> None:
    one = evaluate(QRELS, {"q": ["a"]}, ["P@10"])
    assert one.mean["P@10"] == pytest.approx(0.1)


def test_f13_no_short_list_beats_the_same_list_with_more_behind_it() -> None:
    short = evaluate(QRELS, {"q": ["a"]}, ["P@2"]).mean["P@2"]
    longer = evaluate(QRELS, {"q": ["a", "c"]}, ["P@2"]).mean["P@2"]
    assert short == longer == pytest.approx(0.5)


def test_f13_the_other_denominator_has_another_name() -> None:
    result = evaluate(QRELS, {"q": ["a"]}, ["P@10", "P_unique@10"])
    assert result.mean == pytest.approx({"P@10": 0.1, "P_unique@10": 1.0})
    assert parse("precision@10") == parse("P@10")
    assert parse("precision_unique@10") == parse("P_unique@10")
