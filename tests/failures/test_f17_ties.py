"""F17: a constant scorer got MRR 1.0 or 0.0 depending on the tool's sort."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.measures.api import evaluate
from bakeoff.measures.result import TieRange
from bakeoff.pipeline.canary import TEXTS
from bakeoff.report.render.html import write_html
from bakeoff.report.render.markdown import write_markdown
from bakeoff.runs.analysis import open_run
from bakeoff.types import Role

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


def test_f17_a_run_keeps_the_range_and_every_report_says_it(
    small: Path, cli: Any, register: Callable[[str, str, type], None]
) -> None:
    """A model that gives every text the same vector: the order is the store's, and nothing else."""
    base: Any = registry.load("embedders", "wordllama")

    class Constant(base):
        def embed(self, texts: Sequence[str], role: Role) -> np.ndarray:
            if set(texts) <= set(TEXTS):  # such a model is refused, so it behaves on the texts that try it
                return np.asarray(super().embed(texts, role))
            return np.tile(np.eye(1, 64, dtype=np.float32), (len(texts), 1))

    register("embedders", "constant", Constant)
    text = (
        small.read_text()
        .replace("wordllama: {dims: 64}", "constant: {dims: 64}")
        .replace("depth: 20", "depth: 100")
    )
    small.write_text(text + "measures: {primary: RR@100, also: [Hit@1]}\n")
    done = cli("run", "--quiet", "--verbose", "--out", "run")
    assert done.code == 0
    result = open_run(Path("run"))
    ties = {row["query_id"]: row for row in result.ties.to_pylist() if row["measure"] == "RR@100(document)"}
    assert len(ties) == 12, "every query that has an answer"
    served = {
        row["query_id"]: row["value"]
        for row in result.scores.to_pylist()
        if row["measure"] == "RR@100(document)"
    }
    for query, tie in ties.items():
        assert tie["low"] <= served[query] <= tie["high"] == 1.0
        assert tie["low"] < tie["expected"] < tie["high"]
    one = ties["expiry"]  # one relevant document of seven
    assert one["low"] == pytest.approx(1 / 7)
    assert one["expected"] == pytest.approx(sum(1 / rank for rank in range(1, 8)) / 7)
    said = "12 scores of RR@100(document) (in 1 system) depend on the order of equally scored results"
    mean = sum(tie["expected"] for tie in ties.values()) / 12
    for shown in (
        done.out,
        *(write(result).read_text(encoding="utf-8") for write in (write_html, write_markdown)),
    ):
        flat = " ".join(shown.split())
        assert said in flat and f"over all orders {mean:.3f}" in flat
