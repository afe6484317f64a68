"""Against pytrec_eval to 1e-12: trec_eval's fixtures, and a thousand random runs with ties."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from bakeoff.measures.api import evaluate
from bakeoff.storage.ranking_files import read_qrels, read_run

pytrec_eval = pytest.importorskip("pytrec_eval")

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "trec_eval"
CUTS = (1, 3, 5, 10, 20, 100)
PEERS = {"map", "Rprec", "bpref", "recip_rank", "infAP", "ndcg"} | {
    f"{name}.{','.join(map(str, CUTS))}" for name in ("P", "recall", "ndcg_cut", "map_cut", "success")
}
NAMES = {
    "map": "AP",
    "Rprec": "Rprec",
    "bpref": "bpref",
    "recip_rank": "RR",
    "infAP": "infAP",
    "ndcg": "nDCG",
    **{
        f"{theirs}_{k}": f"{ours}@{k}"
        for theirs, ours in (
            ("P", "P"),
            ("recall", "R"),
            ("ndcg_cut", "nDCG"),
            ("map_cut", "AP"),
            ("success", "Hit"),
        )
        for k in CUTS
    },
}

Judgments = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


def compare(qrels: Judgments, run: Run) -> int:
    """Assert equal values for every query and measure; the number of values compared."""
    theirs = pytrec_eval.RelevanceEvaluator(qrels, PEERS).evaluate(run)
    ours = evaluate(qrels, run, list(NAMES.values()), preset="trec_eval").per_query
    for query, values in theirs.items():
        for name, measure in NAMES.items():
            assert ours[query][measure] == pytest.approx(values[name], abs=1e-12), (query, measure)
    return len(theirs) * len(NAMES)


def random_case(rng: random.Random, queries: int, scores: str) -> tuple[Judgments, Run]:
    """Random judgments (negative grades, no relevant items) and runs (ties, short lists, unjudged results)."""
    items = [f"{rng.choice('abcXYZ')}{number}" for number in range(rng.randint(2, 80))]
    draw = {
        "constant": lambda: 1.0,
        "coarse": lambda: rng.randint(0, 4) / 3,
        "fine": lambda: rng.gauss(0, 1),
        "single": lambda: 1.0 + rng.randint(0, 3) * 1e-9,
    }[scores]
    qrels, run = {}, {}
    for number in range(queries):
        judged = rng.sample(items, rng.randint(1, len(items)))
        # The peer reads memory it does not own where every grade of a query is negative.
        grades = [rng.choice([0, 0, 1])] + [rng.choice([-1, 0, 0, 0, 1, 1, 2, 3]) for _ in judged[1:]]
        qrels[f"q{number}"] = dict(zip(judged, grades, strict=True))
        run[f"q{number}"] = {item: draw() for item in rng.sample(items, rng.randint(1, len(items)))}
    return qrels, run


@pytest.mark.parametrize("runs", [25, pytest.param(250, marks=pytest.mark.slow)])
@pytest.mark.parametrize("scores", ["constant", "coarse", "fine", "single"])
def test_random_small_runs(scores: str, runs: int) -> None:
    rng = random.Random(scores)
    assert sum(compare(*random_case(rng, 3, scores)) for _ in range(runs)) == runs * 3 * len(NAMES)


@pytest.mark.parametrize("scores", ["coarse", "fine", "single"])
def test_random_large_runs_take_the_other_way_and_agree(scores: str) -> None:
    compare(*random_case(random.Random(7), 400, scores))


@pytest.mark.skipif(not DATA.is_dir(), reason="trec_eval's test folder is not at hand")
@pytest.mark.parametrize(
    ("qrels", "run"),
    [("qrels.test", "results.test"), ("qrels.rel_level", "results.test"), ("qrels.test", "results.trunc")],
)
def test_trec_evals_fixtures(qrels: str, run: str) -> None:
    assert compare(read_qrels(DATA / qrels), read_run(DATA / run, by_rank=False).by_query) >= 2 * len(NAMES)
