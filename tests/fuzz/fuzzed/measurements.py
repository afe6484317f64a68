"""Stored measurements of `ann`, `scale` and `load`."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

from bakeoff.benchmark.ann.compare_stores import AnnOptions, compare_stores
from bakeoff.benchmark.ann.record import save_record
from bakeoff.benchmark.load.load_systems import LoadDeps, LoadRequest, run_load
from bakeoff.benchmark.load_spec import LoadSpec
from bakeoff.benchmark.results.load_results import open_load
from bakeoff.benchmark.results.records import kind_of
from bakeoff.benchmark.results.scale_results import FIGURES, SIZE, ScaleRow, write_scale_rows
from bakeoff.benchmark.stores import parse_store_specs
from bakeoff.benchmark.vectors.datasets import open_dataset
from bakeoff.pipeline.context import StageContext
from bakeoff.report.pages.ann import write_ann_page
from bakeoff.report.pages.scale import write_scale_page
from bakeoff.storage.cache import Cache
from fuzzed.reader import Reader, beside, lying, scratch

ROWS = [
    ScaleRow(SIZE, "exact", "default", size, run, None, figure, size * 0.001)
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


@cache
def measured(command: str) -> Path:
    """The folder of a command, measured now and as small as can be."""
    folder, store = scratch() / command, Cache(scratch() / "cache")
    if command == "ann":
        dataset = open_dataset("synthetic:200x4", queries=20)
        compare_stores(
            dataset, parse_store_specs(["exact"]), AnnOptions(runs=2), store,
            save=lambda known, one: save_record(folder, known, one), tell=lambda _: None,
        )  # fmt: skip
    elif command == "scale":
        folder.mkdir()
        (folder / "record.json").write_text(json.dumps(SCALE))
        write_scale_rows(folder / "rows.parquet", ROWS)
    else:
        tools = LoadDeps(StageContext(store), lambda _: None, lambda _: None, lambda *_: ())
        demand = LoadSpec(runs=1, seconds=0.001)
        run_load(LoadRequest("synthetic:200x4", demand, stores="exact", queries=20, out=folder), tools)
    return folder


def stored(command: str, name: str, read: Callable[[Path], object]) -> Reader:
    """A file of a measured folder, whose neighbours are whole."""
    return Reader(
        f"{name} of {command}",
        name,
        lambda path: read(beside(measured(command), path)),
        lying(partial(measured, command), name),
    )


def ann_page(folder: Path) -> object:
    return kind_of(folder), write_ann_page(folder)


def tables(folder: Path) -> object:
    """All of a load that a page shows."""
    load = open_load(folder)
    return [
        table.to_pylist() for table in (load.passes, load.histograms, load.clients, load.client_histograms)
    ]


READERS = [
    stored("ann", "record.json", ann_page),
    stored("scale", "record.json", write_scale_page),
    stored("scale", "rows.parquet", write_scale_page),
    stored("load", "record.json", tables),
    stored("load", "load_passes.parquet", tables),
    stored("load", "load_histograms.parquet", tables),
]
