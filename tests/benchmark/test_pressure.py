"""bakeoff load on runs, experiments and datasets: figures of stores whose behaviour is known, and bad input."""

from __future__ import annotations

import _thread
import itertools
import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from bakeoff import registry
from bakeoff.benchmark.load.load_systems import LoadDeps, LoadOutcome, LoadRequest, run_load
from bakeoff.benchmark.load_spec import LoadSpec, LoadStep, parse_loads
from bakeoff.benchmark.open_loop import open_loop
from bakeoff.benchmark.resources.usage import Meter
from bakeoff.benchmark.results.load_results import all_loads, open_load
from bakeoff.benchmark.results.speeds import drift_note, instability_note
from bakeoff.errors import DataError, SettingError, StoreError
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.loops.client_threads import HUNG
from bakeoff.pipeline.loops.closed_loop import closed_loop
from bakeoff.pipeline.loops.loop_times import BACKWARDS
from bakeoff.runs.run import run
from bakeoff.storage.cache import Cache
from bakeoff.types import Hits, Status

EXACT = registry.load("stores", "exact")
MILLISECONDS = 4.0


@pytest.fixture
def slow(register: Any, clock: Any, watch: Any) -> None:
    """A store `slow`: nine of ten found, the eleventh neighbour for the tenth, and four milliseconds a search.

    Time passes in no time, so a thousandth search waits until the loop's limit is noticed.
    """
    numbers = itertools.count(1)

    class Slow(EXACT):
        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            found = super().search(vector, k + 1, query)
            clock.passes(MILLISECONDS)
            if next(numbers) > 1000:
                assert watch.halted.wait(60)
            keep = [*range(k - 1), k]
            return Hits(found.ids[keep], found.scores[keep])

    register("stores", "slow", Slow)


def loaded(tmp_path: Path, what: str, demand: LoadSpec, **more: Any) -> LoadOutcome:
    tools = LoadDeps(
        StageContext(Cache(tmp_path / "cache")), lambda _: None, lambda _: None, lambda store, params: ()
    )
    return run_load(LoadRequest(what, demand, out=tmp_path / "out", **more), tools)


@pytest.mark.parametrize("clients", [1, 2])
def test_constructed_recall_and_latency(tmp_path: Path, slow: None, clients: int) -> None:
    demand = LoadSpec(concurrency=(clients,), runs=3, seconds=0.3)
    done = loaded(tmp_path, "synthetic:400x8", demand, stores="slow", queries=60)
    (point,) = done.found.points()
    assert done.found.status is Status.DONE and point.runs == 3 and point.sent == point.answered >= 180
    assert point.quality.values == (0.9, 0.9, 0.9) and point.quality.sd == 0
    assert point.percentile(50) >= MILLISECONDS and point.mean_ms.median >= MILLISECONDS
    assert point.qps.median <= clients * 1000 / MILLISECONDS
    assert point.errors == point.timeouts == point.unsent == point.short == 0 and not point.harness_over_limit


def test_what_is_stored_is_what_was_measured(tmp_path: Path) -> None:
    done = loaded(tmp_path, "synthetic:400x8", LoadSpec(runs=2, seconds=0.05), stores="exact", queries=50)
    read = open_load(tmp_path / "out")
    rows = read.passes.to_pylist()
    assert (
        [row["run"] for row in rows] == [0, 1] and rows[0]["load"] == "1 thread" and rows[0]["rate"] is None
    )
    (point,) = done.found.points()
    whole = read.histogram("exact", "1 thread")
    assert whole.count == point.answered == sum(row["answered"] for row in rows)
    assert read.histogram("exact", "1 thread", run=1).count == rows[1]["answered"]
    assert whole.percentile(50) / 1e6 == pytest.approx(point.percentile(50))
    record = read.record["points"][0]
    assert set(record["avg_latency_ms"]) == {"median", "std", "iqr"} and record["runs"] == 2
    across = record["latency_ms"]["mean"]["across_runs"]
    assert across["ddof"] == 1 and across["values"] == [row["mean_ms"] for row in rows]
    assert across["std"] == pytest.approx(float(np.std(across["values"], ddof=1)))
    assert read.record["harness_us"]["1 thread"] > 0 and read.record["systems"][0]["first_query_ms"] > 0
    if not psutil.Process().children():  # an engine that another test left running counts as a server
        assert read.record["systems"][0]["ingestion"]["resources"]["server"]["avg_cpu_percent"] is None


