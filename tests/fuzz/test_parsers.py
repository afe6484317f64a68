"""Every parser of foreign files, fed with damaged ones: it reads them, or says what is wrong; it never falls over.

More of them: BAKEOFF_FUZZ=5000 make unit, or a run of one test with -k. Documents are in test_documents.py, files of
models in test_models.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bakeoff import environment, evaluate, experiment, modelfile
from bakeoff.analysis import open_run
from bakeoff.cache import intact
from bakeoff.errors import BakeoffError
from bakeoff.journal import read_progress
from bakeoff.load import vectorfiles
from bakeoff.load.stored import open_load
from bakeoff.measures import files as measure_files
from bakeoff.results import SCORES, read_table
from bakeoff.review.ledger import Ledger
from bakeoff.review.pool import read_pool
from bakeoff.review.sheets import read_sheet
from bakeoff.servers.records import read_place, read_state
from bakeoff.truth.importers import read_foreign
from bakeoff.truth.queries import read_queries
from bakeoff.truth.reviewed import read_judgments

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
EXPERIMENT = """# Which is best?
corpus: {folder: docs, include: ["**/*.md"]}
queries: queries.yaml
chunkers: [line, {tokens: {size: 256, overlap: 32}}]
embedders: [wordllama]
stores: [exact, {faiss: {build: {index: hnsw}, query: {ef: [16, 64]}}}]
modes: [dense, bm25, hybrid]
measures: {primary: nDCG@10(document), also: [R@20(document)]}
limits: {p95_ms: 100}
"""
SHEET = """review_complete: true
query_id: CON-005
query_text: pilot fatigue
model: minilm
results:
  - rank: 1
    chunk_id: AAR1401_chunk_12
    score: 0.81
    section_name: ANALYSIS
    chunk_text: |
      The pilot had slept four hours.
    judgment: SEMANTIC_MATCH
    notes: ""
"""
MODELS = """[[fastembed]]
model = "BAAI/bge-small-en-v1.5"

[[mistralrs]]
model = "embedding-gemma"
quantization = "q8"
"""
JUDGMENTS = json.dumps({"format": 1, "run": "r", "reviewers": ["a"], "fingerprint": "x", "rows": []})
POOL = json.dumps({"format": 1, "run": "r", "k": 10, "seed": 7, "systems": ["a"], "items": [], "notes": []})
ENTRY = {
    "kind": "judge",
    "item": "i",
    "query": "q",
    "reviewer": "ann",
    "text_hash": "h",
    "judgment": "SEMANTIC_MATCH",
}


def _fvecs() -> bytes:
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    return b"".join(np.int32(4).tobytes() + row.tobytes() for row in rows)


def _npy() -> bytes:
    import io

    out = io.BytesIO()
    np.save(out, np.ones((3, 4), np.float32))
    return out.getvalue()


def _npz() -> bytes:
    import io

    out = io.BytesIO()
    np.savez(out, train=np.ones((3, 4), np.float32), test=np.ones((1, 4), np.float32))
    return out.getvalue()


def _parquet() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"vector": [[1.0, 2.0], [3.0, 4.0]]}), sink)
    return sink.getvalue().to_pybytes()


def _hdf5() -> bytes:
    h5py = pytest.importorskip("h5py")
    import io

    out = io.BytesIO()
    with h5py.File(out, "w") as file:
        file["train"], file["test"] = np.ones((5, 3), np.float32), np.ones((2, 3), np.float32)
        file["neighbors"] = np.zeros((2, 2), np.int32)
        file.attrs["distance"] = "euclidean"
    return out.getvalue()


def _scores() -> bytes:
    rows = {
        name: [1.0 if kind == "double" else 1 if kind.startswith("int") else "x"]
        for name, kind in SCORES.columns
    }
    sink = pa.BufferOutputStream()
    pq.write_table(SCORES.table(rows), sink)
    return sink.getvalue().to_pybytes()


PROGRESS = {
    "pid": 1, "updated": 2.0, "done": 1, "total": 2, "failed": [["a", "why"]], "warnings": ["w"], "ended": False,
    "stages": [{"stage": "read", "label": "", "total": 1, "what": "files", "started": 1.0}],
}  # fmt: skip
STATE = {
    "name": "redis", "version": "8", "address": "a", "line": "l", "since": 1.0, "settings": {"BAKEOFF_REDIS_URL": "u"},
    "marks": [{"pid": 1, "started": 1.0, "program": "p"}],
}  # fmt: skip
SITE = {"folder": "f", "data": "d", "program": "p", "ports": [1], "password": "x", "user": None}
LOAD = {"format": 1, "kind": "load", "status": "done"}


def _of_server(read: Callable[[str], object]) -> Callable[[Path], object]:
    """Reads a server's record as the commands do: below the home folder."""

    def reading(path: Path) -> object:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("BAKEOFF_HOME", str(path.parents[2]))
            return read("redis")

    return reading


