"""Query files, foreign formats of truth, and what measures read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bakeoff import evaluate
from bakeoff.measures.score_tables import read_score_table
from bakeoff.presets.import_formats import read_foreign
from bakeoff.report.exports import truth_files
from bakeoff.storage import ranking_files as files
from bakeoff.truth.importers.rules import ORIGINAL_GRADES
from bakeoff.truth.importers.trec import ITERATIONS
from bakeoff.truth.queries import read_queries
from fuzzed.reader import Reader

QUERIES = """# questions
defaults: {category: howto, difficulty: medium}
queries:
  - id: a-1
    text: where is the token checked?
    truth: {documents: ["auth/jwt.py", "auth/*.md"]}
  - {id: b-2, text: "fatigue, \\u00e9", truth: {any: [{sql: "lower(chunk_text) LIKE '%x%'"}, {signals: {at_least: 2, of: [a, b]}}]}}
  - id: n-1
    text: nothing answers this
    truth: negative
"""
TAGS = (ORIGINAL_GRADES, ITERATIONS, "metadata")
JSON = {"queries": [{"id": "a", "text": "where?", "truth": {"documents": ["a.md"]}, "tags": {"team": "x"}}]}


def parquet(columns: dict[str, list[object]]) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


def foreign(kind: str) -> Callable[[Path], object]:
    return lambda path: read_foreign(kind, [path])


def beir_queries(path: Path) -> object:
    (path.parent / "qrels").mkdir(exist_ok=True)
    (path.parent / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    return read_foreign("beir", [path.parent])


def beir_qrels(path: Path) -> object:
    (path.parents[1] / "queries.jsonl").write_text('{"_id": "q1", "text": "a"}\n')
    return read_foreign("beir", [path.parents[1]])


def trec_topics(path: Path) -> object:
    qrels = path.with_name("qrels.txt")
    qrels.write_text("q1 0 d1 1\n")
    return read_foreign("trec", [path, qrels])


def trec_qrels(path: Path) -> object:
    topics = path.with_name("topics.txt")
    topics.write_text("<top>\n<num> Number: q1\n<title> pilot fatigue\n</top>\n")
    return read_foreign("trec", [topics, path])


def tagged(path: Path) -> object:
    """Judgments that an import left in the tags of a query, given back as they were."""
    said = path.read_bytes().decode("utf-8", "replace")
    file = path.with_name("queries.yaml")
    row = {"id": "a", "text": "b", "truth": {"documents": ["d1"]}, "tags": dict.fromkeys(TAGS, said)}
    file.write_text(json.dumps({"queries": [row]}), encoding="utf-8")
    queries = read_queries(file).queries
    return truth_files.original_qrels(queries, [truth_files.Qrel("a", "d1", 1)]), truth_files.beir_queries(
        queries
    )


READERS = [
    Reader("queries", "queries.yaml", read_queries, QUERIES.encode()),
    Reader("queries in JSON", "queries.json", read_queries, json.dumps(JSON).encode()),
    Reader("qrels", "qrels.txt", files.read_qrels, b"q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\n"),
    Reader(
        "run of TREC", "run.txt", lambda path: files.read_run(path, by_rank=True),
        b"q1 Q0 d1 1 0.9 tag\nq1 Q0 d2 2 0.8 tag\n",
    ),
    Reader(
        "qrels in Parquet", "qrels.parquet", lambda path: evaluate(path, {"q1": {"d1": 0.9}}, ["nDCG@10"]),
        lambda: parquet({"query": ["q1"], "item": ["d1"], "grade": [1]}), dear=True,
    ),
    Reader(
        "run in Parquet", "run.parquet", lambda path: evaluate({"q1": {"d1": 1}}, path, ["nDCG@10"]),
        lambda: parquet({"query": ["q1"], "item": ["d1"], "score": [0.5]}), dear=True,
    ),
    Reader(
        "truth of lineage", "truth.json", foreign("lineage"),
        b'{"queries": [{"id": "j", "query": "q", "relevant_chunks": ["a.sql"], "category": "c", "difficulty": "easy"}]}',
    ),
    Reader(
        "truth of code", "q.json", foreign("code"),
        b'{"metadata": {"name": "n"}, "queries": [{"query": "q", "query_type": "Code", "expected_files": ["a.rs"]}]}',
    ),
    Reader(
        "truth of vectordb", "cases.json", foreign("vectordb"), b'[{"query": "q", "relevant_doc_ids": ["doc_001"]}]'
    ),
    Reader(
        "truth of goldsql", "gold.yaml", foreign("goldsql"),
        b"queries:\n  - {query_id: I-1, query_text: q, expected_reports: [A.pdf]}\n",
    ),
    Reader("queries of BEIR", "queries.jsonl", beir_queries, b'{"_id": "q1", "text": "a"}\n{"_id": "q2", "text": "b"}\n'),
    Reader("qrels of BEIR", "qrels/test.tsv", beir_qrels, b"query-id\tcorpus-id\tscore\nq1\td1\t1\n"),
    Reader("topics", "topics.txt", trec_topics, b"<top>\n<num> Number: q1\n<title> pilot fatigue\n</top>\n"),
    Reader("topics in columns", "topics.txt", trec_topics, b"q1\tpilot fatigue\n"),
    Reader("qrels of TREC", "qrels.txt", trec_qrels, b"q1 0 d1 1\nq1 0 d2 0\n"),
    Reader("queries in CSV", "q.csv", foreign("csv"), b'query,document,grade\n"a, b",d1,1\nc,d2,0\n'),
    Reader("queries in TSV", "q.tsv", foreign("csv"), b"query\tdocument\tgrade\na b\td1\t1\nc\td2\t0\n"),
    Reader("scores in CSV", "s.csv", read_score_table, b"query,measure,score\nq1,nDCG@10,0.5\nq2,nDCG@10,1\n"),
    Reader("scores in JSON", "s.json", read_score_table, b'[{"query": "q1", "nDCG@10": 0.5}, {"query": "q2", "nDCG@10": 1}]'),
    Reader("scores in JSONL", "s.jsonl", read_score_table, b'{"query": "q1", "nDCG@10": 0.5}\n{"query": "q2", "nDCG@10": 1}\n'),
    Reader("tags of imported qrels", "tags.json", tagged, b'{"1": ["d1", "d2"], "0": ["d3"]}'),
]  # fmt: skip
