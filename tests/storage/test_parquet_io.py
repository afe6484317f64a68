"""Parquet files whose values are not what their columns say."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bakeoff.benchmark.results.load_results import LOAD_PASSES
from bakeoff.benchmark.results.load_results import read_table as read_load
from bakeoff.errors import DataError
from bakeoff.pipeline.system_tables import TIES
from bakeoff.runs.folder import read_table
from bakeoff.runs.verdict import _latency_between
from bakeoff.storage.parquet_io import read_parquet, read_where
from bakeoff.storage.schemas import Schema


def _no_text() -> pa.Array:
    """A column of one text whose byte is in no encoding."""
    ends = pa.py_buffer((0).to_bytes(4, "little") + (1).to_bytes(4, "little"))
    return pa.StringArray.from_buffers(1, ends, pa.py_buffer(b"\xff"))


def _written(folder: Path, schema: Schema) -> Path:
    """A table of a schema in which no text is one."""
    columns = [
        _no_text() if kind == "string" else pa.nulls(1, pa.type_for_alias(kind)) for _, kind in schema.columns
    ]
    pq.write_table(pa.Table.from_arrays(columns, schema=schema.arrow()), folder / f"{schema.name}.parquet")
    return folder


def test_a_text_that_is_none(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": _no_text()}), tmp_path / "a.parquet")
    with pytest.raises(pa.ArrowInvalid, match="UTF"):
        read_parquet(tmp_path / "a.parquet")


def test_it_is_refused_where_a_run_or_a_load_is_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"ties\.parquet"):
        read_table(_written(tmp_path, TIES), TIES)
    with pytest.raises(DataError, match=r"load_passes\.parquet"):
        read_load(_written(tmp_path, LOAD_PASSES), LOAD_PASSES)


def test_a_whole_file_is_read_as_it_is(tmp_path: Path) -> None:
    table = pa.table({"a": ["x", None, "é"], "b": [[1.0], [], None]})
    pq.write_table(table, tmp_path / "a.parquet")
    assert read_parquet(tmp_path / "a.parquet").equals(table)
    assert read_parquet(tmp_path / "a.parquet", columns=["a"]).column_names == ["a"]


def test_rows_that_pass_every_filter(tmp_path: Path) -> None:
    table = pa.table({"a": ["x", "y", None, "x"], "b": [1, 2, 3, 4]})
    pq.write_table(table, tmp_path / "a.parquet")
    found = read_where(tmp_path / "a.parquet", [("a", "in", ["x"]), ("b", ">", 1)])
    assert found.to_pylist() == [{"a": "x", "b": 4}]
    assert read_where(tmp_path / "a.parquet", []).equals(table)
    assert read_where(tmp_path / "a.parquet", [("a", "==", "z")]).schema == table.schema


def test_statistics_that_are_damaged(tmp_path: Path) -> None:
    """The type of a column in the footer of a file, once more beside its statistics, is one that there is not."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": ["x"]}), path, compression="none", use_dictionary=False)
    content = path.read_bytes()
    at = content.index(bytes.fromhex("26001c150c"))
    path.write_bytes(content[: at + 4] + b"\x7c" + content[at + 5 :])
    with contextlib.suppress(pa.ArrowException, OSError):
        assert read_where(path, [("a", "!=", "y")]).to_pylist() == [{"a": "x"}]


def test_the_latencies_behind_a_verdict(tmp_path: Path) -> None:
    (tmp_path / "latencies.parquet").write_bytes(b"PAR1 half a file")
    with pytest.raises(DataError, match=r"latencies\.parquet"):
        result = SimpleNamespace(table_file=lambda schema: tmp_path / f"{schema.name}.parquet", known={})
        _latency_between(cast("Any", result))
