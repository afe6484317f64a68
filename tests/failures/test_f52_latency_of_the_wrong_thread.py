"""F52: an engine's setting held for one thread, and its latency was measured on another."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.pipeline import query_pipeline
from bakeoff.pipeline.loops import client_threads, closed_loop, latency_check
from bakeoff.pipeline.query_pipeline import SearchRequest
from bakeoff.report.build import build_report
from bakeoff.report.render import markdown
from bakeoff.runs.run import run
from bakeoff.runtime.events import WarningRaised
from bakeoff.types import Batch, Hits, Metric


def on_another_thread(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


@pytest.mark.parametrize("step", ["ready", "open"])
def test_f52_faiss_searches_with_one_thread_wherever_it_was_opened(step: str, tmp_path: Path) -> None:
    faiss = pytest.importorskip("faiss")
    plugin = registry.load("stores", "faiss")
    store = plugin(plugin.Params(), tmp_path)
    rows = np.random.default_rng(1).normal(size=(200, 16)).astype(np.float32)

    def prepare() -> None:
        store.create("x", 16, Metric.COSINE)
        store.insert(Batch(np.arange(200, dtype=np.int64), vectors=rows))
        store.ready()
        if step == "open":
            store.open("x", 16, Metric.COSINE)

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(2)
    try:
        on_another_thread(prepare)
        store.search(rows[0], 5, plugin.Query())
        assert faiss.omp_get_max_threads() == 1
    finally:
        faiss.omp_set_num_threads(before)


@pytest.mark.parametrize("engine", ["faiss", "exact"])
def test_f52_an_index_is_opened_and_warmed_up_on_the_thread_that_is_timed(
    engine: str, small: Path, register: Callable[..., None]
) -> None:
    """A persistent index may be built on another thread; one in memory is made by the thread that searches it."""
    opened: list[int] = []
    searched: list[int] = []

    class Watched(registry.load("stores", engine)):
        def ready(self) -> None:
            super().ready()
            opened.append(threading.get_ident())

        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            searched.append(threading.get_ident())
            return super().search(vector, k, query)

    if engine == "faiss":

        def reopen(self: Any, collection: str, dims: int, metric: Metric) -> int:
            opened.append(threading.get_ident())
            return int(super(Watched, self).open(collection, dims, metric))

        Watched.open = reopen  # type: ignore[attr-defined]
    register("stores", "watched", Watched)
    small.write_text(small.read_text().replace("[exact]", "[watched]"))
    run(small, out=Path("run"))
    assert set(searched[: query_pipeline.WARM_UP_SEARCHES + 14]) == {opened[-1]}


@pytest.fixture
def measured(
    small: Path, register: Callable[..., None], made_clock: Callable[..., Any]
) -> Callable[..., tuple[Any, list[str]]]:
    """A run of a store that takes some milliseconds on the thread that times a run, and others elsewhere."""
    clock = made_clock(query_pipeline, closed_loop, client_threads, latency_check)

    def ran(here: float, elsewhere: float, here_later: float | None = None) -> tuple[Any, list[str]]:
        seen: list[int] = []

        class Uneven(registry.load("stores", "exact")):
            def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
                main = threading.current_thread() is threading.main_thread()
                seen.append(1)
                late = here_later is not None and len(seen) > query_pipeline.WARM_UP_SEARCHES + 14
                clock.passes((here_later if late else here) if main else elsewhere)
                return super().search(vector, k, query)

        register("stores", "uneven", Uneven)
        small.write_text(small.read_text().replace("[exact]", "[uneven]"))
        events: list[Any] = []
        result = run(small, out=Path("run"), emit=events.append)
        return result, [one.message for one in events if isinstance(one, WarningRaised)]

    return ran


def check_of(result: Any) -> dict[str, float | None]:
    rows = [row for row in result.timings.to_pylist() if row["phase"] == latency_check.PHASE]
    return {row["statistic"]: row["value"] for row in rows}


def test_f52_a_latency_that_the_load_loop_does_not_measure_is_a_warning(measured: Any) -> None:
    result, warnings = measured(20.0, 0.25)
    found = check_of(result)
    assert found == {"run_median_ms": 20.0, "load_median_ms": 0.25, "repeat_median_ms": 20.0}
    (note,) = [note for note in result.record.notes if "20 ms" in note and "0.25 ms" in note]
    assert note in warnings and note.startswith(result.done[0])
    assert note in markdown.text(build_report(result)).replace("\\", "")


def test_f52_a_machine_that_was_busy_is_named_as_such(measured: Any) -> None:
    result, _ = measured(20.0, 10.0, here_later=10.0)
    assert check_of(result)["repeat_median_ms"] == 10.0
    assert any("busy" in note for note in result.record.notes)


def test_f52_latencies_that_agree_are_no_warning(measured: Any) -> None:
    result, warnings = measured(1.2, 1.0)
    assert check_of(result) == {"run_median_ms": 1.2, "load_median_ms": 1.0, "repeat_median_ms": None}
    assert not [text for text in (*warnings, *result.record.notes) if "latency" in text]


def test_f52_the_searches_of_a_hybrid_are_checked_one_after_the_other() -> None:
    """As the run times them: two engines asked in turn are slower than either in a loop of its own."""
    order: list[str] = []

    def search(name: str) -> Callable[[SearchRequest], Hits]:
        def answer(one: SearchRequest) -> Hits:
            order.append(name)
            return Hits(np.zeros(0, dtype=np.int64), np.zeros(0))

        return answer

    legs = [query_pipeline.StepResult((), np.full((1, 6), 0.001)) for _ in "ab"]
    asked = [SearchRequest(id=str(place)) for place in range(6)]
    found = latency_check.check_latency(legs, [search("a"), search("b")], asked, asked[:1])
    assert found.run_ms == 0.002 and found.load_ms is not None
    assert order[:14] == ["a"] * 7 + ["b"] * 7


@pytest.mark.parametrize(
    ("one", "other", "disagree"),
    [(1.0, 1.5, False), (1.0, 1.51, True), (20.0, 0.09, True), (0.01, 0.05, False), (0.01, 0.07, True)],
)
def test_f52_more_than_half_is_a_disagreement(one: float, other: float, disagree: bool) -> None:
    assert (
        latency_check.latencies_differ(one, other) is latency_check.latencies_differ(other, one) is disagree
    )


def test_f52_a_store_that_fails_on_another_thread_keeps_what_the_run_measured(
    small: Path, register: Callable[..., None]
) -> None:
    class Bound(registry.load("stores", "exact")):
        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            if threading.current_thread() is not threading.main_thread():
                raise RuntimeError("created in another thread")
            return super().search(vector, k, query)

    register("stores", "bound", Bound)
    small.write_text(small.read_text().replace("[exact]", "[bound]"))
    result = run(small, out=Path("run"))
    rows = [row for row in result.timings.to_pylist() if row["phase"] == latency_check.PHASE]
    (load,) = [row for row in rows if row["statistic"] == "load_median_ms"]
    assert len(result.done) == 1 and load["value"] is None and "created in another thread" in load["note"]
