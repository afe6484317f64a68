"""`bakeoff.evaluate` gives one answer whatever the shape of its input."""

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bakeoff
from bakeoff.errors import DataError, MeasureError
from bakeoff.measures import plain
from bakeoff.measures.api import evaluate
from bakeoff.measures.result import OmittedQuery, TieRange

QRELS = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"a": 1}, "q3": {"a": 0}}
RUN = {"q1": {"b": 3.0, "a": 2.0, "x": 1.0}, "q2": {"x": 2.0, "a": 1.0}, "q4": {"a": 1.0}}
NAMES = ["nDCG@10", "AP", "RR", "P@2", "R@2", "Judged@2", "RBP(p=0.8)", "bpref", "infAP", "Rprec"]


def tables() -> tuple[pa.Table, pa.Table]:
    judged = [(query, item, grade) for query, items in QRELS.items() for item, grade in items.items()]
    served = [
        (q, item, rank, s) for q, items in RUN.items() for rank, (item, s) in enumerate(items.items(), 1)
    ]
    qrels = pa.table(
        dict(zip(("query_id", "doc_id", "relevance"), map(list, zip(*judged, strict=False)), strict=True))
    )
    run = pa.table(
        dict(zip(("query_id", "doc_id", "rank", "score"), map(list, zip(*served, strict=False)), strict=True))
    )
    return qrels, run.take(pa.array([5, 3, 0, 2, 4, 1]))


def test_it_is_public() -> None:
    assert bakeoff.evaluate(QRELS, RUN, ["RR"]).mean == {"RR": 0.5}


def test_values_means_bounds_and_what_was_left_out() -> None:
    result = evaluate(QRELS, RUN, ["RR", "P@2"])
    assert result.per_query["q1"] == {"RR": 0.5, "P@2": 0.5}
    assert result.per_query["q3"] == {"RR": None, "P@2": None}
    assert result.excluded == (
        OmittedQuery("q3", "no item of grade 1 or higher"),
        OmittedQuery("q4", "no judgments"),
    )
    assert result.counts == {"RR": 2, "P@2": 2}
    bounds = result.bounds["P@2"]
    assert bounds is not None and (bounds.low, bounds.high) == pytest.approx((0.5, 0.75))
    assert result.column("MRR") == {"q1": 0.5, "q2": 0.5, "q3": None, "q4": None}
    with pytest.raises(MeasureError, match="AP"):
        result.column("AP")


def test_every_input_shape_gives_the_same_numbers(tmp_path: Path) -> None:
    reference = evaluate(QRELS, RUN, NAMES)
    qrels, run = tables()
    pq.write_table(qrels, tmp_path / "qrels.parquet")
    pq.write_table(run, tmp_path / "run.parquet")
    (tmp_path / "qrels.txt").write_text(
        "".join(f"{q} 0 {d} {g}\n" for q, items in QRELS.items() for d, g in items.items())
    )
    (tmp_path / "run.txt").write_text(
        "".join(
            f"{q} Q0 {d} {n} {s} t\n" for q, items in RUN.items() for n, (d, s) in enumerate(items.items(), 1)
        )
    )
    shapes = {
        "arrow": (qrels, run),
        "pandas": (qrels.to_pandas(), run.to_pandas()),
        "parquet": (tmp_path / "qrels.parquet", str(tmp_path / "run.parquet")),
        "trec": (tmp_path / "qrels.txt", tmp_path / "run.txt"),
        "lists": (QRELS, {query: list(items) for query, items in RUN.items()}),
        "dict and table": (QRELS, run),
        "table and dict": (qrels, RUN),
        "table and file": (qrels, tmp_path / "run.txt"),
        "no ranks": (qrels, run.drop_columns(["rank"])),
    }
    for name, (judged, served) in shapes.items():
        result = evaluate(judged, served, NAMES)
        for query, values in reference.per_query.items():
            assert result.per_query[query] == pytest.approx(values, abs=1e-15, nan_ok=True), (name, query)
        assert set(result.excluded) == set(reference.excluded), name


def test_integer_ids_in_tables_stay_integers() -> None:
    qrels = pa.table({"query": [7, 7], "item": [10, 9], "grade": [1, 0]})
    run = pa.table({"query": [7, 7], "item": [9, 10], "score": [1.0, 1.0]})
    assert evaluate(qrels, run, ["RR"]).per_query == {"7": {"RR": 0.5}}
    # As strings "9" > "10", so the relevant item comes second under trec_eval's tie rule.
    assert evaluate(qrels, run, ["RR"], preset="trec_eval").per_query == {"7": {"RR": 0.5}}
    swapped = pa.table({"query": [7, 7], "item": [9, 10], "grade": [1, 0]})
    assert evaluate(swapped, run, ["RR"], preset="trec_eval").per_query == {"7": {"RR": 1.0}}


