"""Every parser of foreign files, fed with damaged ones: it reads them, or says what is wrong; it never falls over.

The examples are derived from valid files by random edits (cut, insert, double, flip, change of encoding). More of
them: BAKEOFF_FUZZ=5000 make unit, or a run of one test with -k.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bakeoff import environment, experiment, modelfile
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

EXAMPLES = int(os.environ.get("BAKEOFF_FUZZ", "60"))
EDITS = 6

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


@dataclass(frozen=True)
class Reader:
    """A reader, the name its file has, and a valid file."""

    name: str
    read: Callable[[Path], object]
    valid: bytes | Callable[[], bytes]


def _foreign(kind: str) -> Callable[[Path], object]:
    return lambda path: read_foreign(kind, [path])


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
}

Edit = tuple[int, int, bytes]
edits = st.lists(
    st.tuples(
        st.integers(0, 10_000),
        st.integers(0, 40),
        st.one_of(
            st.binary(max_size=6),
            st.sampled_from(
                [b"", b"\x00", b"\xff\xfe", b"\t", b": ", b"- ", b"{", b"]", b"&a *a", b"!!python/object:x", b"1e999",
                 b"NaN", b"-1", b"9" * 30, "\u202e".encode(), b"\xf0\x9f\x97\xbc", b"\r\n", b"---\n", b"<<: *a"]
            ),
        ),
    ),
    min_size=1,
    max_size=EDITS,
)  # fmt: skip


def damaged(content: bytes, changes: list[Edit]) -> bytes:
    """The content with each edit made: at a place, so many bytes give way to others."""
    for at, gone, put in changes:
        place = at % (len(content) + 1)
        content = content[:place] + put + content[place + gone :]
    return content


@pytest.mark.parametrize("kind", READERS)
def test_a_damaged_file_is_read_or_refused(kind: str, tmp_path: Path) -> None:
    reader = READERS[kind]
    content = reader.valid() if callable(reader.valid) else reader.valid
    path = tmp_path / reader.name
    path.parent.mkdir(parents=True, exist_ok=True)

    @settings(max_examples=EXAMPLES, deadline=None, database=None, derandomize=True,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(edits)
    def check(changes: list[Edit]) -> None:
        path.write_bytes(damaged(content, changes))
        try:
            reader.read(path)
        except BakeoffError as exc:
            assert str(exc).strip()

    check()


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize(
    "content", [b"", b"\x00" * 64, b"\xff" * 64, b"[" * 5000, b"{" * 5000, b"a: " * 3000]
)
def test_what_is_no_such_file_at_all(kind: str, content: bytes, tmp_path: Path) -> None:
    reader = READERS[kind]
    path = tmp_path / reader.name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    try:
        reader.read(path)
    except BakeoffError as exc:
        assert str(exc).strip()


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
