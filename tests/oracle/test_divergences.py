"""The table of known divergences in docs/measures.md, one test a line (D1 …), against the tools themselves."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from bakeoff.measures.api import evaluate
from bakeoff.measures.tool_variants import explain_difference

DOCS = Path(__file__).resolve().parents[2] / "docs" / "measures.md"
Judgments = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]

QRELS = {"q": {"a": 1, "b": 0, "c": 3, "d": 0, "e": 2, "f": 1, "g": 1}}
RUN = {"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}}


def pytrec(qrels: Judgments, run: Run, measure: str) -> dict[str, float]:
    module = pytest.importorskip("pytrec_eval")
    found = module.RelevanceEvaluator(qrels, {measure}).evaluate(run)
    return {query: values[measure] for query, values in found.items()}


def ranx(qrels: Judgments, run: Run, measure: str) -> float:
    module = pytest.importorskip("ranx")
    return float(module.evaluate(module.Qrels(qrels), module.Run(run), measure, threads=1))


def ir_measures(qrels: Judgments, run: Run, measure: str) -> float:
    module = pytest.importorskip("ir_measures")
    judged = [module.Qrel(query, item, grade) for query, row in qrels.items() for item, grade in row.items()]
    served = [
        module.ScoredDoc(query, item, score) for query, row in run.items() for item, score in row.items()
    ]
    wanted = module.parse_measure(measure)
    return float(module.calc_aggregate([wanted], judged, served)[wanted])


def ours(qrels: Judgments, run: Run, measure: str) -> float | None:
    return evaluate(qrels, run, [measure]).mean[measure]


def test_d1_trec_eval_breaks_ties_by_id() -> None:
    run = {"q": {"a": 1.0, "b": 1.0}}
    assert pytrec({"q": {"a": 1}}, run, "recip_rank") == {"q": 0.5}
    assert ours({"q": {"a": 1}}, run, "RR") == 1.0


def test_d2_trec_eval_ignores_the_served_order() -> None:
    served = {"q": ["b", "a"]}
    assert evaluate({"q": {"b": 1}}, served, "RR").mean["RR"] == 1.0
    by_score = pytrec({"q": {"b": 1}}, {"q": {"b": 0.1, "a": 0.9}}, "recip_rank")
    assert by_score == {"q": 0.5}


def test_d3_pytrec_eval_keeps_scores_in_single_precision() -> None:
    run = {"q": {"a": 1.0 + 1e-12, "b": 1.0}}
    assert pytrec({"q": {"a": 1}}, run, "recip_rank") == {"q": 0.5}
    assert ours({"q": {"a": 1}}, run, "RR") == 1.0
    assert evaluate({"q": {"a": 1}}, run, "RR", preset="trec_eval").mean["RR"] == 0.5


def test_d4_trec_eval_scores_empty_truth_as_zero() -> None:
    qrels, run = {"q": {"a": 0}, "z": {"a": 1}}, {"q": {"a": 1.0}, "z": {"a": 1.0}}
    assert pytrec(qrels, run, "map") == {"q": 0.0, "z": 1.0}
    assert ranx(qrels, run, "map") == ir_measures(qrels, run, "AP") == 0.5
    assert ours(qrels, run, "AP") == 1.0


def test_d5_trec_eval_forgets_queries_without_results() -> None:
    qrels, run = {"q": {"a": 1}, "z": {"a": 1}}, {"q": {"a": 1.0}}
    assert pytrec(qrels, run, "map") == {"q": 1.0}
    assert ours(qrels, run, "AP") == 0.5


def test_d6_ranx_refuses_queries_without_results() -> None:
    with pytest.raises(AssertionError, match="query ids do not match"):
        ranx({"q": {"a": 1}, "z": {"a": 1}}, {"q": {"a": 1.0}}, "map")


def test_d7_ranx_has_no_bpref_without_judged_non_relevant_items() -> None:
    assert math.isnan(ranx({"q": {"a": 1}}, {"q": {"a": 1.0}}, "bpref"))
    assert ours({"q": {"a": 1}}, {"q": {"a": 1.0}}, "bpref") == 1.0


def test_d8_ranx_multiplies_rbp_by_the_grade() -> None:
    assert ranx(QRELS, RUN, "rbp.80") == pytest.approx(0.2 * (1 + 3 * 0.64))
    assert ours(QRELS, RUN, "RBP(p=0.8)") == pytest.approx(0.2 * (1 + 0.64))


def test_d9_ir_measures_divides_judged_by_what_was_returned() -> None:
    run = {"q": {**RUN["q"], "u": 0.5}}
    assert ir_measures(QRELS, run, "Judged@10") == pytest.approx(0.8)
    assert ours(QRELS, run, "Judged@10") == pytest.approx(0.4)


def test_d10_precision_by_the_number_returned() -> None:
    shown = {one.label: one.value for one in explain_difference(QRELS, RUN, "q", "P@10").variants}
    assert (ours(QRELS, RUN, "P@10"), shown["divided by returned"]) == pytest.approx((0.2, 0.5))


def test_d11_average_precision_by_the_number_found() -> None:
    shown = {one.label: one.value for one in explain_difference(QRELS, RUN, "q", "AP").variants}
    assert (ours(QRELS, RUN, "AP"), shown["divided by relevant found"]) == pytest.approx((1 / 3, 5 / 6))


def test_d12_ndcg_with_another_gain_or_ideal() -> None:
    shown = {one.label: one.value for one in explain_difference(QRELS, RUN, "q", "nDCG@10").variants}
    assert ours(QRELS, RUN, "nDCG@10") == pytest.approx(ranx(QRELS, RUN, "ndcg@10"))
    assert ours(QRELS, RUN, "nDCG_exp@10") == pytest.approx(ranx(QRELS, RUN, "ndcg_burges@10"))
    wanted = {
        "exponential gain": 0.441,
        "binary gain": 0.509,
        "ideal as long as found": 0.586,
        "ideal of found": 0.689,
    }
    for label, value in wanted.items():
        assert shown[label] == pytest.approx(value, abs=1e-3), label


def test_every_line_of_the_table_has_its_test() -> None:
    listed = set(re.findall(r"^\| (D\d+) \|", DOCS.read_text(encoding="utf-8"), flags=re.MULTILINE))
    tested = {name.split("_")[1].upper() for name in globals() if name.startswith("test_d")}
    assert listed == tested