class Reader(NamedTuple):
    """The name of a file, what reads it, and a valid one."""

    name: str
    read: Callable[[Path], object]
    valid: bytes | Callable[[], bytes]


def _foreign(kind: str) -> Callable[[Path], object]:
    return lambda path: read_foreign(kind, [path])


def _beir_queries(path: Path) -> object:
    (path.parent / "qrels").mkdir(exist_ok=True)
    (path.parent / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    return read_foreign("beir", [path.parent])


def _beir_qrels(path: Path) -> object:
    (path.parents[1] / "queries.jsonl").write_text('{"_id": "q1", "text": "a"}\n')
    return read_foreign("beir", [path.parents[1]])


def _topics(path: Path) -> object:
    qrels = path.with_name("qrels.txt")
    qrels.write_text("q1 0 d1 1\n")
    return read_foreign("trec", [path, qrels])


def _evaluated(path: Path) -> object:
    return evaluate(path, {"q1": {"d1": 0.9}}, ["nDCG@10"])


def _qrels_parquet() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"query": ["q1"], "item": ["d1"], "grade": [1]}), sink)
    return sink.getvalue().to_pybytes()


def _ledger(path: Path) -> object:
    return Ledger(path.parent).read()


READERS = {
    "queries": Reader("queries.yaml", read_queries, QUERIES.encode()),
    "experiment": Reader("bakeoff.yaml", experiment.load, EXPERIMENT.encode()),
    "review file": Reader("review_CON-005_minilm.yaml", read_sheet, SHEET.encode()),
    "models.toml": Reader("models.toml", modelfile.read, MODELS.encode()),
    "qrels": Reader("qrels.txt", measure_files.read_qrels, b"q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\n"),
    "run": Reader(
        "run.txt",
        lambda path: measure_files.read_run(path, by_rank=True),
        b"q1 Q0 d1 1 0.9 tag\nq1 Q0 d2 2 0.8 tag\n",
    ),
    "fvecs": Reader("a.fvecs", vectorfiles.read, _fvecs()),
    "bvecs": Reader("a.bvecs", vectorfiles.read, np.int32(4).tobytes() + bytes(4)),
    "ivecs": Reader("a.ivecs", vectorfiles.read, np.int32(2).tobytes() + bytes(8)),
    "npz": Reader("a.npz", vectorfiles.read, _npz),
    "npy": Reader("a.npy", vectorfiles.read, _npy()),
    "parquet": Reader("a.parquet", vectorfiles.read, _parquet()),
    "hdf5": Reader("a.hdf5", vectorfiles.read, _hdf5),
    "judgments": Reader("judgments.json", read_judgments, JUDGMENTS.encode()),
    "pool": Reader("pool.json", read_pool, POOL.encode()),
    "ledger": Reader("ann.jsonl", _ledger, (json.dumps(ENTRY) + "\n").encode() * 3),
    "record": Reader("run.json", lambda path: open_run(path.parent), b'{"schema_version": 1, "run": "x"}'),
    "result table": Reader("scores.parquet", lambda path: read_table(path.parent, SCORES), _scores),
    "manifest": Reader(
        "manifest.json", lambda path: intact(path.parent), b'{"files": {"manifest.json": [1, "x"]}}'
    ),
    "progress": Reader(
        "progress.json", lambda path: read_progress(path.parent), json.dumps(PROGRESS).encode()
    ),
    "server's state": Reader("servers/redis/state.json", _of_server(read_state), json.dumps(STATE).encode()),
    "server's place": Reader("servers/redis/place.json", _of_server(read_place), json.dumps(SITE).encode()),
    ".env": Reader(".env", environment.read, b"A=b\nexport C='d e' # note\n"),
    "load": Reader("record.json", lambda path: open_load(path.parent), json.dumps(LOAD).encode()),
    "S0": Reader(
        "truth.json",
        _foreign("lineage"),
        b'{"queries": [{"id": "j", "query": "q", "relevant_chunks": ["a.sql"], "category": "c", "difficulty": "easy"}]}',
    ),
    "S2": Reader(
        "q.json",
        _foreign("code"),
        b'{"metadata": {"name": "n"}, "queries": [{"query": "q", "query_type": "Code", "expected_files": ["a.rs"]}]}',
    ),
    "S3": Reader("cases.json", _foreign("vectordb"), b'[{"query": "q", "relevant_doc_ids": ["doc_001"]}]'),
    "S4": Reader(
        "gold.yaml",
        _foreign("goldsql"),
        b"queries:\n  - {query_id: I-1, query_text: q, expected_reports: [A.pdf]}\n",
    ),
    "BEIR queries": Reader(
        "queries.jsonl", _beir_queries, b'{"_id": "q1", "text": "a"}\n{"_id": "q2", "text": "b"}\n'
    ),
    "BEIR qrels": Reader("qrels/test.tsv", _beir_qrels, b"query-id\tcorpus-id\tscore\nq1\td1\t1\n"),
    "topics": Reader("topics.txt", _topics, b"<top>\n<num> Number: q1\n<title> pilot fatigue\n</top>\n"),
    "CSV": Reader("q.csv", _foreign("csv"), b'query,document,grade\n"a, b",d1,1\nc,d2,0\n'),
    "Parquet qrels": Reader("qrels.parquet", _evaluated, _qrels_parquet),
}


