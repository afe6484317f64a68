"""Closed and open loops on stores whose behaviour is known."""

from __future__ import annotations

import _thread
import itertools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bakeoff.benchmark.null_store import NoParams, NullStore, harness_seconds
from bakeoff.benchmark.open_loop import arrival_times, open_loop
from bakeoff.errors import SettingError
from bakeoff.pipeline.loops import closed_loop as client_loop
from bakeoff.pipeline.loops.closed_loop import closed_loop, warm_up
from bakeoff.pipeline.loops.loop_times import NOT_RUN, statistics
from bakeoff.types import Hits

ANSWER = Hits(np.array([1]), np.array([1.0]))


@pytest.mark.parametrize("threads", [1, 4])
def test_every_query_once(asked: np.ndarray, threads: int) -> None:
    seen: list[bytes] = []

    def search(vector: np.ndarray, k: int, query: Any) -> Hits:
        seen.append(vector.tobytes())
        return Hits(vector[:k], vector[:k])

    loop = closed_loop(search, asked, 3, None, threads=threads)
    assert sorted(seen) == sorted(row.tobytes() for row in asked)
    assert all((hits.ids == row[:3]).all() for hits, row in zip(loop.answers, asked, strict=True) if hits)
    assert len(loop.done) == 600 and not loop.stopped and loop.threads == threads


@pytest.mark.parametrize(("threads", "qps"), [(1, 200), (4, 800)])
def test_qps_measured_is_answers_by_wall_time(
    asked: np.ndarray, clock: Any, threads: int, qps: float
) -> None:
    """Five milliseconds a search: 200 a second from one thread, 800 from four that search side by side."""
    round_ends = threading.Barrier(threads, lambda: clock.passes(5))

    def search(vector: np.ndarray, k: int, query: Any) -> Hits:
        round_ends.wait(60)
        return ANSWER

    loop = closed_loop(search, asked[:40], 1, None, threads=threads)
    assert loop.qps_measured == pytest.approx(qps) and (loop.done == 5_000_000).all()
    assert loop.qps_serial_derived == (pytest.approx(200) if threads == 1 else None)


def test_a_refused_search_is_an_error_not_a_latency(asked: np.ndarray, failing: Any) -> None:
    loop = closed_loop(failing.search, asked[:30], 1, None)
    assert len(loop.errors) == 10 and "tired" in loop.errors[0]
    assert (loop.nanoseconds == NOT_RUN).sum() == 10 and len(loop.done) == 20


@pytest.mark.parametrize("threads", [1, 3])
def test_a_hanging_store_is_left_behind(asked: np.ndarray, hanging: Any, clock: Any, threads: int) -> None:
    store = hanging(threads, lambda: clock.passes(300))
    loop = closed_loop(store.search, asked, 1, None, threads=threads, timeout=0.2)
    assert len(loop.done) == 10 and loop.timeouts == threads and "0.2 s" in loop.stopped
    assert not store.released.is_set(), "nobody waited for it"


def test_hanging_in_the_open_loop(asked: np.ndarray, hanging: Any, clock: Any) -> None:
    store = hanging(4, lambda: clock.passes(300))
    loop = open_loop(store.search, asked, 1, None, rate=200, seconds=0.5, workers=4, timeout=0.2)
    assert loop.answered == 10 and loop.timeouts == 4 and loop.unsent == 86 and not loop.reached
    assert {row.name: row.milliseconds for row in loop.latencies()}["p50_ms"] is None


def test_a_fault_in_a_thread_is_raised_here(asked: np.ndarray) -> None:
    def search(vector: np.ndarray, k: int, query: Any) -> Hits:
        raise RuntimeError("broken engine")

    with pytest.raises(RuntimeError, match="broken engine"):
        closed_loop(search, asked, 1, None, threads=2)


@pytest.fixture
def stopping(watch: Any) -> Callable[..., Hits]:
    """A search whose fiftieth call comes with Ctrl-C and ends when that was heard."""
    numbers = itertools.count(1)

    def search(vector: np.ndarray, k: int, query: Any) -> Hits:
        number = next(numbers)
        if number == 50:
            _thread.interrupt_main()
            assert watch.halted.wait(60)
        assert number < 600, "nobody stopped"
        return ANSWER

    return search


def test_ctrl_c_keeps_what_was_measured(asked: np.ndarray, stopping: Callable[..., Hits]) -> None:
    loop = closed_loop(stopping, asked, 1, None, keep=True)
    assert 50 <= len(loop.done) < 600 and loop.stopped == "stopped by Ctrl-C"


