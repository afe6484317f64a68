"""Readers: each kind of wrong file has its own message with the line."""

import json
from pathlib import Path

import pytest

from bakeoff.errors import DataError
from bakeoff.storage.ranking_files import read_qrels, read_rankings, read_run


def write(folder: Path, text: str) -> Path:
    path = folder / "file.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_trec_and_beir_judgments(tmp_path: Path) -> None:
    assert read_qrels(write(tmp_path, "q1 0 d1 2\nq1 0 d2 -1\n\nq2\t0\td1\t0\n")) == {
        "q1": {"d1": 2, "d2": -1},
        "q2": {"d1": 0},
    }
    assert read_qrels(write(tmp_path, "query-id\tcorpus-id\tscore\nq1\td1\t1\n")) == {"q1": {"d1": 1}}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("q1 0 d1 1\nq1 d2 1\n", "line 2: 3 columns, expected 4"),
        ("query-id corpus-id score\nq1 0 d1 1\n", "line 2: 4 columns, expected 3"),
        ("q1 0 d1 1\nq1 0 d1 0\n", "line 2: item 'd1' of query 'q1' is judged twice"),
        ("q1 0 d1 yes\n", "line 1: the grade 'yes' is not a whole number"),
        ("q1 0 d1 0.5\n", "line 1: the grade '0.5'"),
        ("\n", "holds no queries"),
    ],
)
def test_wrong_judgments(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        read_qrels(write(tmp_path, text))


def test_a_run_is_read_by_rank_or_by_score(tmp_path: Path) -> None:
    path = write(tmp_path, "q1 Q0 b 2 9.5 tag\nq1 Q0 a 1 1.5 tag with words\n")
    by_rank = read_run(path, by_rank=True)
    assert list(by_rank.by_query["q1"]) == ["a", "b"] and by_rank.ordered
    assert not read_run(path, by_rank=False).ordered


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("q1 Q0 a 1 1.5\n", "line 1: 5 columns, expected 6"),
        ("q1 Q0 a 1 1.5 t\nq1 Q0 a 2 1.0 t\n", "line 2: item 'a' is in the ranking of query 'q1' twice"),
        ("q1 Q0 a 1 nan t\n", "line 1: the score is NaN"),
        ("q1 Q0 a 1 high t\n", "line 1: the score 'high' is not a number"),
        ("q1 Q0 a x 1.0 t\n", "line 1: the rank 'x'"),
        ("q1 Q0 a 1 2 t\nq1 Q0 b 3 1 t\n", "query 'q1' has no rank 2 but rank 3"),
        ("q1 Q0 a 1 2 t\nq1 Q0 b 1 1 t\n", "query 'q1' has no rank 2 but rank 1"),
        ("q1 Q0 a 7 2 t\n", "no rank 1 but rank 7"),
        ("", "holds no queries"),
    ],
)
def test_wrong_runs(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        read_run(write(tmp_path, text), by_rank=True)


def test_ranks_are_ignored_where_scores_decide(tmp_path: Path) -> None:
    path = write(tmp_path, "q1 Q0 a 0 2 t\nq1 Q0 b 0 1 t\n")
    assert read_run(path, by_rank=False).by_query == {"q1": {"a": 2.0, "b": 1.0}}


def test_missing_and_binary_files(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        read_qrels(tmp_path / "none")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="not UTF-8"):
        read_qrels(tmp_path / "binary")


def test_rows_without_ranks_must_be_in_the_order_of_their_scores(tmp_path: Path) -> None:
    rows = [{"query": "q", "document": "a", "score": 1.0}, {"query": "q", "document": "b", "score": 2.0}]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(DataError, match="line 2"):
        read_rankings(path)
    path.write_text("\n".join(json.dumps({**row, "rank": rank}) for rank, row in enumerate(rows)))
    assert [row.document for row in read_rankings(path)["q"]] == ["a", "b"]
