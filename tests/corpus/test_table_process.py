"""The process that reads tables: forked by a server, with batches in shared memory."""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bakeoff.corpus import fork_server, table_process
from bakeoff.corpus.shared_batches import BatchReader, BatchWriter
from bakeoff.corpus.tables import arrow_files, open_table
from bakeoff.errors import DataError
from bakeoff.plugins.sources.table import TableParams, TableSource

pytestmark = pytest.mark.skipif(not fork_server.AVAILABLE, reason="Linux only")


def table_of(path: Path, rows: int = 1000, group: int = 100) -> Path:
    numbers = range(rows)
    columns = {"id": [f"T-{n}" for n in numbers], "text": [f"text {n}" for n in numbers]}
    pq.write_table(
        pa.table(columns | {"kind": [f"kind {n % 3}" for n in numbers]}), path, row_group_size=group
    )
    return path


def forked() -> list[psutil.Process]:
    """The processes of tables that are open now."""
    gc.collect()
    fork_server.start_server()
    return psutil.Process(fork_server._servers[0]._process.pid).children()


@pytest.fixture(params=[True, False], ids=["fork server", "new process"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux forks a process and shares memory with it; other systems start one and read its output."""
    monkeypatch.setattr(fork_server, "AVAILABLE", request.param)


def batch(first: int, rows: int) -> pa.RecordBatch:
    return pa.record_batch([pa.array(range(first, first + rows))], names=["n"])


def test_a_part_is_written_again_after_its_batch_is_released() -> None:
    reader = BatchReader()
    writer = BatchWriter(reader.file)
    first = reader.read(writer.write(batch(0, 10)))
    column = first.column(0)
    part = writer.write(batch(10, 10))
    second = reader.read(part)
    assert reader.take_released() == []
    del first
    assert reader.take_released() == []  # a column of it is in use
    assert (column.to_pylist(), second.column(0).to_pylist()) == (list(range(10)), list(range(10, 20)))
    del column
    released = reader.take_released()
    assert released == [0]
    writer.release(released)
    assert writer.write(batch(20, 10)).offset == 0
    assert second.column(0).to_pylist() == list(range(10, 20))


def test_a_batch_larger_than_every_free_part_gets_a_new_one() -> None:
    reader = BatchReader()
    writer = BatchWriter(reader.file)
    small = writer.write(batch(0, 10))
    writer.release([small.offset])
    large = writer.write(batch(0, 1_000_000))
    assert large.offset == small.size
    assert reader.read(large).column(0)[-1].as_py() == 999_999


@pytest.mark.usefixtures("either_way")
def test_rows_are_the_same_while_all_batches_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    rows = 3 * arrow_files.BATCH_ROWS
    table_of(path, rows, rows)
    batches = list(open_table(path).batches(["id", "text"]))
    assert len(batches) == 3
    assert pa.Table.from_batches(batches).equals(pq.read_table(path, columns=["id", "text"]))


@pytest.mark.usefixtures("either_way")
def test_a_damaged_table_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = table_of(tmp_path / "t.parquet")
    data = bytearray(path.read_bytes())
    data[40:4000] = b"\xff" * 3960
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"t\.parquet"):
        list(open_table(path).batches(["id", "text"]))


@pytest.mark.usefixtures("either_way")
def test_two_readings_of_one_table_take_turns(tmp_path: Path) -> None:
    rows = 3 * arrow_files.BATCH_ROWS
    table = open_table(table_of(tmp_path / "t.parquet", rows, rows))
    pairs = list(zip(table.batches(["id"]), table.batches(["text"]), strict=True))
    assert [one.column(0)[0].as_py() for one, _ in pairs] == ["T-0", "T-65536", "T-131072"]
    assert [one.column(0)[0].as_py() for _, one in pairs] == ["text 0", "text 65536", "text 131072"]


def test_the_process_ends_with_the_last_batch_and_a_second_reading_starts_another(tmp_path: Path) -> None:
    table = open_table(table_of(tmp_path / "t.parquet"))
    assert len(forked()) == 1
    assert sum(one.num_rows for one in table.batches(["id"])) == 1000
    assert forked() == []
    assert sum(one.num_rows for one in table.batches(["text"])) == 1000


def test_the_files_of_a_pattern_are_not_all_open_at_once(tmp_path: Path) -> None:
    for number in range(3):
        table_of(tmp_path / f"{number}.parquet")
    table = open_table(tmp_path / "*.parquet")
    assert forked() == []
    batches = table.batches(["id"])
    next(batches)
    assert len(forked()) == 1
    batches.close()


def test_a_killed_process_is_an_error_now_and_later(tmp_path: Path) -> None:
    table = open_table(table_of(tmp_path / "t.parquet"))
    (process,) = forked()
    process.send_signal(signal.SIGKILL)
    for _ in range(2):
        with pytest.raises(DataError, match="signal 9"):
            list(table.batches(["id"]))


def test_the_server_has_no_threads_that_a_fork_would_lose(tmp_path: Path) -> None:
    open_table(table_of(tmp_path / "t.parquet"))
    assert psutil.Process(fork_server._servers[0]._process.pid).num_threads() == 1


def test_a_server_that_ended_is_started_again(tmp_path: Path) -> None:
    fork_server.start_server()
    server = fork_server._servers[0]._process
    server.kill()
    server.wait()
    assert open_table(table_of(tmp_path / "t.parquet")).rows == 1000


def test_the_process_has_the_folder_and_environment_of_its_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fork_server.start_server()
    table_of(tmp_path / "t.parquet")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BAKEOFF_TEST_VARIABLE", "here")
    table = open_table(Path("t.parquet"))
    (process,) = forked()
    assert process.cwd() == str(tmp_path)
    assert table.rows == 1000
    assert os.environ["BAKEOFF_TEST_VARIABLE"] == "here"


def test_fields_of_few_values_come_as_codes_and_all_other_columns_as_texts(tmp_path: Path) -> None:
    path = table_of(tmp_path / "t.parquet")
    params = TableParams(table=path, id="id", text=["kind"], fields=["kind"])
    batches = list(TableSource(params).batches())
    assert {str(one.fields["kind"].type) for one in batches} == {
        "dictionary<values=string, indices=int32, ordered=0>"
    }
    assert {str(one.texts.type) for one in batches} == {"string"}
    assert [text for one in batches for text in one.texts.to_pylist()] == [
        f"kind {n % 3}" for n in range(1000)
    ]


def test_codes_of_long_texts_are_expanded_where_they_are_counted() -> None:
    few = pa.array(["a" * 400_000] * 100).dictionary_encode()
    expanded = table_process._expand(few, 2**30)
    assert expanded is not None and str(expanded.type) == "string"
    assert table_process._expand(few, 1_000_000) is None
