"""Tables of strangers: what expands, never ends, crashes its reader or names other files is an error, not the end."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bakeoff.corpus import table_process
from bakeoff.corpus.tables import open_table
from bakeoff.errors import DataError
from bakeoff.plugins.sources.remote import RemoteSource
from bakeoff.plugins.sources.sql import SqlParams, SqlSource
from bakeoff.plugins.sources.table import TableParams

NUMBERS = "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n{where}) SELECT id, {text} AS text FROM n"
SHEET = (
    '<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    "</sheetData></worksheet>"
)
"""Two cells in opposite corners, for which a reader makes room for 17 thousand million."""


def view(path: Path, text: str, where: str = "") -> Path:
    with sqlite3.connect(path) as base:
        base.execute(f"CREATE VIEW v AS {NUMBERS.format(where=where, text=text)}")
    base.close()
    return path


def read(path: Path, part: str = "") -> int:
    """Reads all rows and keeps none."""
    table = open_table(path, part)
    return sum(batch.num_rows for batch in table.batches(table.columns))


def test_a_view_without_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_process, "ALWAYS_BYTES", 1_000_000)
    path = view(tmp_path / "a.sqlite", "hex(zeroblob(5000))")
    with pytest.raises(DataError, match="bytes come out"):
        read(path)


def test_a_view_that_computes_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_process, "WAIT_FACTOR", 0.05)
    path = view(tmp_path / "a.sqlite", "count(*)")
    with pytest.raises(DataError, match="takes more than"):
        read(path)


def test_a_cell_of_a_gigabyte(tmp_path: Path) -> None:
    path = view(tmp_path / "a.sqlite", "zeroblob(1000000000)", " WHERE id < 3")
    with pytest.raises(DataError, match="too big"):
        read(path)


def test_triggers_are_left_alone_and_damaged_pages_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE t (id, text)")
        base.execute("CREATE TRIGGER g AFTER INSERT ON t BEGIN DELETE FROM t; END")
        base.executemany("INSERT INTO t VALUES (?, ?)", [(1, "a"), (2, "b")])
        base.execute("DROP TRIGGER g")
        base.execute("INSERT INTO t VALUES (3, 'c')")
    base.close()
    before = path.read_bytes()
    assert read(path) == 1
    assert path.read_bytes() == before
    path.write_bytes(before[:4096] + b"\xff" * (len(before) - 4096))
    with pytest.raises(DataError):
        read(path)


@pytest.mark.parametrize("store_schema", [True, False])
def test_a_dictionary_that_expands(store_schema: bool, tmp_path: Path) -> None:
    path, rows = tmp_path / "a.parquet", 2000
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["a" * 5_000_000]))
    pq.write_table(pa.table({"id": range(rows), "text": texts}), path, store_schema=store_schema)
    assert path.stat().st_size < 1_000_000
    with pytest.raises(DataError, match=r"its size|reader ends with"):
        read(path)


@pytest.mark.slow
def test_compressed_buffers_of_arrow_that_expand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_process, "MEMORY_MB", 300)
    path, options = tmp_path / "a.arrow", pa.ipc.IpcWriteOptions(compression="zstd")
    batch = pa.record_batch([pa.array(["a" * 5_000_000] * 100, pa.large_string())], names=["text"])
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    with pytest.raises(DataError, match=r"its size|reader ends with"):
        read(path)


def test_a_packed_text_that_expands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_process, "ALWAYS_BYTES", 1_000_000)
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"id,text\n" + b"1,aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n" * 1_000_000))
    with pytest.raises(DataError, match="bytes come out"):
        read(path)


def test_a_sheet_that_ends_its_reader(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    whole, path = tmp_path / "whole.xlsx", tmp_path / "a.xlsx"
    openpyxl.Workbook().save(whole)
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            sheet = name == "xl/worksheets/sheet1.xml"
            target.writestr(name, SHEET if sheet else source.read(name))
    with pytest.raises(DataError, match="reader ends with"):
        read(path)


@pytest.mark.parametrize(
    "state",
    [
        '{"_data_files": [{"filename": "../secret.arrow"}]}',
        '{"_data_files": []}',
        "[1]",
        '{"_data_files": 3}',
        "[",
    ],
)
def test_a_dataset_reads_files_of_its_own_folder_only(state: str, tmp_path: Path) -> None:
    secret, folder = tmp_path / "secret.arrow", tmp_path / "dataset"
    folder.mkdir()
    table = pa.table({"id": ["1"], "text": ["secret"]})
    with pa.OSFile(str(secret), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    (folder / "state.json").write_text(state)
    with pytest.raises(DataError, match=r"state\.json"):
        read(folder)


def test_a_split_does_not_lead_out_of_its_dataset(tmp_path: Path) -> None:
    folder = tmp_path / "dataset"
    folder.mkdir()
    (folder / "dataset_dict.json").write_text(json.dumps({"splits": [".."]}))
    with pytest.raises(DataError, match="own folder"):
        read(folder, "..")


def test_a_pipe_is_not_a_table(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.csv")
    with pytest.raises(DataError, match=r"a\.csv"):
        open_table(tmp_path / "a.csv")


@pytest.mark.parametrize(
    "url",
    [
        "ftp://user:secret12@host/t.csv",
        "s3://bucket/t.csv?token=secret12",
        "simplecache::ftp://user:secret12@host/t.csv",
    ],
)
def test_a_password_in_the_address_of_a_table_or_folder_is_refused(url: str) -> None:
    for make in (
        lambda: TableParams(table=url, id="id", text=["t"]),
        lambda: RemoteSource.Params(remote=url),
    ):
        with pytest.raises(ValueError, match=r"password|after \?|inside another"):
            make()


@pytest.mark.parametrize(
    "query", ["DELETE FROM t", "SELECT id FROM t; DROP TABLE t", "COMMIT", "PRAGMA writable_schema = 1"]
)
def test_a_source_asks_one_select(query: str) -> None:
    with pytest.raises(ValueError, match="one SELECT"):
        SqlParams(url="sqlite:///a.sqlite", query=query, id="id", text=["id"])


def test_the_query_of_a_source_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE t (id)")
        base.execute("INSERT INTO t VALUES (1)")
    base.close()
    before = path.read_bytes()
    given = {"url": f"sqlite:///{path}", "id": "id", "text": ["id"]}
    writing = SqlParams(
        query="WITH x AS (SELECT 2 AS id) INSERT INTO t SELECT id FROM x RETURNING id", **given
    )
    with pytest.raises(DataError, match=r"readonly|read-only"):
        list(SqlSource(writing).batches())
    assert path.read_bytes() == before
    (batch,) = SqlSource(SqlParams(query="SELECT id FROM t;", **given)).batches()
    assert batch.ids.to_pylist() == ["1"]
