"""Rankings of files compared like a run: the same pairs, verdict and report from TREC, JSON lines, Parquet and a run."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bakeoff
from bakeoff.errors import ComparisonError, DataError
from bakeoff.runs.file_run import write_file_run
from bakeoff.storage.ranking_files import read_rankings
from bakeoff.types import RetrievedRow

MEASURE = "nDCG@10(document)"


@pytest.fixture(scope="module")
def files(ran, tmp_path_factory: pytest.TempPathFactory) -> Path:  # type: ignore[no-untyped-def]
    """Two systems of the run as files of three kinds, and judgments of one document per query."""
    folder = tmp_path_factory.mktemp("files")
    rows = ran.result.rankings.to_pylist()
    for name, system in zip(("a", "b"), ran.result.done[:2], strict=True):
        documents: dict[str, dict[str, float]] = {}
        for row in rows:
            if row["system"] == system:
                documents.setdefault(row["query_id"], {}).setdefault(row["document_id"], row["score"])
        flat = [
            (query, document, rank, score)
            for query, each in documents.items()
            for rank, (document, score) in enumerate(each.items(), 1)
        ]
        lines = [f"{q} Q0 {d} {r} {s!r} {name}" for q, d, r, s in flat]
        (folder / f"{name}.run").write_text("\n".join(lines), encoding="utf-8")
        nested = [
            {"query": query, "results": [{"id": d, "score": s} for d, s in each.items()]}
            for query, each in documents.items()
        ]
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, nested)), encoding="utf-8")
        columns = dict(
            zip(("query_id", "doc_id", "rank", "score"), zip(*reversed(flat), strict=True), strict=True)
        )
        pq.write_table(
            pa.table({key: list(values) for key, values in columns.items()}), folder / f"{name}.parquet"
        )
    judged = {
        query["query_id"]: query["tags"] for query in ran.result.queries.to_pylist() if not query["negative"]
    }
    first = {row["query_id"]: row["document_id"] for row in rows if row["rank"] == 2}
    qrels = [f"{query} 0 {first[query]} 1" for query in judged]
    (folder / "q.qrels").write_text("\n".join(qrels), encoding="utf-8")
    return folder


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_every_kind_of_file_gives_the_same_pairs(files: Path, kind: str) -> None:
    trec = bakeoff.compare_scores([files / "a.run", files / "b.run"], qrels=files / "q.qrels")
    other = bakeoff.compare_scores([files / f"a.{kind}", files / f"b.{kind}"], qrels=files / "q.qrels")
    assert other.comparison.pairs == trec.comparison.pairs and other.verdict == trec.verdict


def test_a_run_folder_and_a_file_are_compared_with_each_other(files: Path, ran) -> None:  # type: ignore[no-untyped-def]
    found = bakeoff.compare_scores([ran.result.path, files / "a.run"], qrels=files / "q.qrels")
    system = ran.result.done[0]
    assert {one.system for one in found.comparison.systems} == {*ran.result.done, "a"}
    pair = found.comparison.pair(system, "a")
    assert (pair.difference, pair.wins, pair.losses) == (0.0, 0, 0)


def test_a_system_that_a_file_and_a_folder_have_is_named_by_both(files: Path, ran) -> None:  # type: ignore[no-untyped-def]
    system = ran.result.done[0]
    file = files / f"{system}.run"
    file.write_bytes((files / "a.run").read_bytes())
    found = bakeoff.compare_scores([ran.result.path, file], qrels=files / "q.qrels")
    named = {one.system for one in found.comparison.systems}
    assert {f"{system} ({ran.result.path})", f"{system} ({file})"} <= named


def test_files_become_a_run_folder_with_the_same_verdict(files: Path, tmp_path: Path) -> None:
    given = [files / "a.run", files / "b.run"]
    plain = bakeoff.compare_scores(given, qrels=files / "q.qrels")
    result = write_file_run(
        tmp_path / "run", given, None, qrels=files / "q.qrels", preset=None, missing="refuse"
    )
    assert result.record.primary == MEASURE and result.done == ("a", "b")
    stored, direct = result.comparison.pair("a", "b"), plain.comparison.pair("a", "b")
    assert (stored.difference, stored.interval, stored.p_holm) == (
        direct.difference,
        direct.interval,
        direct.p_holm,
    )
    assert (stored.clusters, stored.effective_n) == (direct.clusters, direct.effective_n)
    assert result.verdict.rule == plain.verdict.rule
    assert result.timing("a", "total", "mean_ms") is None


def test_questions_about_one_document_are_a_cluster(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("q1 0 a 1\nq2 0 a 1\nq3 0 b 1\n", encoding="utf-8")
    for name, items in (("x", "ab"), ("y", "ba")):
        lines = [
            f"q{n} Q0 {item} {rank} {3 - rank} t" for n in (1, 2, 3) for rank, item in enumerate(items, 1)
        ]
        (tmp_path / f"{name}.run").write_text("\n".join(lines), encoding="utf-8")
    found = bakeoff.compare_scores([tmp_path / "x.run", tmp_path / "y.run"], "RR", qrels=tmp_path / "q")
    assert found.comparison.pairs[0].clusters == 2


def test_rankings_with_places_and_texts(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    rows = [
        {"query": "q1", "rank": 2, "text": "two", "score": 0.5},
        {"query": "q1", "rank": 1, "document": "a.md", "start": 3, "end": 9, "score": 0.75},
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert read_rankings(path)["q1"] == [
        RetrievedRow("a.md", 3, 9, None, 0.75),
        RetrievedRow(text="two", score=0.5),
    ]
    with pytest.raises(DataError, match="without a document"):
        bakeoff.compare_scores({"a": path, "b": path}, qrels={"q1": {"a.md": 1}})


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("{", "line 1: not JSON"),
        ("[1]", "not an object"),
        ('{"document": "a"}', "no query"),
        ('{"query": "q"}', "neither a document nor a text"),
        ('{"query": "q", "document": "a", "score": "high"}', "not a number"),
        ('{"query": "q", "document": "a", "start": 1.5, "end": 2}', "not a whole number"),
        ('{"query": "q", "document": "a", "score": NaN}', "NaN"),
    ],
)
def test_damaged_rankings_name_their_line(line: str, word: str, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(DataError, match=word):
        read_rankings(path)


def test_a_table_of_several_systems_needs_a_name(tmp_path: Path, ran) -> None:  # type: ignore[no-untyped-def]
    path, system = ran.result.path / "rankings.parquet", ran.result.done[0]
    with pytest.raises(DataError, match="systems"):
        read_rankings(path)
    assert len(read_rankings(path, system)) == ran.result.queries.num_rows
    with pytest.raises(DataError, match="'x'"):
        read_rankings(path, "x")


def test_the_same_file_twice_is_refused(files: Path) -> None:
    with pytest.raises(ComparisonError, match="twice"):
        bakeoff.compare_scores([files / "a.run", files / "a.run"], qrels=files / "q.qrels")