@pytest.mark.parametrize("loop", [
    lambda search, asked: closed_loop(search, asked, 1, None),
    lambda search, asked: open_loop(search, asked, 1, None, rate=5000, seconds=100, workers=2, arrivals="fixed"),
], ids=["closed", "open"])  # fmt: skip
def test_ctrl_c_goes_on_where_nobody_asked_for_what_was_measured(
    asked: np.ndarray, stopping: Callable[..., Hits], loop: Callable[..., Any]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        loop(stopping, asked)


@pytest.mark.parametrize("threads", [0, 601])
def test_fewer_queries_than_threads(asked: np.ndarray, null: NullStore, threads: int) -> None:
    with pytest.raises(SettingError, match="600 queries"):
        closed_loop(null.search, asked, 1, None, threads=threads)


def test_warm_up_stands_apart(null: NullStore, asked: np.ndarray) -> None:
    assert warm_up(null.search, asked[:0], 1, NoParams()).queries == 0
    found = warm_up(null.search, asked[:5], 1, NoParams())
    assert found.queries == 5 and found.first_ms is not None and found.rest_mean_ms is not None


def test_the_harness_reads_the_clock_twice_a_query(asked: np.ndarray, made_clock: Any) -> None:
    """By a clock that goes on a microsecond with each reading; the one more is the end of the whole pass."""
    made_clock(client_loop).tick = 1000
    assert harness_seconds(asked, 10) == pytest.approx(2e-6 + 1e-6 / 600)


def test_arrivals() -> None:
    assert arrival_times(4, 1000, "fixed", 1).tolist() == [0, 1_000_000, 2_000_000, 3_000_000]
    random = arrival_times(20_000, 1000, "poisson", 1)
    gaps = np.diff(random)
    assert gaps.mean() == pytest.approx(1e6, rel=0.05) and gaps.std() == pytest.approx(1e6, rel=0.05)
    assert (random == arrival_times(20_000, 1000, "poisson", 1)).all()


def test_open_loop_holds_a_modest_rate(asked: np.ndarray, null: NullStore) -> None:
    loop = open_loop(null.search, asked, 1, NoParams(), rate=500, seconds=0.6, arrivals="fixed")
    assert loop.answered == 300 and loop.unsent == 0
    assert loop.rate_measured < 550, "arrivals are paced, whatever the machine is doing"
    assert (loop.latency >= loop.lag).all()


def test_a_rate_beyond_reach_says_so(asked: np.ndarray, clock: Any, watch: Any) -> None:
    """Ten milliseconds a search are 6 s for what was to be sent in 0.3; the limit is 1.1 s."""
    numbers = itertools.count(1)

    def search(vector: np.ndarray, k: int, query: Any) -> Hits:
        assert watch.began.wait(60)
        clock.passes(10)
        if next(numbers) > 200:
            assert watch.halted.wait(60)
        return ANSWER

    loop = open_loop(search, asked, 1, None, rate=2000, seconds=0.3, workers=1, timeout=0.5)
    assert not loop.reached and "limit" in loop.stopped
    assert loop.unsent > 0 and loop.answered + loop.unsent <= 600
    assert {row.name: row.note for row in loop.latencies()}["p99_ms"].endswith("beyond them")


@pytest.mark.parametrize(
    ("rate", "seconds", "workers"),
    [(0, 1, 1), (-5, 1, 1), (float("nan"), 1, 1), (1e9, 10, 1), (0.1, 1, 1), (10, 1, 0)],
)
def test_rates_that_cannot_be(
    asked: np.ndarray, null: NullStore, rate: float, seconds: float, workers: int
) -> None:
    with pytest.raises(SettingError):
        open_loop(null.search, asked, 1, NoParams(), rate=rate, seconds=seconds, workers=workers)


def test_statistics_of_what_did_not_come_back() -> None:
    rows = {row.name: row for row in statistics(np.full(980, 1_000_000), unfinished=20)}
    assert rows["p50_ms"].milliseconds == 1.0 and rows["p99_ms"].milliseconds is None
    assert rows["mean_ms"].milliseconds is None and "20 of 1000" in rows["mean_ms"].note


def test_ctrl_c_does_not_wait_long_for_a_search_that_hangs(asked: np.ndarray, hanging: Any) -> None:
    store = hanging(1, _thread.interrupt_main)
    loop = closed_loop(store.search, asked, 1, None, timeout=600, keep=True)
    assert loop.stopped == "stopped by Ctrl-C" and len(loop.done) == 10 and not loop.timeouts
    assert not store.released.is_set(), "nobody waited for it"