def test_one_run_has_no_standard_deviation(tmp_path: Path) -> None:
    loaded(tmp_path, "synthetic:400x8", LoadSpec(runs=1, seconds=0.02), stores="exact", queries=50)
    assert open_load(tmp_path / "out").record["points"][0]["avg_latency_ms"]["std"] is None


def test_rates_of_which_one_is_beyond_reach(tmp_path: Path, slow: None) -> None:
    demand = LoadSpec(rates=(20.0, 4000.0), runs=1, seconds=0.5, workers=1, timeout=0.4)
    done = loaded(tmp_path, "synthetic:400x8", demand, stores="slow", queries=20)
    held, missed = done.found.points()
    assert held.reached and held.answered == 10 and missed.reached is False and missed.unsent > 0
    assert missed.sent + missed.unsent == 2000 and missed.percentile(99) is None
    assert any("not reached" in note for note in missed.notes)
    assert "4,000/s" in json.loads((tmp_path / "out/record.json").read_text())["sentence"]
    assert open_load(tmp_path / "out").histogram("slow", "4,000/s").missing == 2000 - missed.answered


def test_errors_are_counted_and_stay_in_the_percentiles(tmp_path: Path, register: Any) -> None:
    class Tired(EXACT):
        count = 0

        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            self.count += 1
            if self.count % 4 == 0:
                raise StoreError("the engine is tired.")
            return super().search(vector, k, query)

    register("stores", "tired", Tired)
    demand = LoadSpec(runs=1, seconds=0.5)
    found = loaded(tmp_path, "synthetic:400x8", demand, stores="tired", queries=100).found
    (point,) = found.points()
    assert not found.failed
    assert (
        point.errors in (point.sent // 4, point.sent // 4 + 1) and point.answered == point.sent - point.errors
    )
    assert point.percentile(50) is not None and point.percentile(90) is None
    assert any(f"{point.errors} errors" in note and "the engine is tired." in note for note in point.notes)


def test_short_answers_are_counted(tmp_path: Path, register: Any) -> None:
    class Short(EXACT):
        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            return super().search(vector, k - 3, query)

    register("stores", "short", Short)
    demand = LoadSpec(runs=1, seconds=0.001)
    (point,) = loaded(tmp_path, "synthetic:400x8", demand, stores="short", queries=50).found.points()
    assert point.short == point.answered and point.quality.median == pytest.approx(0.7)


def test_a_store_that_hangs_fails_and_the_others_go_on(tmp_path: Path, register: Any, clock: Any) -> None:
    let_go, clock.tick = threading.Event(), 100_000

    class Hanging(EXACT):
        count = 0

        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            self.count += 1
            if self.count > 80:
                clock.passes(400)
                let_go.wait(60)
            return super().search(vector, k, query)

    register("stores", "hanging", Hanging)
    demand = LoadSpec(runs=2, seconds=0.05, timeout=0.3)
    done = loaded(tmp_path, "synthetic:400x8", demand, stores="hanging,exact", queries=60)
    let_go.set()
    assert done.found.status is Status.FAILED and HUNG in done.found.failed["hanging"]
    hung, other = done.found.points()
    assert hung.timeouts == 1 and hung.answered == 29 and other.runs == 2
    assert hung.sent == 30


def test_ctrl_c_keeps_what_was_measured(tmp_path: Path, register: Any, watch: Any) -> None:
    class Interrupted(EXACT):
        count = 0

        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            self.count += 1
            if self.count == 400:
                _thread.interrupt_main()
                assert watch.halted.wait(60)
            return super().search(vector, k, query)

    register("stores", "interrupted", Interrupted)
    demand = LoadSpec(runs=40, seconds=0.05)
    done = loaded(tmp_path, "synthetic:400x8", demand, stores="interrupted", queries=50)
    assert done.found.status is Status.PARTIAL and "Ctrl-C" in done.found.stopped
    read = open_load(tmp_path / "out")
    assert read.record["status"] == "partial" and 1 <= read.passes.num_rows < 40


@pytest.mark.parametrize("kind", ["closed", "open"])
def test_a_clock_that_goes_backwards_is_noticed(clock: Any, kind: str) -> None:
    def search(vector: np.ndarray, k: int, query: Any) -> Hits:
        clock.passes(-900 if vector[0] == 7 else 1)
        return Hits(np.arange(1), np.zeros(1))

    asked = np.arange(20, dtype=np.float32).reshape(-1, 1)
    if kind == "closed":
        loop = closed_loop(search, asked, 1, None)
        assert loop.stopped == BACKWARDS and len(loop.done) == 19 and (loop.done >= 0).all()
    else:
        opened = open_loop(search, asked, 1, None, rate=2000, seconds=0.01, workers=1, arrivals="fixed")
        assert opened.stopped == BACKWARDS and not opened.reached


@pytest.mark.slow
def test_client_processes(tmp_path: Path) -> None:
    demand = LoadSpec(concurrency=(2,), clients="processes", runs=1, seconds=0.05)
    done = loaded(tmp_path, "synthetic:400x8", demand, stores="exact", queries=50)
    (point,) = done.found.points()
    assert done.found.failed == {} and point.load.name == "2 processes"
    assert point.answered == point.sent >= 50 and point.qps.median > 0 and point.short == 0


def test_systems_of_a_run(home: Path, tiny: Path, tmp_path: Path) -> None:
    result = run(tiny, out=Path("runs/one"))
    tools = LoadDeps(
        StageContext(Cache(home / "cache")), lambda _: None, lambda _: None, lambda store, params: ()
    )
    job = LoadRequest(
        "runs/one", LoadSpec(runs=2, seconds=0.02), systems="line dense exact,line hybrid faiss,line · bm25"
    )
    done = run_load(job, tools)
    assert done.folder.parent == Path("runs/one/load") and all_loads("runs/one") == (done.folder,)
    assert done.found.failed == {} and len(done.found.targets) == 3
    matrix = result.matrix(result.record.primary)
    for point in done.found.points():
        row = matrix.values[matrix.systems.index(point.system)]
        assert point.quality.median == pytest.approx(float(np.nanmean(row)))
    assert open_load("runs/one").record["origin"]["kind"] == "run"


@pytest.mark.slow
def test_answers_under_load_are_the_runs_answers(home: Path, tiny: Path) -> None:
    from bakeoff.benchmark.load.experiment_targets import ExperimentTargets
    from bakeoff.config import experiment
    from bakeoff.runs.live.plan_of_run import choose_systems

    result = run(tiny, out=Path("runs/one"))
    plan = experiment.load(tiny)
    opened = ExperimentTargets(plan, tiny, StageContext(Cache(home / "cache")), result=result)
    stored = result.rankings.to_pylist()
    for end_to_end in (False, True):
        for system in choose_systems(plan, "line"):
            target = opened.target(system, end_to_end)
            chunks = opened.artifacts.chunking(system.chunker).chunks["id"].to_pylist()
            found = target.search(target.queries[0], target.k, target.query)
            known = [
                r["chunk_id"] for r in stored if (r["system"], r["query_id"]) == (system.label, "expiry")
            ]
            assert [chunks[i] for i in found.ids.tolist()] == known
    opened.close()


@pytest.mark.slow
def test_a_run_with_its_own_number_of_runs_goes_under_load(home: Path, small: Path) -> None:
    from bakeoff.config.experiment import load

    run(load(small).with_runs(3), out=Path("runs/three"))
    done = loaded(home, "runs/three", LoadSpec())
    assert done.found.points() and not done.found.failed


def test_runs_whose_experiment_is_not_there(home: Path, small: Path) -> None:
    run(small, out=Path("runs/one"))
    small.write_text(small.read_text().replace("depth: 20", "depth: 10"))
    with pytest.raises(DataError):
        loaded(home, "runs/one", LoadSpec())
    with pytest.raises(DataError):
        loaded(home, "runs/one", LoadSpec(), experiment=small)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"stores": "faiss"}, "--stores"),
        ({"systems": "sparse"}, "matches no system"),
        ({"k": 0}, "--k is 0"),
    ],
)
def test_experiments_asked_wrongly(home: Path, small: Path, more: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        loaded(home, str(small), LoadSpec(), **more)


def test_fewer_queries_than_clients(home: Path, small: Path) -> None:
    with pytest.raises(SettingError, match=r"15.*14"):
        loaded(home, str(small), LoadSpec(concurrency=(15,)))


@pytest.mark.parametrize(
    "words", [("1", "5", None), ("x", None, None), ("0", None, None), ("2,2", None, None), (None, "-1", None),
              (None, "fast", None), (None, "nan", None), (None, None, "fast")],
)  # fmt: skip
def test_loads_that_cannot_be(words: tuple[str | None, str | None, str | None]) -> None:
    with pytest.raises(SettingError):
        parse_loads(*words)


@pytest.mark.parametrize(
    "wrong", [{"runs": 0}, {"seconds": 0}, {"timeout": 0}, {"workers": 0}, {"arrivals": "monthly"},
              {"clients": "horses"}, {"clients": "processes", "rates": (5.0,)}],
)  # fmt: skip
def test_demands_that_cannot_be(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingError):
        LoadSpec(**wrong)


def test_names_of_loads() -> None:
    names = [
        LoadStep("closed", 1).name,
        LoadStep("closed", 4, None, "processes").name,
        LoadStep("open", 16, 1500.0).name,
    ]
    assert names == ["1 thread", "4 processes", "1,500/s"]


@pytest.mark.parametrize(("clients", "seconds"), [(1, 0.1), (1, 0.8), (2, 0.5)])
def test_a_closed_pass_lasts_its_seconds(tmp_path: Path, slow: None, clients: int, seconds: float) -> None:
    """However fast the warm-up was, and however many queries there are: the last search may end a little later."""
    demand = LoadSpec(concurrency=(clients,), runs=2, seconds=seconds)
    done = loaded(tmp_path, "synthetic:400x8", demand, stores="slow", queries=60)
    for one in done.found.passes:
        assert seconds <= one.loop.seconds <= seconds + 2 * clients * MILLISECONDS / 1e3
        assert not one.loop.stopped


def test_noise_and_drift_are_told() -> None:
    assert instability_note([78.0, 119.0, 81.0, 56.0]).endswith("rerun with --runs 50")
    assert instability_note([100.0, 101.0, 99.0]) == "" and instability_note([5.0]) == ""
    assert "slower" in drift_note([100.0, 90.0, 80.0], []) and drift_note([100.0, 101.0, 99.0], []) == ""
    assert (
        "second half" in drift_note([100.0, 100.0], [1.3, 1.2])
        and drift_note([100.0, 100.0], [1.3, 0.9]) == ""
    )


def test_energy(tmp_path: Path) -> None:
    assert Meter(tmp_path / "none").read().joules is None
    package = tmp_path / "intel-rapl:0"
    package.mkdir()
    (package / "max_energy_range_uj").write_text("1000000")
    (package / "energy_uj").write_text("900000")
    meter = Meter(tmp_path)
    (package / "energy_uj").write_text("400000")
    assert meter.read().joules == pytest.approx(0.5)


def test_folders_that_hold_no_load(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="bakeoff load"):
        open_load(tmp_path)
    (tmp_path / "record.json").write_text('{"kind": "ann"}')
    with pytest.raises(DataError, match=r"`bakeoff load`.*1"):
        open_load(tmp_path)
