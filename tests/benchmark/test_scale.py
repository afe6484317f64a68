"""Growth over sizes: constructed stores with known figures, real ones, and input that cannot be."""

from __future__ import annotations

import json
import math
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from bakeoff.benchmark import run_in_subprocess
from bakeoff.benchmark.load.insert_while_search import Writer, insert_while_search
from bakeoff.benchmark.results.scale_results import (
    SIZE,
    ScaleRow,
    ScaleTable,
    concurrency_rows,
    filter_rows,
    mixed_rows,
    read_rows,
    size_rows,
    values,
    write_scale_rows,
)
from bakeoff.benchmark.run_in_subprocess import run_isolated
from bakeoff.benchmark.scale.measure_size import ScaleJob, run_job
from bakeoff.benchmark.scale.measure_sizes import (
    ScaleOutcome,
    check_sizes,
    measure_scale,
    needed_bytes,
)
from bakeoff.benchmark.scale.session import ScaleOptions, default_sizes
from bakeoff.benchmark.stores import parse_store_specs
from bakeoff.benchmark.vectors.datasets import open_dataset
from bakeoff.benchmark.vectors.filtered_search import (
    FIELD,
    buckets,
    fill_store,
    filter_of,
    search_filtered,
    truth_where,
)
from bakeoff.cli.app import app
from bakeoff.errors import SettingError, StoreError, UserError
from bakeoff.registry import load
from bakeoff.report.pages.scale import write_scale_page
from bakeoff.storage.cache import Cache
from bakeoff.types import Batch, Hits, Status

KINDS = ("size", "threads", "filter", "mixed")
Register = Callable[[str, str, type], None]


def scaled(
    tmp_path: Path,
    stores: str,
    options: ScaleOptions,
    measure: Callable[[ScaleJob], list[ScaleRow]] = run_job,
) -> ScaleOutcome:
    return measure_scale(
        open_dataset("synthetic:2000x8", queries=100),
        parse_store_specs(stores.split(",")),
        options,
        Cache(tmp_path / "cache"),
        measure=measure,
        folder=tmp_path / "out",
        tell=lambda text: None,
    )


def constructed(job: ScaleJob) -> list[ScaleRow]:
    """Figures that grow as told: build with exponent 1.5, latency with 0.25."""
    made = {
        "build_s": 1e-4 * job.size**1.5,
        "build_cpu_s": 1e-4 * job.size,
        "p50_ms": 2 * job.size**0.25,
        "memory_mb": 7.0,
        "disk_mb": None,
    }
    return [
        ScaleRow(SIZE, job.spec, "default", job.size, job.run, None, name, value)
        for name, value in made.items()
    ]


def test_known_growth_is_found_and_on_the_page(tmp_path: Path) -> None:
    outcome = scaled(tmp_path, "exact", ScaleOptions((100, 500, 2000), runs=2), constructed)
    fits = outcome.fits()
    assert fits["exact", "build_s"].exponent == pytest.approx(1.5)
    assert fits["exact", "p50_ms"].exponent == pytest.approx(0.25)
    assert fits["exact", "memory_mb"].exponent == pytest.approx(0, abs=1e-9)
    assert fits["exact", "disk_mb"].exponent is None
    record = json.loads((tmp_path / "out" / "record.json").read_text())
    assert record["kind"] == "scale" and record["status"] == "done" and len(record["fits"]) == 5
    page = write_scale_page(tmp_path / "out").read_text()
    assert "rows^1.50" in page and "[1.50" in page and "1.50]" in page and "rows^0.25" in page
    assert "<script src" not in page and "http" not in page.split("</title>")[1].replace("http-equiv", "")


def test_rows_come_back_as_written(tmp_path: Path) -> None:
    rows = [
        ScaleRow("size", "a", "ef=1", 10, 0, None, "qps", 1.5),
        ScaleRow("filter", "b", "", 10, 1, 0.5, "knn", None, "why"),
    ]
    write_scale_rows(tmp_path / "rows.parquet", rows)
    assert list(read_rows(tmp_path / "rows.parquet")) == rows
    write_scale_rows(tmp_path / "none.parquet", [])
    assert read_rows(tmp_path / "none.parquet") == ()


def test_a_real_store_with_threads_and_a_target(tmp_path: Path) -> None:
    outcome = scaled(tmp_path, "exact", ScaleOptions((100, 2000), runs=1, threads=(1, 2), target=0.9))
    assert outcome.status is Status.DONE
    assert [value for _, _, value in values(outcome.rows, SIZE, "exact", "knn")] == [1.0, 1.0]
    assert [at for _, at, _ in values(outcome.rows, "threads", "exact", "qps")] == [1, 2, 1, 2]
    disk = [row for row in outcome.rows if row.figure == "disk_mb"]
    assert disk[0].value is None and "nothing on disk" in disk[0].note


