"""Outside scores get the comparison and the verdict of a run's own scores; query sets that differ are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bakeoff
from bakeoff.errors import ComparisonError, DataError, MeasureError, SettingError
from bakeoff.stats.compare import compare
from bakeoff.stats.evidence import Evidence
from bakeoff.stats.verdict import decide

QUERIES = [f"q{number:02}" for number in range(30)]


def spread(shift: float) -> dict[str, float]:
    return {query: min(1.0, (7 * place % 10) / 20 + shift) for place, query in enumerate(QUERIES)}


A = spread(0.3)
B = {query: value - (place % 4) / 20 for place, (query, value) in enumerate(spread(0.15).items())}


def run_lines(good: int, name: str, queries: list[str] = QUERIES) -> str:
    """Five results per query, the only relevant one at rank `good`, or one lower for every third query."""
    lines = []
    for place, query in enumerate(queries):
        at = good + (place % 3 == 0)
        items = [f"n{rank}" for rank in range(1, 5)]
        items.insert(at - 1, f"right-{query}")
        lines += [f"{query} Q0 {item} {rank} {10 - rank} {name}" for rank, item in enumerate(items, start=1)]
    return "\n".join(lines) + "\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "q").write_text("".join(f"{query} 0 right-{query} 1\n" for query in QUERIES))
    (tmp_path / "a.run").write_text(run_lines(1, "a"))
    (tmp_path / "b.run").write_text(run_lines(3, "b"))
    return tmp_path


def test_the_scores_of_a_run_give_its_own_comparison(ran: Any) -> None:
    matrix = replace(ran.result.matrix(ran.result.record.primary), clusters=(), categories=())
    own = compare(matrix, ran.result.record.seed)
    kept = [query for query in matrix.queries if query not in matrix.structural]
    outside = {
        system: {query: row[matrix.queries.index(query)] for query in kept}
        for system, row in zip(matrix.systems, matrix.values, strict=True)
    }
    found = bakeoff.compare_scores(outside, matrix.measure, seed=ran.result.record.seed)
    assert found.comparison.ranking == own.ranking
    for pair, wanted in zip(found.comparison.pairs, own.pairs, strict=True):
        assert replace(pair, dropped=()) == replace(wanted, dropped=())
    assert replace(found.verdict, reasons=()) == replace(decide(Evidence(own)), reasons=())


def test_rankings_are_scored_and_paired(files: Path) -> None:
    found = bakeoff.compare_scores([files / "a.run", files / "b.run"], "RR", qrels=files / "q")
    pair = found.comparison.pair("a", "b")
    assert pair.mean_a == pytest.approx((20 * 1 + 10 * 0.5) / 30)
    assert pair.mean_b == pytest.approx((20 / 3 + 10 / 4) / 30)
    assert (pair.wins, pair.losses, pair.ties, pair.n) == (30, 0, 0, 30)
    assert found.verdict.system == "a" and found.verdict.rule == "clear-winner"
    assert found.conventions is not None and found.conventions.order == "served"


def test_ranks_that_disagree_with_scores_are_noted(files: Path) -> None:
    plain = bakeoff.compare_scores([files / "a.run", files / "b.run"], "RR", qrels=files / "q")
    lines = [line.split() for line in (files / "b.run").read_text().splitlines()]
    turned = [" ".join([*line[:4], f"-{line[4]}", line[5]]) for line in lines]
    (files / "b.run").write_text("\n".join(turned) + "\n")
    found = bakeoff.compare_scores([files / "a.run", files / "b.run"], "RR", qrels=files / "q")
    assert not any("disagree" in note for note in plain.notes)
    (note,) = [note for note in found.notes if "disagree" in note]
    assert note.startswith("b: ") and "30 queries" in note
    assert found.comparison.pair("a", "b") == plain.comparison.pair("a", "b"), "ranks count"


def test_a_query_only_one_run_has_is_refused_scores_zero_or_is_left_out(files: Path) -> None:
    (files / "b.run").write_text(run_lines(3, "b", QUERIES[:24]))
    both = [files / "a.run", files / "b.run"]
    with pytest.raises(ComparisonError, match=r"b lacks 6 queries \(q24, q25"):
        bakeoff.compare_scores(both, "RR", qrels=files / "q")
    zero = bakeoff.compare_scores(both, "RR", qrels=files / "q", missing="zero").comparison.pair("a", "b")
    assert zero.n == 30 and zero.mean_b == pytest.approx((16 / 3 + 8 / 4) / 30)
    some = bakeoff.compare_scores(both, "RR", qrels=files / "q", missing="leave-out").comparison.pair(
        "a", "b"
    )
    assert some.n == 24 and some.mean_b == pytest.approx((16 / 3 + 8 / 4) / 24)
    assert [one.query for one in some.dropped] == QUERIES[24:]


def test_queries_that_no_run_has_or_nobody_judged_are_left_out_with_a_note(files: Path) -> None:
    (files / "q").write_text(
        "".join(f"{query} 0 right-{query} 1\n" for query in [*QUERIES[:20], "q98", "q99"])
    )
    found = bakeoff.compare_scores([files / "a.run", files / "b.run"], "RR", qrels=files / "q")
    assert found.comparison.pair("a", "b").n == 20
    assert "10 queries" in found.notes[0] and "2 queries (q98, q99)" in found.notes[1]


def test_judgments_without_a_relevant_item_are_not_a_gap(files: Path) -> None:
    grades = "".join(f"{query} 0 right {int(place > 0)}\n" for place, query in enumerate(QUERIES))
    (files / "q").write_text(grades)
    pair = bakeoff.compare_scores(
        [files / "a.run", files / "b.run"], "RR", qrels=files / "q"
    ).comparison.pair("a", "b")
    assert pair.n == 29 and pair.dropped[0].query == "q00"


def test_runs_in_parquet_count_alike(files: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name in ("a", "b"):
        rows = [line.split() for line in (files / f"{name}.run").read_text().splitlines()]
        query, _, item, rank, score, _ = zip(*rows, strict=True)
        columns = {
            "query": query,
            "item": item,
            "rank": list(map(int, rank)),
            "score": list(map(float, score)),
        }
        pq.write_table(pa.table(columns), files / f"{name}.parquet")
    text = bakeoff.compare_scores([files / "a.run", files / "b.run"], "nDCG@10", qrels=files / "q")
    table = bakeoff.compare_scores([files / "a.parquet", files / "b.parquet"], "nDCG@10", qrels=files / "q")
    assert table.comparison.pairs == text.comparison.pairs


def test_nan_is_a_gap_and_never_a_zero() -> None:
    scores = {"A": A, "B": {**B, "q03": float("nan")}}
    with pytest.raises(ComparisonError, match=r"B lacks 1 query \(q03\)"):
        bakeoff.compare_scores(scores)
    pair = bakeoff.compare_scores(scores, missing="leave-out").comparison.pair("A", "B")
    assert pair.n == 29 and pair.mean_b == pytest.approx(np.mean([B[q] for q in QUERIES if q != "q03"]))


def test_a_measure_bakeoff_does_not_know_needs_its_range() -> None:
    scores = {"A": {q: 100 * v for q, v in A.items()}, "B": {q: 100 * v for q, v in B.items()}}
    with pytest.raises(MeasureError, match="outside 0 to 1"):
        bakeoff.compare_scores(scores, "clicks")
    found = bakeoff.compare_scores(scores, "clicks", score_range=(0, 100))
    assert found.comparison.bounds == (0, 100) and found.verdict.system == "A"
    low = bakeoff.compare_scores(scores, "errors", score_range=None, lower_is_better=True)
    assert low.verdict.system == "B"
    with pytest.raises(MeasureError, match="outside 0 to 1"):
        bakeoff.compare_scores(scores, "nDCG@10", score_range=(0, 100))


@pytest.mark.parametrize(
    ("kwargs", "error"),
    [
        ({"systems": {"A": A}}, ComparisonError),
        ({"systems": {"A": A, "B": {"other": 1.0}}, "missing": "leave-out"}, DataError),
        ({"systems": {"A": A, "B": {**B, "q01": "good"}}}, DataError),
        ({"systems": {"A": A, "B": B}, "missing": "guess"}, SettingError),
        ({"systems": {"A": A, "B": B}, "preset": "trec_eval"}, SettingError),
        (
            {"systems": {"A": A, "B": B}, "measure": "x", "missing": "zero", "lower_is_better": True},
            SettingError,
        ),
        ({"systems": {"A": A, "B": B}, "measure": "x", "score_range": (1, 0)}, SettingError),
    ],
)
def test_bad_input_is_refused(kwargs: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        bakeoff.compare_scores(**kwargs)