@pytest.mark.parametrize("kind", READERS)
def test_a_damaged_file_is_read_or_refused(kind: str, feed_damaged: Callable[..., None]) -> None:
    feed_damaged(*READERS[kind])


@pytest.mark.parametrize("kind", READERS)
def test_what_is_no_such_file_at_all(kind: str, feed: Callable[..., None], nonsense: bytes) -> None:
    name, read, _ = READERS[kind]
    feed(name, read, nonsense)


def test_a_billion_laughs_are_refused(tmp_path: Path) -> None:
    """Aliases that double at each line would fill the memory."""
    lines = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}]" for n in range(1, 40))]
    path = tmp_path / "queries.yaml"
    path.write_text("\n".join(lines))
    with pytest.raises(BakeoffError):
        read_queries(path)


def test_a_pickle_is_never_read(tmp_path: Path) -> None:
    """An .npy of objects is a pickle, which could run anything."""
    path = tmp_path / "a.npy"
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(BakeoffError):
        vectorfiles.read(path)


def test_a_dataset_that_claims_more_than_its_file_holds(tmp_path: Path) -> None:
    """A few kilobytes must not fill the memory with rows that were never written."""
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "a.hdf5"
    with h5py.File(path, "w") as file:
        file.create_dataset("train", (1 << 30, 128), np.float32, chunks=(1024, 128))
    with pytest.raises(BakeoffError, match="claims 549,755,813,888 bytes"):
        vectorfiles.read(path)
