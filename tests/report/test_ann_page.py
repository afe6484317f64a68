"""The page of `bakeoff ann`: its fronts against brute force, what it says, and that it needs nothing else."""

from __future__ import annotations

import csv
import io
import itertools
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from bakeoff.benchmark.ann.compare_stores import AnnOptions, compare_stores
from bakeoff.benchmark.ann.record import save_record
from bakeoff.benchmark.results.ann_results import read_ann
from bakeoff.benchmark.stores import parse_store_specs
from bakeoff.benchmark.vectors.datasets import open_dataset
from bakeoff.errors import DataError, SettingError
from bakeoff.report.exports.ir_formats import export_preset as export_run
from bakeoff.report.pages.ann import at_target, write_ann_page
from bakeoff.report.render.number_text import score
from bakeoff.report.sections.parts import Axis, front
from bakeoff.storage.cache import Cache


def test_the_front_against_every_pair() -> None:
    random = np.random.default_rng(4)
    for up, right in itertools.product((True, False), repeat=2):
        values = [(float(a), float(b)) for a, b in random.integers(0, 6, (25, 2))]
        found = front(values, Axis("x", score, False, right), Axis("y", score, False, up))
        for (a, b), on in zip(values, found, strict=True):
            better = [
                (c, d)
                for c, d in values
                if (c >= a if right else c <= a) and (d >= b if up else d <= b) and (c, d) != (a, b)
            ]
            assert on == (not better)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("faiss")
    folder = tmp_path_factory.mktemp("ann")
    compare_stores(
        open_dataset("synthetic:800x8,uniform", queries=120),
        parse_store_specs(["exact", "faiss:build.index=ivf"]),
        AnnOptions(target=0.9, sweep=True, runs=1, command="bakeoff ann x --sweep"),
        Cache(folder / "cache"),
        save=lambda outcome, one: save_record(folder / "out", outcome, one),
        tell=lambda text: None,
    )
    return folder / "out"


@pytest.fixture
def folder(measured: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    copy = Path(shutil.copytree(measured, tmp_path / "copy"))
    record = json.loads((copy / "record.json").read_text())
    for number, store in enumerate(
        record["stores"]
    ):  # what this process has freed before decides how it grows
        store["memory"] = {"mb": 5.0 + number, "note": ""}
    (copy / "record.json").write_text(json.dumps(record))
    write_ann_page(copy)
    return copy


def test_the_page_says_what_the_record_says(folder: Path) -> None:
    data, page = read_ann(folder), (folder / "page.html").read_text()
    record = json.loads((folder / "record.json").read_text())
    assert record["verdict"] in page and "bakeoff ann x --sweep" in page
    assert len(data.points) == len(record["points"]) and len(at_target(data)) == 2
    assert {point.setting for point in at_target(data)} == {store["setting"] for store in _tuned(record)}
    assert page.count('<svg class="figure"') == 4 and "recall and memory" in page
    assert "default-src 'none'" in page and "src=" not in page.replace("script-src", "")
    again = write_ann_page(folder).read_text()
    assert again == page


def _tuned(record: dict) -> list[dict]:  # type: ignore[type-arg]
    return [
        {"setting": "default" if store["tuned"]["value"] is None else f"probes={store['tuned']['value']}"}
        for store in record["stores"]
    ]


def test_text_from_outside_is_escaped(folder: Path) -> None:
    record = json.loads((folder / "record.json").read_text())
    record["dataset"]["notes"] = ["<script>alert(1)</script>"]
    (folder / "record.json").write_text(json.dumps(record))
    assert "<script>alert" not in write_ann_page(folder).read_text()


def test_a_failed_and_partial_record_has_a_page(folder: Path) -> None:
    record = json.loads((folder / "record.json").read_text())
    record |= {"status": "partial", "points": [], "comparisons": [], "failed": {"exact": "gone"}}
    (folder / "record.json").write_text(json.dumps(record))
    assert "exact failed: gone" in write_ann_page(folder).read_text()


def test_a_folder_without_a_record_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        read_ann(tmp_path)
    (tmp_path / "record.json").write_text('{"kind": "load", "format": 1}')
    with pytest.raises(DataError, match=r"`bakeoff ann`.*1"):
        read_ann(tmp_path)


def test_the_export_of_the_ann_preset_follows_from_the_record(folder: Path) -> None:
    """S1's table by either of its names; another system's files are not written of it."""
    record = json.loads((folder / "record.json").read_text())
    for name in ("ann", "s1"):
        files = export_run(folder, name)
        rows = list(csv.DictReader(io.StringIO(files.contents["ann_results.csv"].decode())))
        assert len(rows) == len(record["points"]) and not files.notes
        for row, point in zip(rows, record["points"], strict=True):
            assert row["system"] == f"{point['system']} {point['setting']}"
            assert float(row["kNN@10"]) == point["kNN@10"]["across_runs"]["median"]
            assert float(row["R100@10"]) == pytest.approx(float(row["P@10"]) * 10 / 100) == point["R100@10"]
            assert float(row["MRR"]) == point["MRR@10"]
            assert float(row["p50 ms"]) == point["latency_across_queries"]["p50_ms"]["value"]
    with pytest.raises(SettingError, match="--preset"):
        export_run(folder, "vectordb")


def test_the_export_of_another_k_has_no_figures_at_ten(folder: Path) -> None:
    record = json.loads((folder / "record.json").read_text())
    record["options"]["k"] = 5
    for point in record["points"]:
        for name in ("kNN", "R100", "P", "MRR"):
            point[f"{name}@5"] = point[f"{name}@10"]
    (folder / "record.json").write_text(json.dumps(record))
    files = export_run(folder, "ann")
    (first, *_) = csv.DictReader(io.StringIO(files.contents["ann_results.csv"].decode()))
    assert first["kNN@10"] == "" and float(first["p50 ms"]) > 0
    assert len(files.notes) == 1 and "--k 10" in files.notes[0]
