"""F37: closed-loop load only; what waits behind a stall is never sent and never counted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff.benchmark import open_loop as open_loops
from bakeoff.benchmark.null_store import NoParams, NullStore
from bakeoff.benchmark.open_loop import open_loop
from bakeoff.errors import StoreError
from bakeoff.pipeline.loops import client_threads
from bakeoff.pipeline.loops import closed_loop as client_loop
from bakeoff.pipeline.loops.closed_loop import closed_loop
from bakeoff.pipeline.loops.loop_times import statistics
from bakeoff.types import Hits

STALL, EVERY, RATE = 1.0, 600, 600
QUERIES = np.zeros((600, 4), np.float32)


class Stalling(NullStore):
    """Answers at once, but stops for one second at every 600th query and lets nobody by."""

    def __init__(self, clock: Any) -> None:
        super().__init__(NoParams(), Path())
        self._clock, self._lock, self._count = clock, threading.Lock(), 0

    def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
        with self._lock:
            self._count += 1
            if self._count % EVERY == EVERY // 2:
                self._clock.passes(STALL * 1000)
            return super().search(vector, k, query)


def p99(rows: tuple[Any, ...]) -> float:
    return next(row.milliseconds for row in rows if row.name == "p99_ms")


def test_f37_a_closed_loop_hides_the_stall_and_an_open_one_shows_it(made_clock: Callable[..., Any]) -> None:
    clock = made_clock(client_loop, open_loops, client_threads)
    alone = closed_loop(Stalling(clock).search, QUERIES, 10, NoParams())
    assert alone.done.max() == STALL * 1e9  # it was there
    assert p99(statistics(alone.done)) < 0.5 * STALL * 1000
    opened = open_loop(
        Stalling(clock).search, QUERIES, 10, NoParams(), rate=RATE, seconds=2, workers=8, arrivals="fixed"
    )
    assert opened.answered == 2 * RATE
    assert p99(opened.latencies()) > 0.9 * STALL * 1000
    assert (opened.latency > 0.1e9).sum() > 0.8 * RATE  # everything due during the stall waited
    assert p99(opened.lags()) > 0.5 * STALL * 1000  # and the client says how late it sent


def test_f37_what_got_no_answer_stands_beyond_all_others(made_clock: Callable[..., Any]) -> None:
    """Every twentieth query is refused at once: leaving those out would make the worst of them the best."""
    made_clock(client_loop, open_loops, client_threads)

    class Refusing(NullStore):
        count = 0

        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            self.count += 1
            if self.count % 20 == 0:
                raise StoreError("too many requests.")
            return super().search(vector, k, query)

    opened = open_loop(
        Refusing(NoParams(), Path()).search,
        QUERIES,
        10,
        NoParams(),
        rate=600,
        seconds=1,
        workers=1,
        arrivals="fixed",
    )
    rows = {row.name: row for row in opened.latencies()}
    assert opened.answered == 570 and len(opened.errors) == 30
    assert rows["p50_ms"].milliseconds is not None
    for name in ("mean_ms", "p99_ms"):
        assert rows[name].milliseconds is None and "30 of 600" in rows[name].note
