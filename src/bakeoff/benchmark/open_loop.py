"""The open loop: queries arrive at a rate whether or not earlier ones were answered.

Latency counts from the intended arrival, so time spent behind a stall counts (F37).
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from bakeoff.errors import SettingError, SystemFailure
from bakeoff.pipeline.loops.client_threads import ClientThreads, run_client_threads
from bakeoff.pipeline.loops.closed_loop import TIMEOUT, Asked, P, Q, Search
from bakeoff.pipeline.loops.loop_times import BACKWARDS, NOT_RUN, LatencySummary, statistics

Arrivals = Literal["fixed", "poisson"]
MOST_SENT = 2_000_000
LEAD_SECONDS = 0.01
REACHED = 0.95
"""A rate counts as reached if this share of it was sent and answered."""


@dataclass(frozen=True, slots=True)
class OpenLoop:
    """Nanoseconds from the intended arrival to the answer and to the sending; −1 where there was none.

    `sending` is when the last query was due and when the last one was sent, in seconds from the begin. `began` is the
    clock at the begin, or when it was heard if that was later, and `ends` the clock at the answers (−1: none).
    """

    latency: np.ndarray
    lag: np.ndarray
    rate: float
    seconds: float
    sending: tuple[float, float]
    workers: int
    errors: tuple[str, ...]
    timeouts: int
    unsent: int
    stopped: str
    began: int = 0
    ends: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64), repr=False)

    @property
    def answered(self) -> int:
        """Queries that were answered, late or not."""
        return int((self.latency != NOT_RUN).sum())

    @property
    def rate_measured(self) -> float | None:
        """Answers per second of wall time, from the first intended arrival to the last answer."""
        return self.answered / self.seconds if self.seconds > 0 and self.answered else None

    @property
    def reached(self) -> bool:
        """Whether queries went out at the intended rate and were answered."""
        return not self.stopped and rate_held(self.sending, self.answered, len(self.latency))

    def latencies(self) -> tuple[LatencySummary, ...]:
        """Statistics of all intended queries; unanswered ones count as slower than every answered one."""
        answered = self.latency[self.latency != NOT_RUN]
        return statistics(answered, len(self.latency) - len(answered))

    def lags(self) -> tuple[LatencySummary, ...]:
        """Statistics of the client's sending delay."""
        return statistics(self.lag[self.lag != NOT_RUN])


def arrival_times(count: int, rate: float, arrivals: Arrivals, seed: int) -> np.ndarray:
    """Intended arrivals in nanoseconds from the start."""
    if arrivals == "fixed":
        return (np.arange(count) * (1e9 / rate)).astype(np.int64)
    gaps = np.random.default_rng(seed).exponential(1e9 / rate, count)
    return (np.cumsum(gaps) - gaps[0]).astype(np.int64)


def open_loop(
    search: Search[Q, P],
    vectors: Asked[Q],
    k: int,
    query: P,
    *,
    rate: float,
    seconds: float,
    workers: int = 16,
    arrivals: Arrivals = "poisson",
    seed: int = 7,
    timeout: float = TIMEOUT,
    keep: bool = False,
    before: Callable[[], object] | None = None,
) -> OpenLoop:
    """Send the vectors in turn at `rate` per second for `seconds`; a later answer than `timeout` is a timeout."""
    due = arrival_times(arrivals_in(rate, seconds, workers), rate, arrivals, seed)
    deadline = seconds * 2 + timeout
    return send_on_schedule(
        search,
        vectors,
        k,
        query,
        due,
        rate=rate,
        workers=workers,
        timeout=timeout,
        deadline=deadline,
        keep=keep,
        before=before,
    )


