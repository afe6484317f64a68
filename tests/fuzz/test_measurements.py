"""Stored measurements that are whole files, but not what is expected."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fuzzed.measurements import measured

from bakeoff.benchmark.results.ann_results import read_ann
from bakeoff.benchmark.results.load_results import open_load
from bakeoff.benchmark.results.records import read_record
from bakeoff.benchmark.results.scale_results import read_rows
from bakeoff.errors import DataError


def test_every_key_of_a_record_may_be_missing(tmp_path: Path) -> None:
    record = json.loads((measured("ann") / "record.json").read_text())
    for key in record:
        for wrong in ({**record, key: 7}, {name: value for name, value in record.items() if name != key}):
            (tmp_path / "record.json").write_text(json.dumps(wrong))
            try:
                read_ann(tmp_path)
            except DataError as exc:
                assert str(tmp_path) in str(exc)


def test_a_foreign_table_is_none_of_ours(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "rows.parquet")
    with pytest.raises(DataError, match="`bakeoff scale`"):
        read_rows(tmp_path / "rows.parquet")
    with pytest.raises(DataError):
        read_rows(tmp_path / "none.parquet")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "load_passes.parquet")
    (tmp_path / "record.json").write_text('{"kind": "load", "format": 1}')
    with pytest.raises(DataError):
        open_load(tmp_path).passes.to_pylist()


def test_a_record_of_another_kind_or_format(tmp_path: Path) -> None:
    for text in ("[]", "3", '{"kind": "ann", "format": 2}', '{"kind": "run"}'):
        (tmp_path / "record.json").write_text(text)
        with pytest.raises(DataError, match=r"`bakeoff ann`.*1"):
            read_record(tmp_path, "ann")


def test_a_load_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    """Columns that came later are null."""
    table = pq.read_table(measured("load") / "load_passes.parquet")
    old = table.drop_columns(["processes", "window_s", "window_answered"])
    pq.write_table(old, tmp_path / "load_passes.parquet")
    (tmp_path / "record.json").write_bytes((measured("load") / "record.json").read_bytes())
    (row,) = open_load(tmp_path).passes.to_pylist()
    assert row["processes"] is None and row["answered"] == old["answered"][0].as_py()
    assert open_load(tmp_path).clients.num_rows == 0
