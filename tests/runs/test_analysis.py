from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest

import bakeoff
from bakeoff.config.plan import match_labels
from bakeoff.errors import ComparisonError, DataError
from bakeoff.stats.number_format import letter


def test_the_tables_fit_together(ran: Any) -> None:
    result = ran.result
    queries, systems = result.queries["query_id"].to_pylist(), list(result.done)
    assert len(queries) == 14 and len(systems) == 10
    assert result.scores.num_rows == 14 * 10 * len(result.record.measures)
    assert set(result.rankings["query_id"].to_pylist()) <= set(queries)
    ranks = pc.max(result.rankings["rank"]).as_py()
    assert ranks <= result.record.depth
    top = result.rankings.filter(pc.less_equal(result.rankings["rank"], 10))
    assert set(top["chunk_id"].to_pylist()) == set(result.passages["chunk_id"].to_pylist())
    assert result.latencies.num_rows == 14 * 10


def test_passages_are_what_the_corpus_says(ran: Any) -> None:
    corpus = ran.result.path.parent / "corpus"
    for row in ran.result.passages.to_pylist():
        text = (corpus / row["document_id"]).read_text(encoding="utf-8")
        assert text[row["start"] : row["end"]] == row["text"]
        assert text[: row["start"]].count("\n") + 1 == row["line_start"]
        assert text[: row["end"] - 1].count("\n") + 1 == row["line_end"]


def test_the_matrix_is_the_scores_with_nan_for_null(ran: Any) -> None:
    matrix = ran.result.matrix("nDCG@10")
    assert matrix.values.shape == (10, 14)
    assert np.isnan(matrix.values).sum() == 2 * 10
    assert set(matrix.structural) == {"nothing", "nowhere"}
    rows = {
        (row["system"], row["query_id"]): row["value"]
        for row in ran.result.scores.to_pylist()
        if row["measure"] == "nDCG@10(document)"
    }
    for i, system in enumerate(matrix.systems):
        for j, query in enumerate(matrix.queries):
            stored = rows[system, query]
            assert np.isnan(matrix.values[i, j]) if stored is None else matrix.values[i, j] == stored


def test_the_mean_is_that_of_the_stored_rows(ran: Any) -> None:
    system = ran.result.done[0]
    rows = ran.result.scores.filter(
        pc.and_(
            pc.equal(ran.result.scores["system"], system),
            pc.equal(ran.result.scores["measure"], "RR@10(document)"),
        )
    )
    summary = ran.result.compare("RR@10").summary(system)
    assert summary.mean == pytest.approx(pc.mean(rows["value"]).as_py())
    assert summary.n == 12 and {one.query for one in summary.excluded} == {"nothing", "nowhere"}


def test_compare_finds_systems_by_words(ran: Any) -> None:
    pair = bakeoff.compare(ran.result, "semantic bm25", "line faiss dense")
    assert (pair.a, pair.b) == ("semantic · bm25", "line · wordllama(dims=64) · faiss · dense")
    assert pair.n == 12 and pair.wins + pair.losses + pair.ties == 12
    back = bakeoff.compare(ran.result, pair.b, pair.a)
    assert back.difference == pytest.approx(-pair.difference)
    other = bakeoff.compare(ran.result, pair.a, pair.b, "R@20")
    assert other.difference == pytest.approx(0.0)


def test_a_system_is_named_by_its_letter_in_the_table(ran: Any) -> None:
    order = ran.result.ordered
    assert set(order) == set(ran.result.done) and order[: len(ran.result.comparison.ranking)] == (
        ran.result.comparison.ranking
    )
    assert [ran.result.system(name) for name in "AB"] == list(order[:2])
    pair = bakeoff.compare(ran.result, "A", "C")
    assert (pair.a, pair.b) == (order[0], order[2])
    beyond = letter(len(order) + 1)
    with pytest.raises(ComparisonError):
        ran.result.system(beyond)


def test_a_whole_label_goes_before_a_letter_and_a_letter_before_words() -> None:
    letters = {"A": "line · B", "B": "A"}
    assert match_labels("A", ["A", "line · B"], letters) == ["A"]
    assert match_labels("B", ["A", "line · B"], letters) == ["A"]
    assert match_labels("C", ["C · x", "C · y"], letters) == ["C · x", "C · y"]


@pytest.mark.parametrize(("name", "why"), [("bm25", "matches 2 systems"), ("milvus", "matches no system")])
def test_words_that_do_not_name_one_system(ran: Any, name: str, why: str) -> None:
    with pytest.raises(ComparisonError, match=why):
        ran.result.system(name)


def test_a_measure_that_was_not_measured(ran: Any) -> None:
    with pytest.raises(ComparisonError, match=r"P@5.*nDCG@10"):
        ran.result.compare("P@5")


def test_timings_by_name(ran: Any) -> None:
    system = ran.result.done[0]
    assert ran.result.timing(system, "total", "p50_ms") > 0
    assert ran.result.timing(system, "total", "p99_ms") is None
    assert ran.result.timing(system, "rerank", "mean_ms") is None


def test_open_run_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        bakeoff.open_run(tmp_path)


def test_the_names_of_the_package() -> None:
    assert set(dir(bakeoff)) >= {"run", "compare", "open_run", "evaluate", "BakeoffError", "Result"}
    with pytest.raises(AttributeError, match="'nonsense'"):
        _ = bakeoff.nonsense
