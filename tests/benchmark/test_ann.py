"""The whole comparison, on real stores and on ones that misbehave."""

from __future__ import annotations

import _thread
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from bakeoff.benchmark.ann.compare_stores import AnnOptions, AnnOutcome, compare_stores
from bakeoff.benchmark.ann.record import save_record, to_dict
from bakeoff.benchmark.ann.sweep import interleave_jobs
from bakeoff.benchmark.ann.verdict import ann_verdict
from bakeoff.benchmark.null_store import NoParams
from bakeoff.benchmark.stores import parse_store_specs
from bakeoff.benchmark.vectors.datasets import open_dataset
from bakeoff.cli import ann as ann_command
from bakeoff.cli import load as load_command
from bakeoff.errors import SettingError
from bakeoff.registry import load
from bakeoff.storage.cache import Cache
from bakeoff.types import Hits, Status

Register = Callable[[str, str, type], None]


def compared(
    tmp_path: Path, stores: list[str], options: AnnOptions, name: str = "synthetic:600x8", queries: int = 60
) -> AnnOutcome:
    return compare_stores(
        open_dataset(name, queries=queries),
        parse_store_specs(stores),
        options,
        Cache(tmp_path / "cache"),
        save=lambda outcome, one: save_record(tmp_path / "out", outcome, one),
        tell=lambda text: None,
    )


def exact_kind(change: Callable[[Any, Hits], Hits]) -> type:
    """An exact store whose answers are changed."""
    base = load("stores", "exact")

    class Changed(base):
        count = 0

        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            self.count += 1
            return change(self, super().search(vector, k, query))

    return Changed


def test_exact_is_perfect_and_everything_is_on_disk(tmp_path: Path) -> None:
    outcome = compared(tmp_path, ["exact"], AnnOptions(runs=2, threads=2))
    (point,) = outcome.points()
    assert (
        outcome.status is Status.DONE and point.knn.median == 1.0 and point.quality.r100 == pytest.approx(0.1)
    )
    record = json.loads((tmp_path / "out" / "record.json").read_text())
    assert record["points"][0]["kNN@10"]["across_runs"]["values"] == [1.0, 1.0]
    assert set(record["points"][0]["qps_measured"]) == {"1", "2"} and record["harness_us"]["1"] > 0
    rows = pq.read_table(tmp_path / "out" / "passes.parquet").to_pylist()
    assert len(rows) == 4 and {row["threads"] for row in rows} == {1, 2}
    assert pq.read_table(tmp_path / "out" / "latencies").num_rows == 120


def test_a_failing_store_does_not_stop_the_others(tmp_path: Path, register: Register) -> None:
    register("stores", "twice", exact_kind(lambda store, hits: Hits(hits.ids * 0, hits.scores)))
    outcome = compared(tmp_path, ["twice", "exact"], AnnOptions(runs=1))
    assert outcome.status is Status.FAILED and "row twice" in outcome.failed["twice"]
    assert [point.system for point in outcome.points()] == ["exact"]


def test_an_engine_that_raises_is_recorded(tmp_path: Path, register: Register) -> None:
    def broken(store: Any, hits: Hits) -> Hits:
        raise ZeroDivisionError if store.count < 0 else RuntimeError("segment lost")

    register("stores", "broken", exact_kind(broken))
    outcome = compared(tmp_path, ["broken", "exact"], AnnOptions(runs=1))
    assert outcome.failed == {"broken": "RuntimeError: segment lost"}


def test_short_answers_are_counted(tmp_path: Path, register: Register) -> None:
    register("stores", "short", exact_kind(lambda store, hits: Hits(hits.ids[:6], hits.scores[:6])))
    (point,) = compared(tmp_path, ["short"], AnnOptions(runs=1)).points()
    assert point.knn.median == pytest.approx(0.6) and point.quality.short == 60


def test_a_hanging_store_is_failed_and_left_behind(tmp_path: Path, register: Register, clock: Any) -> None:
    let_go, clock.tick = threading.Event(), 100_000

    def hang(store: Any, hits: Hits) -> Hits:
        if store.count > 80:
            clock.passes(400)
            let_go.wait(60)
        return hits

    register("stores", "hanging", exact_kind(hang))
    outcome = compared(tmp_path, ["hanging", "exact"], AnnOptions(runs=2, timeout=0.3))
    let_go.set()
    assert "0.3" in outcome.failed["hanging"]
    kept = {point.system: point for point in outcome.points()}
    assert kept["hanging"].runs == 1 and kept["hanging"].stopped and kept["exact"].runs == 2