def send_on_schedule(
    search: Search[Q, P],
    vectors: Asked[Q],
    k: int,
    query: P,
    arrivals: np.ndarray,
    *,
    rate: float,
    workers: int,
    timeout: float,
    deadline: float,
    begin: int | None = None,
    halt: threading.Event | None = None,
    keep: bool = False,
    before: Callable[[], object] | None = None,
) -> OpenLoop:
    """Send at these arrivals, nanoseconds from `begin` (of the clock; without one, when every worker is ready).

    Every worker calls `before` first: a search that opens its connection. `halt` ends the loop early; with `keep`,
    Ctrl-C returns what was measured.
    """
    due, queries, count = array("q", arrivals.tobytes()), list(vectors), len(arrivals)
    sent, ended = array("q", [NOT_RUN]) * count, array("q", [NOT_RUN]) * count
    errors: list[str] = []
    numbers = itertools.count()
    called = time.perf_counter_ns()

    def work(crew: ClientThreads, number: int) -> None:
        clock, size, stop = time.perf_counter_ns, len(queries), crew.stop
        crew.prepare(number, before, None)
        zero = crew.begin_at(LEAD_SECONDS) if begin is None else begin
        for i in numbers:
            if i >= count:
                break
            wait = (zero + due[i] - clock()) / 1e9
            if wait > 0:
                stop.wait(wait) if wait > 1 else time.sleep(wait)
            if stop.is_set():
                break
            vector = queries[i % size]
            sent[i] = crew.begun[number] = clock()
            try:
                search(vector, k, query)
                ended[i] = clock()
                if crew.failing:
                    crew.failing = 0
            except SystemFailure as exc:
                errors.append(str(exc))
                crew.count_failure(exc)
            crew.begun[number] = 0

    crew = run_client_threads(work, workers, timeout=timeout, deadline=deadline, halt=halt, keep=keep)
    return _result(
        due=due, sent=sent, ended=ended, begins=(begin or crew.start or called, called), rate=rate, workers=workers,
        errors=tuple(errors), timeout=timeout, crew=crew,
    )  # fmt: skip


def rate_held(sending: tuple[float, float], answered: int, intended: int) -> bool:
    """Whether queries were sent on schedule and answered."""
    due, sent = sending
    return REACHED * sent <= due + LEAD_SECONDS and answered >= REACHED * intended


def _result(
    due: array[int],
    sent: array[int],
    ended: array[int],
    begins: tuple[int, int],
    rate: float,
    workers: int,
    errors: tuple[str, ...],
    timeout: float,
    crew: ClientThreads,
) -> OpenLoop:
    zero = begins[0]
    intended = np.frombuffer(due, np.int64) + zero
    sending, end = np.frombuffer(sent, np.int64).copy(), np.frombuffer(ended, np.int64).copy()
    latency = np.where(end == NOT_RUN, NOT_RUN, end - intended)
    lag = np.where(sending == NOT_RUN, NOT_RUN, np.maximum(sending - intended, 0))
    back = (end != NOT_RUN) & (end < sending)
    latency[back] = NOT_RUN
    late = int((latency > timeout * 1e9).sum())
    last = int(end.max(initial=zero))
    return OpenLoop(
        latency=latency,
        lag=lag,
        rate=rate,
        seconds=max(0.0, (last - zero) / 1e9),
        sending=(due[-1] / 1e9 if due else 0.0, max(0.0, (int(sending.max(initial=zero)) - zero) / 1e9)),
        workers=workers,
        errors=errors,
        timeouts=late + crew.hung,
        unsent=int((sending == NOT_RUN).sum()),
        stopped=BACKWARDS if back.any() else crew.stopped,
        began=max(begins),
        ends=np.where(back, NOT_RUN, end),
    )


def arrivals_in(rate: float, seconds: float, workers: int = 1) -> int:
    """The number of queries at a rate over some seconds; SettingError if they cannot be sent."""
    if not (math.isfinite(rate) and rate > 0 and math.isfinite(seconds) and seconds > 0 and workers >= 1):
        raise SettingError(
            f"a rate of {rate:g}/s for {seconds:g} s with {workers} workers cannot be sent; all must be positive."
        )
    count = round(rate * seconds)
    if not 1 <= count <= MOST_SENT:
        raise SettingError(
            f"{rate:g}/s for {seconds:g} s are {count:,} queries; between 1 and {MOST_SENT:,} are sent. "
            "Change --rate or --seconds."
        )
    return count