@pytest.mark.parametrize("table", [size_rows, concurrency_rows, filter_rows, mixed_rows])
def test_tables_have_a_cell_for_every_header(table: Callable[[list[ScaleRow]], ScaleTable]) -> None:
    rows = [ScaleRow(kind, "a", "", 10, run, 0.5, "qps", 1.0 + run) for kind in KINDS for run in (0, 1, 5)]
    found = table(rows)
    assert [len(row) for row in found.rows] == [len(found.headers)]
    assert "2" in found.rows[0] or table is mixed_rows


def test_a_target_that_is_not_reached_is_said(tmp_path: Path, register: Register) -> None:
    base: Any = load("stores", "exact")

    class Half(base):
        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            found = super().search(vector, k, query)
            return Hits(found.ids[: k // 2], found.scores[: k // 2])

    register("stores", "half", Half)
    outcome = scaled(tmp_path, "half", ScaleOptions((200,), runs=1, target=0.9))
    (row,) = [row for row in outcome.rows if row.figure == "knn"]
    assert row.value == pytest.approx(0.5)
    assert "0.5000, below 0.9" in row.note
    assert any(row.note in note for note in size_rows(outcome.rows).notes)


def test_a_store_that_fails_is_not_tried_again(tmp_path: Path) -> None:
    tried: list[tuple[str, int]] = []

    def measure(job: ScaleJob) -> list[ScaleRow]:
        tried.append((job.spec, job.size))
        if job.spec == "faiss" and job.size == 500:
            raise StoreError("it broke.")
        return constructed(job)

    outcome = scaled(tmp_path, "exact,faiss", ScaleOptions((100, 500, 2000), runs=1), measure)
    assert outcome.failed == {"faiss": "at 500 rows: it broke."} and outcome.status is Status.FAILED
    assert ("faiss", 2000) not in tried and ("exact", 2000) in tried


def test_ctrl_c_keeps_what_was_measured(tmp_path: Path) -> None:
    def measure(job: ScaleJob) -> list[ScaleRow]:
        if job.size == 500:
            raise KeyboardInterrupt
        return constructed(job)

    outcome = scaled(tmp_path, "exact", ScaleOptions((100, 500), runs=1), measure)
    assert outcome.status is Status.PARTIAL and "Ctrl-C" in outcome.stopped
    assert len(read_rows(tmp_path / "out" / "rows.parquet")) == 5


@pytest.mark.slow
def test_a_process_of_its_own() -> None:
    """Functions that any process can import; a test module is not one of them."""
    assert run_isolated(math.factorial, 4) == 24
    with pytest.raises(StoreError, match="ValueError: invalid literal"):
        run_isolated(int, "three")
    with pytest.raises(StoreError, match="SIGABRT"):
        run_isolated(signal.raise_signal, signal.SIGABRT)


def test_sizes_that_cannot_be() -> None:
    data = open_dataset("synthetic:2000x8", queries=10)
    for wrong in (
        {"sizes": ()}, {"sizes": (500, 100)}, {"sizes": (5,)}, {"sizes": (100,), "runs": 0}, {"sizes": (100,), "filters": (1.5,)},
        {"sizes": (100,), "insert_rate": 0.0}, {"sizes": (100,), "threads": (0,)}, {"sizes": (100,), "target": 2.0},
    ):  # fmt: skip
        with pytest.raises(SettingError):
            ScaleOptions(**wrong)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="3,000"):
        check_sizes(data, ScaleOptions((100, 3000)))
    with pytest.raises(SettingError):
        check_sizes(data, ScaleOptions((100,), threads=(11,)))
    needed = needed_bytes(2000, 8)
    with pytest.raises(SettingError, match=rf"take about {needed / 1e9:.2f} GB .* budget is 0.10 GB"):
        check_sizes(data, ScaleOptions((2000,), budget=10**8))
    check_sizes(data, ScaleOptions((2000,), budget=needed))


def test_default_sizes_grow_to_the_dataset() -> None:
    assert default_sizes(1_000_000) == (1000, 10_000, 100_000, 1_000_000)
    assert default_sizes(1000) == (100, 1000) and default_sizes(60) == (60,)


def test_filters_against_brute_force(tmp_path: Path) -> None:
    data = open_dataset("synthetic:1500x8", queries=30)
    field = buckets(1500, 7)
    for share in (0.01, 0.2, 1.0):
        truth = truth_where(data, field, share, 5)
        allowed = np.flatnonzero(field < share * 10_000)
        near = ((data.queries[:, None, :].astype(float) - data.base[allowed][None]) ** 2).sum(axis=2)
        assert (truth.ids == allowed[np.argsort(near, axis=1)[:, :5]]).all()
    (candidate,) = parse_store_specs(["exact"])
    store, _ = fill_store(candidate, data, field, tmp_path / "index")
    found = search_filtered(store, candidate.query(None), data, field, 0.2, 5, 60.0)
    assert found["knn"] == 1.0 and found["matching"] == int((field < 2000).sum()) and found["short"] == 0
    few = search_filtered(store, candidate.query(None), data, field, 0.001, 5, 60.0)
    assert few["matching"] < 5 and few["knn"] == 1.0


def test_a_store_that_ignores_the_filter_is_found_out(tmp_path: Path, register: Register) -> None:
    base: Any = load("stores", "exact")

    class Careless(base):
        def search_where(self, vector: np.ndarray, k: int, query: Any, where: Any) -> Hits:
            return self.search(vector, k, query)

    register("stores", "careless", Careless)
    data, field = open_dataset("synthetic:500x8", queries=20), buckets(500, 7)
    (candidate,) = parse_store_specs(["careless"])
    store, _ = fill_store(candidate, data, field, tmp_path / "index")
    with pytest.raises(StoreError):
        search_filtered(store, candidate.query(None), data, field, 0.1, 5, 60.0)


def test_the_filter_lets_its_share_through() -> None:
    field = buckets(100_000, 3)
    (condition,) = filter_of(0.1)
    assert condition.field == FIELD.name and condition.most == 999
    assert (field <= 999).mean() == pytest.approx(0.1, abs=0.005)


class Slow:
    """Takes its time for each insert."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.ids = seconds, []  # type: ignore[var-annotated]

    def insert(self, batch: Batch) -> None:
        time.sleep(self.seconds)
        self.ids += batch.ids.tolist()


def test_the_writer_keeps_its_rate_and_says_when_it_cannot() -> None:
    rows = np.zeros((40, 2), np.float32)
    quick, slow = Slow(0), Slow(0.1)
    for store in (quick, slow):
        writer = Writer(store, 100, rows, rate=200)
        writer.start()
        writer.join(60)
        assert store.ids == list(range(100, 140)) and writer.written == 40 and not writer.busy
        assert (writer.seconds >= 0.19) if store is slow else (writer.seconds >= 0.09)


def test_insert_while_search_sees_new_rows(tmp_path: Path, register: Register) -> None:
    base: Any = load("stores", "exact")

    class Blind(base):
        """Answers without rows that came after it was ready."""

        limit: int | None = None

        def ready(self) -> None:
            super().ready()
            self.limit = 400 if self.limit is None else self.limit

        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            found = super().search(vector, k, query)
            keep = found.ids < 400
            return Hits(found.ids[keep], found.scores[keep])

    register("stores", "blind", Blind)
    data = open_dataset("synthetic:500x8", queries=30)
    how: dict[str, Any] = {"k": 5, "rate": 500.0, "seconds": 0.2, "timeout": 60.0}
    for name, visible in (("exact", 1.0), ("blind", 0.0)):
        (candidate,) = parse_store_specs([name])
        found = insert_while_search(candidate, data, tmp_path / name, **how)
        assert found.written == 100 and found.visible == visible and found.kept == 1.0 and not found.errors
        assert dict(found.alone)["p50_ms"] and dict(found.during)["p50_ms"]
    opened = insert_while_search(
        parse_store_specs(["exact"])[0], data, tmp_path / "open", **how, search_rate=300.0
    )
    assert dict(opened.during)["p50_ms"]


def test_on_the_command_line(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Measured in this process; `test_a_process_of_its_own` has the other one."""
    monkeypatch.setattr(run_in_subprocess, "run_isolated", lambda work, job: work(job))
    done = CliRunner().invoke(
        app,
        ["scale", "synthetic:600x8", "--sizes", "100,300,600", "--stores", "exact", "--runs", "1", "--queries", "50",
         "--filters", "0.5", "--out", "there"],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "rows^exponent" in done.output and "Under filters" in done.output
    assert Path("there/page.html").is_file() and Path("there/rows.parquet").is_file()
    again = CliRunner().invoke(app, ["page", "there"])
    assert again.exit_code == 0 and "page.html" in again.output


@pytest.mark.parametrize(
    "words",
    [["--sizes", "a"], ["--sizes", "10,5"], ["--sizes", "9999"], ["--filters", "x"], ["--filters", "2"], ["--memory", "0.001"],
     ["--concurrency", "0"], ["--insert-while-search", "-1"], ["--stores", "tantivy"], ["--metric", "hamming"]],
)  # fmt: skip
def test_what_cannot_be_measured(home: Path, words: list[str]) -> None:
    done = CliRunner().invoke(app, ["scale", "synthetic:600x8", "--stores", "exact", *words])
    assert isinstance(done.exception, UserError)


def test_a_page_of_nothing(home: Path) -> None:
    assert isinstance(CliRunner().invoke(app, ["page", "nowhere"]).exception, UserError)


def test_a_job_is_data() -> None:
    job = ScaleJob("size", "exact", 10, 0, Path(), open_dataset("synthetic:20x2").metric, ScaleOptions((10,)))
    assert replace(job, kind="mixed").kind == "mixed"