@pytest.mark.parametrize("preset", [None, "trec_eval"])
def test_small_and_large_inputs_go_two_ways_and_agree(
    preset: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(5)
    items = [f"d{number}" for number in range(30)]
    qrels = {f"q{n}": {d: rng.choice([-1, 0, 0, 1, 2]) for d in rng.sample(items, 12)} for n in range(60)}
    run = {f"q{n}": {d: rng.random() for d in rng.sample(items, rng.randint(0, 20))} for n in range(5, 65)}
    names = [*NAMES, "Hit@3", "R_cap@5", "nDCG_exp", "AP@5", "RBP@3(p=0.5)"]
    small = evaluate(qrels, run, names, preset=preset)
    monkeypatch.setattr(plain, "SMALL", 0)
    large = evaluate(qrels, run, names, preset=preset)
    assert small.queries == large.queries and small.excluded == large.excluded
    for layer in ("columns", "lower", "upper"):
        for ours, theirs, name in zip(getattr(small, layer), getattr(large, layer), names, strict=True):
            assert list(ours) == pytest.approx(list(theirs), abs=1e-12), (layer, name)


def test_ties_are_reported_in_every_way() -> None:
    qrels, run = {"q": {"b": 1}}, {"q": {"a": 1.0, "b": 1.0, "c": 0.5}}
    result = evaluate(qrels, run, ["RR", "P@1", "P@2"])
    assert result.mean == {"RR": 0.5, "P@1": 0.0, "P@2": 0.5}
    assert result.ties == {"q": {"RR": TieRange(0.5, 1.0, 0.75), "P@1": TieRange(0.0, 1.0, 0.5)}}


def test_a_dict_is_sorted_by_score_but_a_list_is_taken_as_served() -> None:
    qrels = {"q": {"b": 1}}
    assert evaluate(qrels, {"q": {"a": 1.0, "b": 2.0}}, "RR").mean["RR"] == 1.0
    assert evaluate(qrels, {"q": ["a", "b"]}, "RR").mean["RR"] == 0.5


def test_served_order_wins_over_scores_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("q Q0 a 1 0.1 t\nq Q0 b 2 0.9 t\n")
    qrels = {"q": {"a": 1, "b": 0}}
    assert evaluate(qrels, tmp_path / "run", "RR").mean["RR"] == 1.0
    assert evaluate(qrels, tmp_path / "run", "RR", preset="trec_eval").mean["RR"] == 0.5


@pytest.mark.parametrize(
    ("qrels", "run", "says"),
    [
        ({}, RUN, "nothing to score"),
        (QRELS, {}, "nothing to score"),
        (QRELS, {"other": {"a": 1.0}}, "no query of the run is in the judgments"),
        (QRELS, {"q1": {"a": float("nan")}}, "the score is nan"),
        (QRELS, {"q1": {"a": "high"}}, "the score is 'high'"),
        ({"q1": {"a": 0.5}}, {"q1": {"a": 1.0}}, "the grade is 0.5"),
        (QRELS, {"q1": ["a", "a"]}, "item 'a' occurs twice in the ranking of query 'q1'"),
        (QRELS, {"q1": ["a"], "q2": {"a": 1.0}}, "other queries have a list"),
        (QRELS, 7, "cannot read int"),
        (QRELS, pa.table({"query": ["q1"], "item": ["a"]}), "none of the columns score"),
        (QRELS, pa.table({"query": ["q1"], "item": ["a"], "score": ["x"]}), "scores must be numbers"),
        (QRELS, pa.table({"query": ["zz"], "item": ["a"], "score": [1.0]}), "no query of the run"),
        (QRELS, pa.table({"query": ["q1", "q1"], "item": ["a", "a"], "score": [2.0, 1.0]}), "more than once"),
        ("none.parquet", RUN, "cannot be read as Parquet"),
    ],
)
@pytest.mark.parametrize("small", [5_000, 0])
def test_wrong_input(
    qrels: object, run: object, says: str, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain, "SMALL", small)
    with pytest.raises(DataError, match=says):
        evaluate(qrels, run, ["RR"])


@pytest.mark.parametrize("small", [5_000, 0])
def test_numpy_numbers_are_numbers(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain, "SMALL", small)
    run = {"q": {"a": np.float32(1.0), "b": np.float64(2.0)}}
    assert evaluate({"q": {"a": np.int64(1)}}, run, "RR").mean["RR"] == 0.5


def test_queries_can_be_chosen() -> None:
    qrels, run = tables()
    for judged, served in ((QRELS, RUN), (qrels, run)):
        assert evaluate(judged, served, ["RR"], queries=["q2"]).per_query == {"q2": {"RR": 0.5}}
        with pytest.raises(DataError, match="'q9'"):
            evaluate(judged, served, ["RR"], queries=["q9"])


def test_measures_or_a_preset_must_be_given() -> None:
    with pytest.raises(MeasureError):
        evaluate(QRELS, RUN)
    assert "AP" in evaluate(QRELS, RUN, preset="trec_eval").mean
    assert "RR(chunk)" in evaluate(QRELS, RUN, preset="goldsql").mean


def test_results_as_tables() -> None:
    result = evaluate(QRELS, RUN, ["RR", "bpref"])
    frame = result.to_pandas()
    assert list(frame.columns) == ["RR", "bpref"] and frame.loc["q1", "RR"] == 0.5
    assert pd.isna(frame.loc["q3", "RR"])
    table = result.to_arrow().to_pydict()
    assert table["query"][:2] == ["q1", "q2"] and table["value"][2] is None
    assert table["upper"][4] is None  # bpref has no bounds


def test_small_inputs_need_no_numpy() -> None:
    code = (
        "import sys, bakeoff\n"
        "r = bakeoff.evaluate({'q': {'a': 1}}, {'q': {'b': 2.0, 'a': 1.0}}, ['nDCG@10', 'AP'])\n"
        "assert r.mean['AP'] == 0.5 and 'numpy' not in sys.modules and 'pyarrow' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})


def test_ranks_that_contradict_scores_are_named(tmp_path: Path) -> None:
    qrels, run = tmp_path / "q.qrels", tmp_path / "a.run"
    qrels.write_text("q1 0 a 1\nq2 0 a 1\n")
    run.write_text("q1 Q0 a 1 0.1 t\nq1 Q0 b 2 0.9 t\nq2 Q0 a 1 0.9 t\nq2 Q0 b 2 0.1 t\n")
    assert evaluate(qrels, run, ["RR"]).rank_conflicts == ("q1",)
    assert evaluate(qrels, run, ["RR"], "trec_eval").rank_conflicts == ()
