"""SQL rules: what DuckDB answers is what counts, and nothing but a condition is run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from bakeoff.errors import TruthError
from bakeoff.truth.queries import QuerySet
from bakeoff.truth.resolve import resolve
from bakeoff.truth.sql import SCAN, SqlEngine
from bakeoff.truth.sql_process import SqlProcess
from bakeoff.truth.text_tables import SYNONYMS

TEXTS = [
    "Fatigue of the crack",
    "crack then fatigue",
    "Pilot über 40",
    "",
    None,
    "100% sure_thing",
    "it's (x",
]
ROWS = pa.table(
    {
        "id": [f"r.pdf_chunk_{i:03d}" for i in range(len(TEXTS))],
        "document": ["a.pdf", "a.pdf", "b.pdf", "b.pdf", "b.pdf", "c.pdf", "c.pdf"],
        "section": ["PROBABLE CAUSE", "", "FIRE", "FIRE", "", "", ""],
        "text": pa.array(TEXTS, pa.large_string()),
    }
)


@pytest.fixture(scope="module")
def engine() -> Iterator[SqlEngine]:
    with SqlEngine("chunks", ROWS, SYNONYMS["chunks"]) as engine:
        yield engine


def rows(engine: SqlEngine, condition: str) -> list[int]:
    (found,) = engine.rows([engine.check(condition)])
    assert isinstance(found, np.ndarray)
    return found.tolist()


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("WHERE lower(chunk_text) LIKE '%fatigue%crack%'", [0]),
        ("where lower(chunk_text) like '%fatigue%' AND lower(chunk_text) LIKE '%crack%'", [0, 1]),
        (
            "lower(chunk_text) LIKE '%pilot%' OR (section_name = 'PROBABLE CAUSE' AND report_id = 'a.pdf')",
            [0, 2],
        ),
        ("report_id IN ('a.pdf', 'c.pdf')", [0, 1, 5, 6]),
        ("chunk_id = 'r.pdf_chunk_002'", [2]),
        ("chunks.report_id = 'b.pdf' AND NOT (text = '')", [2]),
        ("text LIKE '%\\%%' ESCAPE '\\'", [5]),
        ("text LIKE 'it''s (%' -- a note", [6]),
        ("text IS NULL /* ( */", [4]),
        ("length(text) BETWEEN 1 AND 15", [2, 5, 6]),
        ("regexp_matches(text, '[0-9]{2}')", [2, 5]),
        ("text SIMILAR TO '.*über.*'", [2]),
        ("CASE WHEN section = 'FIRE' THEN text <> '' ELSE false END", [2]),
        ("true", [0, 1, 2, 3, 4, 5, 6]),
        ("NULL::BOOLEAN", []),
    ],
)
def test_conditions(engine: SqlEngine, condition: str, expected: list[int]) -> None:
    assert rows(engine, condition) == expected
    plain = re.sub(r"^\s*where\b", "", condition, flags=re.IGNORECASE)
    with duckdb.connect() as own:
        own.register("given", ROWS)
        names = "document AS report_id, section AS section_name, text AS chunk_text, id AS chunk_id"
        own.execute(f"CREATE VIEW chunks AS SELECT *, {names}, row_number() OVER () - 1 AS n FROM given")
        assert [
            n for (n,) in own.execute(f"SELECT n FROM chunks WHERE {plain}\nORDER BY n").fetchall()
        ] == expected


WRITES = [
    "DROP TABLE given",
    "INSERT INTO chunks VALUES (1)",
    "true; DROP TABLE given",
    "true); DELETE FROM given; --",
]
LEAVES = [
    "ATTACH '/tmp/x.db'",
    "COPY chunks TO '/tmp/x'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "PRAGMA database_list",
]
READS = [
    "EXISTS (SELECT 1 FROM read_text('/etc/hostname'))",
    "text IN (SELECT content FROM read_text('/etc/hostname'))",
    "(SELECT count(*) FROM chunks) > 1",
    "id = ANY (SELECT id FROM chunks)",
    "EXISTS (FROM duckdb_secrets())",
    "read_text('/etc/hostname') IS NULL",
]
EFFECTS = [
    "random() > 0.5",
    "nextval('s') > 1",
    "setseed(0.5) IS NULL",
    "getenv('HOME') = 'x'",
    "current_setting('threads') = '1'",
    "now() > '2020-01-01'",
    "error('x')",
    "write_log('x') IS NULL",
    "uuid() IS NULL",
]
ENDLESS = [
    "length(repeat(text, 1000000000)) > 1",
    "len(range(100000000000)) > 1",
    "replace(text, 'a', text) = ''",
]
NO_CONDITION = [
    "",
    "WHERE",
    "chunk_text",
    "length(text)",
    "true, true",
    "true) , (true",
    "true) FROM chunks WHERE (true",
    "true) UNION SELECT (true",
    "true ORDER BY 1",
    "true LIMIT 1",
    "count(*) > 1",
    "row_number() OVER () = 1",
    "* = 1",
    "COLUMNS('i.*') = 'x'",
    "id = $1",
    "id = ?",
    "x -> x",
    "given.id = 'x'",
    "chunks IS NULL",
    "x" * 30_000,
]


@pytest.mark.parametrize(
    "condition", [*WRITES, *LEAVES, *READS, *EFFECTS, *ENDLESS, *NO_CONDITION], ids=lambda text: text[:30]
)
def test_everything_else_is_refused_before_it_runs(engine: SqlEngine, condition: str) -> None:
    with pytest.raises(TruthError, match="sql"):
        engine.check(condition)
    assert rows(engine, "true") == list(range(len(TEXTS)))


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_text('/etc/hostname')",
        "COPY chunks TO '{folder}/out.csv'",
        "ATTACH '{folder}/x.db'",
        "SELECT * FROM ROWS",
        "SET threads = 1",
        "SET enable_external_access = true",
        "LOAD httpfs",
    ],
)
def test_the_engine_itself_is_shut(engine: SqlEngine, statement: str, tmp_path: Path) -> None:
    """Even a statement that slipped through the check could reach nothing: no file, no variable, no setting."""
    with pytest.raises(duckdb.Error):
        engine._connection.execute(statement.format(folder=tmp_path)).fetchall()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("lower(chunk_text) LKE 'x'", r"""syntax error at or near "LKE", at character 19: "LKE 'x'\""""),
        ("WHERE text = 'größe' FOM x", r'"FOM", at character 16'),
        ("text = 'open", r"unterminated"),
        (
            "chnk_text = 'x'",
            r'no column "chnk_text", at character 1.*Did you mean "chunk_text"\?.*Columns: chunk_id',
        ),
        ("lowr(text) = 'x'", r'the function lowr is not allowed.*Did you mean "lower"\?'),
        ("chunk_text", "is a VARCHAR, not true or false"),
        ("text = 5 + id", "Correct the condition"),
    ],
)
def test_errors_show_the_place(engine: SqlEngine, condition: str, said: str) -> None:
    try:
        (answer,) = engine.rows([engine.check(condition)])
    except TruthError as exc:
        answer = exc
    assert isinstance(answer, TruthError)
    assert re.search(said, str(answer))