def test_ctrl_c_keeps_the_finished_passes(tmp_path: Path, register: Register, watch: Any) -> None:
    def interrupted(store: Any, hits: Hits) -> Hits:
        if store.count == 260:
            _thread.interrupt_main()
            assert watch.halted.wait(60)
        return hits

    register("stores", "interrupted", exact_kind(interrupted))
    outcome = compared(tmp_path, ["interrupted"], AnnOptions(runs=50))
    assert outcome.status is Status.PARTIAL and "Ctrl-C" in outcome.stopped
    record = json.loads((tmp_path / "out" / "record.json").read_text())
    assert record["status"] == "partial" and 1 <= record["points"][0]["runs"] < 50
    assert record["verdict"].startswith("No verdict")


def test_target_recall_by_tuning(tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    outcome = compared(
        tmp_path,
        ["exact", "faiss:build.index=ivf"],
        AnnOptions(target=0.9, runs=3),
        "synthetic:4000x16,uniform",
        200,
    )
    tuned = outcome.tuned["faiss:build.index=ivf"]
    assert tuned.reached and tuned.value is not None and tuned.value > 1 and tuned.recall >= 0.9
    bounds = {value: bound for value, _, bound in tuned.tried}
    assert bounds[tuned.value] >= 0.9 > bounds.get(tuned.value - 1, 0)
    assert all(point.quality.queries == 100 for point in outcome.points())
    assert ann_verdict(outcome).startswith("At kNN@10 ≥ 0.9:")
    assert to_dict(outcome)["comparisons"]


def test_bad_options(tmp_path: Path) -> None:
    for wrong in ({"k": 0}, {"runs": 0}, {"threads": 0}, {"target": 1.5}, {"target": 0}, {"timeout": 0}):
        with pytest.raises(SettingError):
            AnnOptions(**wrong)
    with pytest.raises(SettingError, match="--k is 601"):
        compared(tmp_path, ["exact"], AnnOptions(k=601))
    with pytest.raises(SettingError, match=r"--threads.*61"):
        compared(tmp_path, ["exact"], AnnOptions(threads=61))
    with pytest.raises(SettingError):
        compared(tmp_path, ["exact"], AnnOptions(target=0.9), queries=10)


def test_order_takes_turns() -> None:
    assert interleave_jobs([(None,), (1, 2), ()], 0) == [(0, None), (1, 1), (1, 2)]
    assert interleave_jobs([(None,), (1, 2)], 1) == [(1, 1), (1, 2), (0, None)]
    assert interleave_jobs([], 3) == []


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer()
    ann_command.register(made)
    load_command.register(made)
    return made


def test_ann_on_the_command_line(home: Path, app: typer.Typer) -> None:
    done = CliRunner().invoke(
        app, ["ann", "synthetic:600x8", "--stores", "exact", "--queries", "50", "--out", "there"]
    )
    assert done.exit_code == 0, done.output
    assert "kNN@10" in done.output and "R100@10 (of 0.1)" in done.output and "null store" in done.output
    assert Path("there/record.json").is_file()


def test_ann_for_scripts(home: Path, app: typer.Typer) -> None:
    done = CliRunner().invoke(
        app, ["ann", "synthetic:600x8", "--stores", "exact", "--runs", "1", "--queries", "9", "--json"]
    )
    record = json.loads(done.stdout)
    latency = record["points"][0]["latency_across_queries"]["p99_ms"]
    assert latency["value"] is None and "needs 500" in latency["note"]
    assert Path(record["folder"]).name.startswith("ann-synthetic-600x8-")


def test_load_on_the_command_line(home: Path, app: typer.Typer, clock: Any) -> None:
    clock.tick = 100_000
    run, usual = CliRunner().invoke, ["load", "synthetic:600x8", "--store", "exact", "--runs", "1"]
    closed = run(app, [*usual, "--concurrency", "1,2", "--seconds", "0.1", "--out", "a"])
    assert closed.exit_code == 0 and "2 threads" in closed.output and "null store" in closed.output, (
        closed.output
    )
    opened = run(app, [*usual, "--rate", "200", "--seconds", "0.5", "--json", "--out", "b"])
    row = json.loads(opened.stdout)["points"][0]
    assert row["answered"] == 100 and row["reached"] and row["sent_late_ms"]
    assert json.loads(Path("b/record.json").read_text())["kind"] == "load"


@pytest.mark.parametrize(
    "words",
    [["--threads", "x"], ["--threads", "0"], ["--threads", "1", "--rate", "5"], ["--rate", "-1"], ["--arrivals", "monthly"],
     ["--find-max-rate", "--slo", "fast"], ["--setting", "5"], ["--threads", "60", "--queries", "50"], ["--metric", "hamming"],
     ["--end-to-end"], ["--systems", "dense"], ["--k", "0"], ["--k", "601"]],
)  # fmt: skip
def test_loads_that_cannot_be(home: Path, app: typer.Typer, words: list[str]) -> None:
    done = CliRunner().invoke(app, ["load", "synthetic:600x8", "--store", "exact", *words])
    assert isinstance(done.exception, SettingError)


def test_nothing_is_a_setting() -> None:
    assert NoParams().model_dump() == {}
