"""Why other tools show other numbers: each labelled value is the one they show."""

import pytest

from bakeoff.errors import MeasureError
from bakeoff.measures.tool_variants import explain_difference

# The worked example: grades returned 1, 0, 3, 0; relevant 3, 2, 1, 1, 1.
QRELS = {"q": {"a": 1, "b": 0, "c": 3, "d": 0, "e": 2, "f": 1, "g": 1}, "none": {"a": 0}}
RUN = {"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}, "none": {"a": 1.0}}


def variants(measure: str, run: dict[str, dict[str, float]] = RUN) -> dict[str, float | None]:
    return {one.label: one.value for one in explain_difference(QRELS, run, "q", measure).variants}


def test_the_worked_example_in_all_its_wrong_forms() -> None:
    assert variants("P@10")["divided by returned"] == pytest.approx(0.5)
    assert variants("AP")["divided by relevant found"] == pytest.approx(0.8333, abs=5e-5)
    ndcg = variants("nDCG@10")
    assert ndcg["exponential gain"] == pytest.approx(0.441, abs=5e-4)
    assert ndcg["binary gain"] == pytest.approx(0.509, abs=5e-4)
    assert ndcg["ideal as long as found"] == pytest.approx(0.586, abs=1e-3)
    assert explain_difference(QRELS, RUN, "q", "nDCG@10").value == pytest.approx(0.448, abs=5e-4)


def test_the_ideal_of_what_was_found() -> None:
    # Ideal of the returned grades 3, 1: 3 + 1/log2(3) = 3.6309; DCG = 1 + 3/2 = 2.5.
    assert variants("nDCG@10")["ideal of found"] == pytest.approx(2.5 / 3.63093, abs=1e-5)


def test_ties_show_the_tools_order_and_the_extremes() -> None:
    tied = {"q": {"b": 1.0, "c": 1.0, "a": 1.0}}
    shown = variants("RR", tied)
    assert (
        shown["trec_eval"] == 1.0
        and shown["worst order of ties"] == 0.5
        and shown["best order of ties"] == 1.0
    )
    assert explain_difference(QRELS, tied, "q", "RR").value == 0.5


def test_unjudged_results_removed() -> None:
    assert variants("RR", {"q": {"x": 2.0, "a": 1.0}})["condensed list"] == 1.0
    assert "condensed list" not in variants("RR")


def test_a_query_without_relevant_items_has_no_value_here() -> None:
    found = explain_difference(QRELS, RUN, "none", "P@5")
    assert found.value is None
    assert {one.label: one.value for one in found.variants} == {
        "trec_eval": 0.0,
        "empty truth is success": 1.0,
    }


def test_bpref_without_judged_non_relevant_items() -> None:
    found = explain_difference({"q": {"a": 1}}, {"q": {"a": 1.0}}, "q", "bpref")
    assert found.value == 1.0 and found.variants[-1].label == "ranx" and found.variants[-1].value is None


def test_recall_and_rank_variants() -> None:
    assert variants("R@2") == pytest.approx(
        {"trec_eval": 0.2, "divided by min(k, R)": 0.5, "divided by k": 0.5, "any hit": 1.0}
    )
    assert variants("RR@1")["no cut-off"] == 1.0 and variants("RR")["cut at 10"] == 1.0
    assert variants("AP@2")["divided by min(k, R)"] == pytest.approx(0.5)


def test_measures_without_judgments_are_refused() -> None:
    with pytest.raises(MeasureError):
        explain_difference(QRELS, RUN, "q", "kNN@10")
