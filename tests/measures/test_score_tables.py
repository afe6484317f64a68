"""Tables of scores that other tools wrote: the same scores from every format, and bad input named with its place."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bakeoff.errors import DataError, MeasureError
from bakeoff.measures.score_tables import read_score_table

SCORES = {"q1": 0.5, "q2": 1.0}


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s.csv", "query,score\nq1,0.5\nq2,1\n"),
        ("s.csv", "query_id;value\nq1;0.5\nq2;1\n"),
        ("s.tsv", "qid\tscore\nq1\t0.5\nq2\t1\n"),
        ("s.json", '{"q1": 0.5, "q2": 1}'),
        ("s.json", '[{"query": "q1", "score": 0.5}, {"query": "q2", "score": 1.0}]'),
        ("s.jsonl", '{"query": "q1", "score": 0.5}\n{"query": "q2", "score": 1.0}\n'),
    ],
)
def test_every_format_gives_the_same_scores(tmp_path: Path, name: str, text: str) -> None:
    table = read_score_table(written(tmp_path, name, text))
    measure = table.measure(None)
    assert table.scores[""][measure] == SCORES


def test_a_parquet_file_of_one_row_per_query_has_a_measure_per_column(tmp_path: Path) -> None:
    columns = {
        "query_id": ["q1", "q2"],
        "query_text": ["a b", "c"],
        "mrr": [0.5, 1.0],
        "hit_at_1": [False, True],
    }
    pq.write_table(pa.table(columns), tmp_path / "s.parquet")
    table = read_score_table(tmp_path / "s.parquet")
    assert table.measures == ("mrr", "hit_at_1")
    assert table.scores[""]["mrr"] == SCORES
    assert table.scores[""]["hit_at_1"] == {"q1": 0.0, "q2": 1.0}


def test_measures_and_systems_of_a_long_table_are_kept_separate(tmp_path: Path) -> None:
    text = "system,query,measure,score\nA,q1,nDCG@10,.5\nA,q1,RR,1\nB,q1,nDCG@10,.25\nB,q1,RR,.5\n"
    table = read_score_table(written(tmp_path, "s.csv", text))
    assert table.scores == {
        "A": {"nDCG@10": {"q1": 0.5}, "RR": {"q1": 1.0}},
        "B": {"nDCG@10": {"q1": 0.25}, "RR": {"q1": 0.5}},
    }
    assert table.measure("ndcg@10") == "nDCG@10"
    with pytest.raises(MeasureError, match="2 measures"):
        table.measure(None)
    with pytest.raises(MeasureError, match="'AP'"):
        table.measure("AP")


def test_empty_and_nan_scores_are_not_computed(tmp_path: Path) -> None:
    table = read_score_table(written(tmp_path, "s.csv", "query,score\nq1,\nq2,nan\nq3,0\n"))
    assert table.scores[""]["score"] == {"q1": None, "q2": None, "q3": 0.0}


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("s.csv", "query,score\nq1,0.5\nq1,0.6\n", "line 3: query 'q1' has a second score"),
        ("s.csv", "query,score\nq1,good\n", "line 2, column score: the score 'good' is not a number"),
        ("s.csv", "query,score\nq1,inf\n", "line 2, column score: the score is infinite"),
        ("s.csv", "query,score\nq1\n", "line 2: 1 cells, the header has 2"),
        ("s.csv", "name,score\nq1,1\n", "no column names the query"),
        ("s.csv", "query,score\n,1\n", "line 2: the query is empty"),
        ("s.csv", "query,score,score\nq1,1,1\n", "'score' is there twice"),
        ("s.csv", "query,score\n", "holds no scores"),
        ("s.json", '{"q1": 1, "q1": 0}', "'q1' is there twice"),
        ("s.json", "{", "is not JSON"),
        ("s.json", "[1]", "item 1: expected an object"),
        ("s.parquet", "no parquet", "cannot be read as Parquet"),
    ],
)
def test_bad_input_is_named_with_its_place(tmp_path: Path, name: str, text: str, place: str) -> None:
    with pytest.raises(DataError) as failed:
        read_score_table(written(tmp_path, name, text))
    assert place in str(failed.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        read_score_table(tmp_path / "none.csv")


def test_scores_by_query_and_measure_are_read(tmp_path: Path) -> None:
    found = {"q1": {"map": 0.5, "P_5": 0.2}, "q2": {"map": 1.0, "P_5": 0.4}}
    table = read_score_table(written(tmp_path, "s.json", json.dumps(found)))
    assert table.scores[""] == {"map": SCORES, "P_5": {"q1": 0.2, "q2": 0.4}}
