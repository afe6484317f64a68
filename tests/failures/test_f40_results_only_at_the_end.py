"""F40: results written only at the end, so that a crash loses every finished case. See also tests/e2e/test_kill.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from bakeoff import registry
from bakeoff.benchmark.ann.compare_stores import AnnOptions, AnnOutcome, compare_stores
from bakeoff.benchmark.ann.record import save_record
from bakeoff.benchmark.ann.sweep import SweepPass
from bakeoff.benchmark.stores import StoreSpec
from bakeoff.benchmark.vectors.datasets import open_dataset
from bakeoff.runs.folder import RunFolder, read_record
from bakeoff.runs.run import run
from bakeoff.runtime.events import Event, SystemFinished
from bakeoff.storage.cache import Cache
from bakeoff.types import Hits


class Crash(BaseException):
    """The process goes down."""


def test_f40_each_system_is_durable_when_it_is_told(tiny: Path, ran: Any) -> None:
    durable: list[int] = []

    def crash_after_four(event: Event) -> None:
        if isinstance(event, SystemFinished):
            durable.append(len(list(Path("run/cells").glob("*/manifest.json"))))
            if event.done == 4:
                raise Crash

    with pytest.raises(Crash):
        run(tiny, out=Path("run"), emit=crash_after_four)
    assert durable == [1, 2, 3, 4]
    assert read_record(Path("run")).status == "running"
    keys = [path.parent.name for path in Path("run/cells").glob("*/manifest.json")]
    cells = [RunFolder(Path("run")).cell(key) for key in keys]
    rows = 14 * len(ran.result.record.measures)
    assert all(cell is not None and cell.scores.num_rows == rows for cell in cells)

    events: list[Event] = []
    result = run(tiny, out=Path("run"), emit=events.append)
    assert [e.resumed for e in events if isinstance(e, SystemFinished)] == [True] * 4 + [False] * 6
    assert result.scores.equals(ran.result.scores) and result.record.status == "done"


def test_f40_each_pass_of_a_comparison_of_stores_is_on_disk_when_it_ends(tmp_path: Path) -> None:
    passes = 0

    class Crashing(registry.load("stores", "exact")):
        """The process goes down in the third run, after warm-up."""

        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            if passes == 2:
                raise Crash
            return super().search(vector, k, query)

    def keep(known: AnnOutcome, one: SweepPass | None) -> None:
        nonlocal passes
        save_record(tmp_path, known, one)
        passes += one is not None

    with pytest.raises(Crash):
        compare_stores(
            open_dataset("synthetic:500x8", queries=40),
            [StoreSpec("it", "it", Crashing, Crashing.Params())],
            AnnOptions(runs=4),
            Cache(tmp_path / "cache"),
            save=keep,
            tell=lambda _: None,
        )
    assert pq.read_table(tmp_path / "passes.parquet")["run"].to_pylist() == [0, 1]
    samples = [pq.read_table(file).num_rows for file in sorted((tmp_path / "latencies").iterdir())]
    assert samples == [40, 40]
    assert json.loads((tmp_path / "record.json").read_text())["status"] == "partial"
