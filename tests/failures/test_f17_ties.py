"""F17: a constant scorer got MRR 1.0 or 0.0 depending on the tool's sort."""

from __future__ import annotations

import pytest

from bakeoff.measures.api import evaluate
from bakeoff.measures.result import TieRange

ITEMS = [f"d{number}" for number in range(10)]


def constant(order: list[str]) -> dict[str, dict[str, float]]:
    return {"q": dict.fromkeys(order, 1.0)}


@pytest.mark.parametrize("order", [ITEMS, ITEMS[::-1]])
def test_f17_a_constant_scorer_is_seen_whatever_the_served_order(order: list[str]) -> None:
    result = evaluate({"q": {"d0": 1}}, constant(order), ["RR", "P@1", "P@10"])
    harmonic = sum(1 / rank for rank in range(1, 11)) / 10
    tie = result.ties["q"]["RR"]
    assert (tie.low, tie.high) == (pytest.approx(0.1), 1.0)
    assert tie.expected == pytest.approx(harmonic)
    assert result.ties["q"]["P@1"] == TieRange(0.0, 1.0, pytest.approx(0.1))
    assert "P@10" not in result.ties["q"], "no tie crosses rank 10"


def test_f17_the_served_order_is_the_value() -> None:
    assert evaluate({"q": {"d0": 1}}, constant(ITEMS), ["RR"]).mean["RR"] == 1.0
    assert evaluate({"q": {"d0": 1}}, constant(ITEMS[::-1]), ["RR"]).mean["RR"] == pytest.approx(0.1)


def test_f17_a_tie_inside_the_cut_off_changes_no_set_measure() -> None:
    run = {"q": {"a": 2.0, "b": 2.0, "c": 1.0}}
    result = evaluate({"q": {"b": 1}}, run, ["P@2", "RR"])
    assert list(result.ties["q"]) == ["RR"]


def test_f17_trec_evals_tie_rule_is_there_by_name_only() -> None:
    run = constant(ITEMS)
    assert evaluate({"q": {"d9": 1}}, run, ["RR"], preset="trec_eval").mean["RR"] == 1.0
    assert evaluate({"q": {"d9": 1}}, run, ["RR"]).mean["RR"] == pytest.approx(0.1)
