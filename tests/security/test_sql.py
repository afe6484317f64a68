"""A truth rule in SQL reads its own row and nothing else: no file, network, setting, secret, catalogue; no writing.

tests/truth/test_sql.py has the ways around the shape of a condition; here are an attacker's, through the query file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from bakeoff.errors import BakeoffError, TruthError
from bakeoff.runs.run import run
from bakeoff.truth.sql import SqlEngine
from bakeoff.truth.sql_process import THREADS

FILES = [
    "chunk_text IN (SELECT content FROM read_text('{secret}'))",
    "read_blob('{secret}') IS NOT NULL",
    "(SELECT content FROM '{secret}') LIKE '%x%'",
    "EXISTS (FROM read_csv('{secret}'))",
    "EXISTS (FROM read_csv_auto('{secret}', sep='\\n'))",
    "EXISTS (FROM read_json('{secret}'))",
    "EXISTS (FROM read_parquet('{secret}'))",
    "EXISTS (FROM parquet_metadata('{secret}'))",
    "EXISTS (FROM parquet_kv_metadata('{secret}'))",
    "EXISTS (FROM sniff_csv('{secret}'))",
    "EXISTS (FROM glob('{folder}/*'))",
    "EXISTS (FROM sqlite_scan('{secret}', 't'))",
    "EXISTS (FROM postgres_scan('host=127.0.0.1', 's', 't'))",
    "EXISTS (FROM query('FROM read_text(''{secret}'')'))",
    "EXISTS (FROM query_table('{secret}'))",
    "chunk_text = (TABLE '{secret}')",
    "EXISTS (WITH x AS MATERIALIZED (FROM read_text('{secret}')) FROM x)",
    "EXISTS (SELECT unnest(x) FROM (SELECT list(content) x FROM read_text('{secret}')))",
    "chunk_text LIKE (PIVOT read_text('{secret}') ON filename)",
]
NETWORK = [
    "EXISTS (FROM read_csv('http://127.0.0.1:9/x'))",
    "EXISTS (FROM 'https://127.0.0.1:9/x.parquet')",
    "EXISTS (FROM 's3://bucket/x.parquet')",
    "http_get('http://127.0.0.1:9') IS NULL",
]
WRITES = [
    "true; COPY (SELECT 1) TO '{folder}/made'",
    "true) TO '{folder}/made' --",
    "true; EXPORT DATABASE '{folder}/made'",
    "true; ATTACH '{folder}/made' AS x",
    "true; CREATE TABLE made (a INT)",
    "true; INSERT INTO given VALUES (1)",
    "true; DROP VIEW chunks",
    "true; CREATE MACRO lower(x) AS (SELECT content FROM read_text('{secret}'))",
    "true; PREPARE p AS SELECT 1; EXECUTE p",
    "true; CREATE SECRET (TYPE s3)",
    "true; INSTALL httpfs FROM community",
    "true; LOAD '{folder}/evil.duckdb_extension'",
    "true; CHECKPOINT; VACUUM",
    "true; CALL pragma_version()",
]
INSIGHTS = [
    "getenv('HOME') = 'x'",
    "getvariable('x') IS NULL",
    "current_setting('home_directory') = ''",
    "EXISTS (FROM duckdb_secrets())",
    "EXISTS (FROM duckdb_settings())",
    "EXISTS (FROM duckdb_extensions())",
    "EXISTS (FROM duckdb_databases())",
    "EXISTS (FROM information_schema.tables)",
    "EXISTS (FROM pragma_database_list())",
    "current_user = 'x'",
    "current_database() = 'x'",
    "version() = 'x'",
    "pg_typeof(chunk_text) = 'x'",
    "txid_current() > 0",
    "true; PRAGMA database_list",
    "true; SET VARIABLE x = 1",
    "true; RESET enable_external_access",
    "list_transform([1], x -> getenv('HOME')) = ['x']",
    "[getenv(x) FOR x IN ['HOME']] = ['x']",
    "apply([1], x -> x) = [1]",
    "{{'a': getenv('HOME')}}.a = 'x'",
    "chunk_text COLLATE \"{secret}\" = 'x'",
    "lower(chunk_text ORDER BY getenv('HOME')) = 'x'",
    "lower(chunk_text) FILTER (getenv('HOME') = 'x') = 'x'",
    "CAST(getenv('HOME') AS VARCHAR) = 'x'",
    "CASE WHEN getenv('HOME') = 'x' THEN true END",
    "main.getenv('HOME') = 'x'",
    "system.main.getenv('HOME') = 'x'",
    "\"getenv\"('HOME') = 'x'",
    "chunk_text.getenv() = 'x'",
    "'HOME'.getenv() = 'x'",
    "regexp_replace(chunk_text, '(.*)', getenv('HOME')) = 'x'",
]


@pytest.fixture(scope="module")
def engine() -> object:
    rows = pa.table({"id": ["a", "b"], "text": ["one", "two"]})
    with SqlEngine("chunks", rows, {"chunk_text": "text", "chunk_id": "id"}) as made:
        yield made


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "outside" / "secret.txt"
    path.parent.mkdir()
    path.write_text("one\n")
    return path


@pytest.mark.parametrize("condition", [*FILES, *NETWORK, *WRITES, *INSIGHTS], ids=lambda text: text[:45])
def test_a_condition_that_reaches_out_is_refused_before_it_runs(
    engine: SqlEngine, condition: str, secret: Path
) -> None:
    text = condition.format(secret=secret, folder=secret.parent)
    with pytest.raises(TruthError, match="sql"):
        engine.check(text)
    assert [path.name for path in secret.parent.iterdir()] == ["secret.txt"]


@pytest.mark.parametrize(
    "statement",
    [
        *(f"FROM {call}" for call in (
            "read_text('{secret}')", "read_blob('{secret}')", "read_csv('{secret}')", "'{secret}'", "glob('{folder}/*')",
            "query('FROM read_text(''{secret}'')')", "read_csv('http://127.0.0.1:9/x')",
        )),
        "COPY (SELECT 1) TO '{folder}/made'",
        "EXPORT DATABASE '{folder}/made'",
        "ATTACH '{folder}/made' AS x",
        "INSTALL httpfs",
        "LOAD '{folder}/evil.duckdb_extension'",
        "SET enable_external_access = true",
        "RESET enable_external_access",
        "SET lock_configuration = false",
        "SET allowed_directories = ['{folder}']",
        "SET temp_directory = '{folder}/made'",
        "SET secret_directory = '{folder}/made'",
        "SET log_query_path = '{folder}/made'",
        "PRAGMA enable_profiling; PRAGMA profiling_output = '{folder}/made'",
        "SET custom_user_agent = 'x'",
    ],
)  # fmt: skip
def test_the_engine_is_shut_even_for_whole_statements(
    engine: SqlEngine, statement: str, secret: Path
) -> None:
    """The second wall: had a statement slipped through the check, the engine itself would refuse it."""
    with pytest.raises(duckdb.Error):
        engine._connection.execute(statement.format(secret=secret, folder=secret.parent)).fetchall()
    assert [path.name for path in secret.parent.iterdir()] == ["secret.txt"]


def test_through_the_query_file_of_a_run(home: Path, laid_out: Callable[..., Path], secret: Path) -> None:
    """End to end: the run stops with the place in the file, and shows nothing of what it should not read."""
    path = laid_out(Path.cwd())
    rule = f"chunk_text IN (SELECT content FROM read_text('{secret}'))"
    asked = {"id": "a", "text": "what", "truth": {"sql": rule}}
    Path("queries.yaml").write_text(json.dumps({"queries": [asked]}))
    secret.write_text("do-not-show-this")
    with pytest.raises(BakeoffError, match="subquery") as caught:
        run(path, out="run")
    assert "do-not-show-this" not in str(caught.value)


LARGE = "abcdefghij " * 500_000
GROWING = [
    "length(" + "||".join(["chunk_text"] * 200) + ") = 1",
    "length(concat(" + ",".join(["chunk_text"] * 1500) + ")) = 1",
    "length(lower(" + "||".join(["upper(chunk_text)"] * 100) + ")) = 1",
    "length(repeat(chunk_text, 1000)) = 1",
    "length(lpad(chunk_text, 1000000000, 'x')) = 1",
    "length(rpad(chunk_text, 1000000000, 'x')) = 1",
    "length(replace(chunk_text, 'a', chunk_text)) = 1",
    "length(string_agg(chunk_text, '')) = 1",
    "length(list_aggregate([chunk_text], 'string_agg', '')) = 1",
    "length(printf('%1000000000s', chunk_text)) = 1",
    "length(format('{:>1000000000}', chunk_text)) = 1",
    "length(concat_ws(chunk_text, chunk_text, chunk_text)) = 1",
    "length(array_to_string([chunk_text], chunk_text)) = 1",
    "length(chunk_text::BLOB::BIT::VARCHAR) = 1",
    "length(hex(chunk_text)) = 1",
    "length(to_base64(chunk_text::BLOB)) = 1",
    "bar(1, 0, 1, 1000000000) = 'x'",
    "NOT " * 3000 + "true",
    "(" * 3000 + "true" + ")" * 3000,
]


@pytest.mark.parametrize("condition", GROWING, ids=lambda text: text[:40])
def test_a_text_that_grows_is_refused_before_it_is_made(engine: SqlEngine, condition: str) -> None:
    with pytest.raises(TruthError, match="sql"):
        engine.check(condition)


@pytest.fixture
def large() -> pa.Table:
    return pa.table({"id": ["a"] * 4, "text": pa.array([LARGE] * 4, pa.large_string())})


def test_memory_has_a_bound(large: pa.Table) -> None:
    """What the check lets through, because each text by itself is small, may not fill the memory together."""
    wide = " OR ".join(f"upper({'||'.join(['text'] * 16)}) = '{number}'" for number in range(100))
    with SqlEngine("chunks", large, {"chunk_text": "text"}) as engine:
        (found,) = engine.rows([engine.check(wide)])
        assert isinstance(found, TruthError) and "memory" in str(found)
        (again,) = engine.rows(["id = 'a'"])
        assert not isinstance(again, TruthError) and again.tolist() == [0, 1, 2, 3]


@pytest.mark.slow
def test_time_has_a_bound_inside_one_text(large: pa.Table) -> None:
    """The work on one block of rows, which DuckDB does not interrupt, ends at the limit and not when it is done."""
    slow = " OR ".join(f"regexp_matches(text, '(a|b|c)*d[^k]*{number}z')" for number in range(300))
    with SqlEngine("chunks", large, {"chunk_text": "text"}, seconds=1) as engine:
        condition = engine.check(slow)
        engine._process.start()
        begin = cpu_seconds()
        (found,) = engine.rows([condition])
        spent = cpu_seconds() - begin
    assert isinstance(found, TruthError) and "stopped after 1 s" in str(found)
    assert spent < 4 * THREADS, (
        "the process is killed after 1 s, whatever it is doing; left alone it takes minutes"
    )


def cpu_seconds() -> float:
    """CPU seconds of this process and of the processes it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
