from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bakeoff.errors import DataError
from bakeoff.pipeline.system_tables import CELL
from bakeoff.runs.folder import QUERIES, RunFolder, read_record, read_table
from bakeoff.runs.record import RunRecord
from bakeoff.storage.schemas import SCORES, Schema


@pytest.fixture
def copied(ran: Any, tmp_path: Path) -> Path:
    """A copy of the finished run that a test may damage."""
    return Path(shutil.copytree(ran.result.path, tmp_path / "run"))


def value(kind: str, row: int) -> object:
    """A value of a column type that would show a change of type."""
    known = {"bool": bool(row % 2), "double": row / 3, "string": f"ß{row}", "large_string": f"字{row}\n"}
    return known.get(kind, 100 + row)


def made(schema: Schema) -> pa.Table:
    columns = {name: [value(kind, row) for row in range(3)] + [None] for name, kind in schema.columns}
    return schema.table(columns)


@pytest.mark.parametrize("schema", [*CELL, QUERIES], ids=lambda schema: schema.name)
def test_every_table_comes_back_as_it_was(tmp_path: Path, schema: Schema) -> None:
    folder = RunFolder(tmp_path)
    folder.table(schema, [made(schema), made(schema)])
    back = read_table(tmp_path, schema)
    assert back.schema.equals(schema.arrow())
    assert back.to_pylist() == [*made(schema).to_pylist(), *made(schema).to_pylist()]


@pytest.mark.parametrize("schema", [*CELL, QUERIES], ids=lambda schema: schema.name)
def test_a_table_of_nothing_keeps_its_types(tmp_path: Path, schema: Schema) -> None:
    RunFolder(tmp_path).table(schema, [])
    assert read_table(tmp_path, schema).schema.equals(schema.arrow())


def test_the_record_comes_back_as_it_was(ran: Any, tmp_path: Path) -> None:
    RunFolder(tmp_path).record(ran.result.record)
    assert read_record(tmp_path) == ran.result.record
    assert isinstance(ran.result.record, RunRecord) and ran.result.record.corpus.documents == 7


def test_a_cell_comes_back_as_it_was(ran: Any, tmp_path: Path) -> None:
    source = RunFolder(ran.result.path)
    keys = [path.name for path in (ran.result.path / "cells").iterdir() if path.name != ".aside"]
    assert len(keys) == 10
    for key in keys[:2]:
        cell = source.cell(key)
        assert cell is not None
        RunFolder(tmp_path).keep(key, cell)
        again = RunFolder(tmp_path).cell(key)
        assert again is not None
        for schema in CELL:
            assert getattr(again, schema.name).equals(getattr(cell, schema.name))


def test_a_cell_that_is_not_there_or_damaged_is_none(ran: Any, copied: Path) -> None:
    folder = RunFolder(copied)
    assert folder.cell("f" * 32) is None
    key = next(path.name for path in (copied / "cells").iterdir() if path.name != ".aside")
    cell = folder.cell(key)
    (copied / "cells" / key / "rankings.parquet").write_bytes(b"")
    assert folder.cell(key) is None
    folder.keep(key, cell)
    assert folder.cell(key) is not None


@pytest.mark.parametrize("damage", [b"", b"PAR1 rubbish PAR1", None])
def test_a_damaged_table_is_a_data_error(copied: Path, damage: bytes | None) -> None:
    path = copied / "scores.parquet"
    path.write_bytes(path.read_bytes()[:-20] if damage is None else damage)
    with pytest.raises(DataError, match=r"scores\.parquet"):
        read_table(copied, SCORES)


def test_a_missing_table_is_a_data_error(copied: Path) -> None:
    (copied / "scores.parquet").unlink()
    with pytest.raises(DataError, match=r"scores\.parquet"):
        read_table(copied, SCORES)


def test_other_columns_are_refused(copied: Path) -> None:
    pq.write_table(pa.table({"system": ["a"], "score": [1.0]}), copied / "scores.parquet")
    with pytest.raises(DataError, match=r"\['system'.*'score'.*\['run'"):
        read_table(copied, SCORES)


def test_a_column_of_another_type_is_refused(copied: Path) -> None:
    table = read_table(copied, SCORES)
    at = table.schema.get_field_index("value")
    words = pa.array(["high"] * table.num_rows)
    pq.write_table(table.set_column(at, "value", words), copied / "scores.parquet")
    with pytest.raises(DataError, match=r"scores\.parquet"):
        read_table(copied, SCORES)


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_another_schema_version_is_refused(copied: Path, version: object) -> None:
    path = copied / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema_version": version}))
    with pytest.raises(DataError, match=rf"schema version {version!r}; .* 1"):
        read_record(copied)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ("[]", "schema version None"),
        ('{"schema_version": 1}', "does not fit the result schema"),
        ("\xff", "is not JSON"),
    ],
)
def test_a_record_that_is_none(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "run.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=said):
        read_record(tmp_path)


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"run\.json"):
        read_record(tmp_path)


def test_a_new_key_in_the_record_is_refused(copied: Path) -> None:
    path = copied / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "surprise": 1}))
    with pytest.raises(DataError, match="surprise"):
        read_record(copied)