def test_one_bad_condition_leaves_the_others(engine: SqlEngine) -> None:
    bad = engine.check("CAST(id AS INTEGER) = 1")
    found = engine.rows([engine.check("true"), bad, engine.check("id = 'r.pdf_chunk_001'")])
    assert isinstance(found[1], TruthError)
    assert "Could not convert" in str(found[1])
    assert isinstance(found[0], np.ndarray)
    assert isinstance(found[2], np.ndarray)
    assert found[2].tolist() == [1]


def test_more_conditions_than_one_scan_takes(engine: SqlEngine) -> None:
    conditions = [f"length(text) > {i % 25}" for i in range(2 * SCAN + 3)]
    found = engine.rows([engine.check(text) for text in conditions])
    lengths = [len(text) if text is not None else -1 for text in TEXTS]
    for i, rows_ in enumerate(found):
        assert isinstance(rows_, np.ndarray)
        assert rows_.tolist() == [row for row, length in enumerate(lengths) if length > i % 25]


def test_a_condition_that_takes_too_long_is_stopped() -> None:
    text = "abcdefghij " * 2_000
    table = pa.table({"id": ["x"] * 1_500, "text": pa.array([text] * 1_500, pa.large_string())})
    slow = " OR ".join(f"regexp_matches(text, '(a|b|c)*d[^k]*{i}z')" for i in range(100))
    with SqlProcess() as process:
        with SqlEngine("chunks", table, {}, seconds=0.3, process=process) as engine:
            (found,) = engine.rows([engine.check(slow)])
        assert isinstance(found, TruthError)
        assert "0.3" in str(found)
        with SqlEngine("chunks", table, {}, process=process) as engine:
            assert rows(engine, "id = 'y'") == []


def test_python_variables_are_out_of_reach(engine: SqlEngine) -> None:
    secret = pa.table({"a": [1]})
    with pytest.raises(duckdb.Error):
        engine._connection.execute("SELECT * FROM secret")
    assert secret.num_rows == 1


def test_rows_are_widened_batch_by_batch_and_stay_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bakeoff.truth.sql.STEP", 4_000)
    numbers = pa.table({"n": pa.chunked_array([range(3_000), range(3_000, 10_000)])})
    seen: list[int] = []

    def widen(batch: pa.RecordBatch) -> pa.RecordBatch:
        seen.append(batch.num_rows)
        texts = [f"row {n}" for n in batch["n"].to_pylist()]
        return batch.append_column("text", pa.array(texts, pa.string()))

    with SqlEngine("chunks", numbers, {"chunk_text": "text"}, widen=widen) as engine:
        conditions = [engine.check("chunk_text LIKE '%7'"), engine.check("n = 9999 OR text = 'row 0'")]
        (sevens, ends), again = engine.rows(conditions), engine.rows(conditions)
    assert sevens.tolist() == list(range(7, 10_000, 10)) == again[0].tolist()
    assert ends.tolist() == [0, 9_999]
    assert max(seen) <= 500
    assert sum(seen) == 20_000


def test_chunks_of_documents_in_any_order_carry_their_labels(
    make_documents: Callable[[Mapping[str, str]], pa.Table],
    make_chunks: Callable[..., pa.Table],
    make_queries: Callable[[str], QuerySet],
) -> None:
    texts = {f"d{n}.txt": f"text of {n} " * 5 for n in range(40)}
    documents, chunks = make_documents(texts), make_chunks(texts, 20)
    documents = pa.concat_tables([documents.slice(0, 7), documents.slice(7, 0), documents.slice(7)])
    shuffled = chunks.take(pa.array(np.random.default_rng(3).permutation(chunks.num_rows)))
    queries = make_queries(
        "queries:\n  - {id: q, text: x, truth: {sql: \"document_id IN ('d3.txt', 'd31.txt')\"}}\n"
    )
    found = resolve(queries, documents, {"c": shuffled}, strict=True).judgments
    wanted = sum(doc in (3, 31) for doc in chunks["doc"].to_pylist())
    assert found.num_rows == wanted > 2
    assert set(found["doc"].to_pylist()) == {3, 31}
