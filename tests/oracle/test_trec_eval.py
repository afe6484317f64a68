"""Against trec_eval's own fixtures: its expected outputs, to the four decimals they have."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bakeoff.measures.api import evaluate
from bakeoff.measures.conventions import TREC_EVAL
from bakeoff.measures.presets import preset
from bakeoff.measures.result import Evaluation

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "trec_eval"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="trec_eval's test folder is not at hand")

NAMES = {
    "map": "AP",
    "Rprec": "Rprec",
    "bpref": "bpref",
    "recip_rank": "RR",
    "infAP": "infAP",
    "ndcg": "nDCG",
    **{f"P_{k}": f"P@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)},
    **{f"recall_{k}": f"R@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)},
    **{f"ndcg_cut_{k}": f"nDCG@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)},
    **{f"map_cut_{k}": f"AP@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)},
    **{f"success_{k}": f"Hit@{k}" for k in (1, 5, 10)},
}


def expected(name: str) -> dict[tuple[str, str], float]:
    """{(measure, query or "all"): value} of one expected output."""
    found = {}
    for line in (DATA / name).read_text().splitlines():
        measure, query, value = (part.strip() for part in line.split("\t"))
        if measure in NAMES:
            found[measure, query] = float(value)
    return found


def check(result: Evaluation, name: str) -> int:
    """Compare every value of the output that we compute, and say how many there were."""
    wanted = expected(name)
    for (measure, query), value in wanted.items():
        ours = NAMES[measure]
        got = result.mean[ours] if query == "all" else result.per_query[query][ours]
        assert got == pytest.approx(value, abs=5.0001e-5), (measure, query)
    return len(wanted)


@pytest.mark.parametrize(("name", "least"), [("out.test", 10), ("out.test.a", 40), ("out.test.aq", 160)])
def test_the_binary_fixture(name: str, least: int) -> None:
    result = evaluate(DATA / "qrels.test", DATA / "results.test", preset="trec_eval")
    assert check(result, name) >= least


def test_the_fixture_with_a_higher_relevance_level() -> None:
    rules = replace(TREC_EVAL, rel=2)
    wanted = preset("trec_eval").measures
    result = evaluate(DATA / "qrels.rel_level", DATA / "results.test", wanted, conventions=rules)
    assert check(result, "out.test.aql") >= 160


def test_the_truncated_run_with_missing_queries_counted() -> None:
    rules = replace(TREC_EVAL, no_results="zero")
    wanted = preset("trec_eval").measures
    result = evaluate(DATA / "qrels.test", DATA / "results.trunc", wanted, conventions=rules)
    assert check(result, "out.test.aqc") >= 160
    assert result.per_query["302"]["AP"] == 0.0


def test_binary_rank_biased_precision() -> None:
    result = evaluate(DATA / "qrels.test", DATA / "results.test", ["RBP(p=0.9)"], preset="trec_eval")
    lines = (DATA / "out.test.aq").read_text().splitlines()
    wanted = {line.split()[1]: float(line.split()[2]) for line in lines if line.split()[0] == "rbp"}
    assert len(wanted) == 4
    for query, value in wanted.items():
        got = result.mean["RBP(p=0.9)"] if query == "all" else result.per_query[query]["RBP(p=0.9)"]
        assert got == pytest.approx(value, abs=5.0001e-5)
