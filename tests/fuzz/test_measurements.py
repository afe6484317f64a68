"""Stored measurements of `ann`, `scale` and `load`, damaged: they are read, or refused in a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bakeoff.cache import Cache
from bakeoff.errors import DataError
from bakeoff.load.ann import Options, compare_stores
from bakeoff.load.datasets import open_dataset
from bakeoff.load.demand import Demand
from bakeoff.load.jobs import Job, Tools, run_load
from bakeoff.load.record import save
from bakeoff.load.scale_rows import FIGURES, SIZE, Row, read_rows, write_rows
from bakeoff.load.settings import candidates
from bakeoff.load.stored import open_load
from bakeoff.report.ann_data import read_ann, record_of
from bakeoff.report.ann_page import write_ann_page
from bakeoff.report.scale_page import write_scale_page
from bakeoff.stages.work import Workshop

ROWS = [
    Row(SIZE, "exact", "default", size, run, None, figure, size * 0.001)
    for figure in FIGURES
    for size in (100, 1000, 10_000)
    for run in range(2)
]
SCALE = {
    "format": 1, "kind": "scale", "status": "done", "stopped": "", "failed": {},
    "dataset": {"name": "made", "dims": 8, "metric": "l2", "queries": 50, "notes": []},
    "options": {"sizes": [100, 1000, 10_000], "runs": 2, "command": "bakeoff scale made", "target": None},
    "machine": {"cpu": "x"}, "versions": {"bakeoff": "1"},
}  # fmt: skip


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One folder of each command, measured now and as small as can be."""
    root = tmp_path_factory.mktemp("measured")
    folders = {name: root / name for name in ("ann", "scale", "load")}
    dataset = open_dataset("synthetic:200x4", queries=20)
    compare_stores(
        dataset, candidates(["exact"]), Options(runs=2), Cache(root / "cache"),
        save=lambda known, one: save(folders["ann"], known, one), tell=lambda _: None,
    )  # fmt: skip
    folders["scale"].mkdir()
    (folders["scale"] / "record.json").write_text(json.dumps(SCALE))
    (folders["scale"] / "rows.parquet").write_bytes(write_rows(ROWS))
    tools = Tools(Workshop(Cache(root / "cache")), lambda _: None, lambda _: None, lambda *_: ())
    job = Job(
        "synthetic:200x4", Demand(runs=1, seconds=0.001), stores="exact", queries=20, out=folders["load"]
    )
    run_load(job, tools)
    return folders


def page_of_scale(path: Path) -> object:
    """The page of a folder in which this file is damaged and its neighbour is not."""
    other = {"record.json": "rows.parquet", "rows.parquet": "record.json"}[path.name]
    whole = write_rows(ROWS) if other == "rows.parquet" else json.dumps(SCALE).encode()
    (path.parent / other).write_bytes(whole)
    return write_scale_page(path.parent)


def tables_of(path: Path) -> object:
    """A load's tables; the record beside them is whole."""
    (path.parent / "record.json").write_text('{"kind": "load", "format": 1}')
    read = open_load(path.parent)
    table = read.passes if path.name == "load_passes.parquet" else read.histograms
    return table.to_pylist()


READERS: dict[str, tuple[str, str, Callable[[Path], object]]] = {
    "record of ann": ("ann", "record.json", lambda path: write_ann_page(path.parent)),
    "record of scale": ("scale", "record.json", page_of_scale),
    "rows of scale": ("scale", "rows.parquet", page_of_scale),
    "passes of load": ("load", "load_passes.parquet", tables_of),
    "histograms of load": ("load", "load_histograms.parquet", tables_of),
}


@pytest.mark.parametrize("kind", READERS)
def test_damaged(kind: str, measured: dict[str, Path], feed_damaged: Callable[..., None]) -> None:
    command, name, read = READERS[kind]
    feed_damaged(name, read, (measured[command] / name).read_bytes())


@pytest.mark.parametrize("kind", READERS)
def test_no_such_file_at_all(kind: str, feed: Callable[..., None], nonsense: bytes) -> None:
    _, name, read = READERS[kind]
    feed(name, read, nonsense)


@pytest.mark.parametrize("kind", READERS)
def test_cut_off(kind: str, measured: dict[str, Path], tmp_path: Path) -> None:
    """Half of a file, as a full disk would leave it."""
    command, name, read = READERS[kind]
    whole = (measured[command] / name).read_bytes()
    for kept in (1, len(whole) // 2, len(whole) - 2):
        (tmp_path / name).write_bytes(whole[:kept])
        with pytest.raises(DataError, match=name.split(".")[0]):
            read(tmp_path / name)


def test_every_key_of_a_record_may_be_missing(measured: dict[str, Path], tmp_path: Path) -> None:
    record = json.loads((measured["ann"] / "record.json").read_text())
    for key in record:
        for wrong in ({**record, key: 7}, {name: value for name, value in record.items() if name != key}):
            (tmp_path / "record.json").write_text(json.dumps(wrong))
            try:
                read_ann(tmp_path)
            except DataError as exc:
                assert str(tmp_path) in str(exc)


def test_a_foreign_table_is_none_of_ours(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "rows.parquet")
    with pytest.raises(DataError, match="cannot be read as rows of `bakeoff scale`"):
        read_rows(tmp_path / "rows.parquet")
    with pytest.raises(DataError, match="is missing"):
        read_rows(tmp_path / "none.parquet")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "load_passes.parquet")
    with pytest.raises(DataError, match="cannot be read as a load"):
        tables_of(tmp_path / "load_passes.parquet")


def test_a_record_of_another_kind_or_format(tmp_path: Path) -> None:
    for text in ("[]", "3", '{"kind": "ann", "format": 2}', '{"kind": "run"}'):
        (tmp_path / "record.json").write_text(text)
        with pytest.raises(DataError, match="no record of `bakeoff ann`"):
            record_of(tmp_path, "ann")


def test_a_load_of_an_earlier_version_is_read(measured: dict[str, Path], tmp_path: Path) -> None:
    """Columns that came later are null."""
    table = pq.read_table(measured["load"] / "load_passes.parquet")
    old = table.drop_columns(["processes", "window_s", "window_answered"])
    pq.write_table(old, tmp_path / "load_passes.parquet")
    (tmp_path / "record.json").write_bytes((measured["load"] / "record.json").read_bytes())
    (row,) = open_load(tmp_path).passes.to_pylist()
    assert row["processes"] is None and row["answered"] == old["answered"][0].as_py()
    assert open_load(tmp_path).clients.num_rows == 0
