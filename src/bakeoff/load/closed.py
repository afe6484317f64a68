"""The closed loop: each thread sends its next query when the last one is answered.

Inside the loop stand the search, two clock reads and two stores into memory made before; everything else is done
after it. A closed loop cannot show what waits behind a stall (F37): that is what the open loop is for.
"""

from __future__ import annotations

import itertools
import threading
import time
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bakeoff.errors import SettingError, SystemFailure
from bakeoff.load.clock import BACKWARDS, NOT_RUN, Loop, whole
from bakeoff.load.null import Nothing, NullStore
from bakeoff.load.workers import Crew, run_crew
from bakeoff.types import Hits

TIMEOUT = 60.0
WARM_UP = 50
HARNESS_LIMIT = 0.05
"""A figure of which the harness makes up more than this share is marked (F38)."""

Search = Callable[[Any, int, Any], Hits]
"""`search(one of the asked, k, query arguments)`; a store's own `search`, or a whole system's."""
Asked = Sequence[Any] | np.ndarray


@dataclass(frozen=True, slots=True)
class WarmUp:
    """What came before the measured queries, apart from them: the first search and the rest, in milliseconds."""

    queries: int
    first_ms: float | None
    rest_mean_ms: float | None


def closed_loop(
    search: Search,
    vectors: Asked,
    k: int,
    query: Any,
    *,
    threads: int = 1,
    timeout: float = TIMEOUT,
    deadline: float | None = None,
    halt: threading.Event | None = None,
    keep: bool = False,
) -> Loop:
    """Every query once, shared by the threads; `deadline` is seconds for all of them, `halt` ends it early.

    With `keep`, Ctrl-C returns what was measured.
    """
    check_workers(threads, len(vectors))
    asked = list(vectors)
    sent, ended = array("q", [NOT_RUN]) * len(asked), array("q", [NOT_RUN]) * len(asked)
    answers: list[Hits | None] = [None] * len(asked)
    errors: list[str] = []
    shared = itertools.count()
    begins: list[int] = []
    spans: list[tuple[int, int]] = []

    def work(crew: Crew, number: int) -> None:
        mine = _alone(crew, len(asked)) if threads == 1 else _shared(crew, shared, len(asked))
        begin = time.perf_counter_ns()
        begins.append(begin)
        _rounds(search, asked, k, query, mine, sent, ended, answers, errors, crew.begun, number)
        spans.append((begin, time.perf_counter_ns()))

    crew = run_crew(work, threads, timeout=timeout, deadline=deadline, halt=halt, keep=keep)
    ends = np.frombuffer(ended, np.int64).copy()
    nanoseconds, stopped = _checked(np.frombuffer(sent, np.int64), ends, answers, crew.stopped)
    return Loop(
        nanoseconds,
        tuple(answers),
        _wall(spans, nanoseconds, threads),
        threads,
        tuple(errors),
        crew.hung,
        stopped,
        min(begins, default=0),
        ends,
    )


def check_workers(workers: int, queries: int) -> None:
    """Refuse more clients than there are queries to share."""
    if workers < 1 or workers > queries:
        raise SettingError(
            f"{workers} clients and {queries} queries: each client needs one. Lower --concurrency or add queries."
        )


def warm_up(search: Search, vectors: Asked, k: int, query: Any, *, timeout: float = TIMEOUT) -> WarmUp:
    """Searches with vectors that are not measured, so that no measured query pays the cold start (F32)."""
    if not len(vectors):
        return WarmUp(0, None, None)
    took = whole(closed_loop(search, vectors, k, query, timeout=timeout)).nanoseconds / 1e6
    rest = took[1:][took[1:] >= 0]
    first = float(took[0]) if took[0] >= 0 else None
    return WarmUp(len(took), first, float(rest.mean()) if len(rest) else None)


def harness_seconds(vectors: Asked, k: int, *, threads: int = 1, passes: int = 5) -> float:
    """What the loop itself costs a query: the median pass over the null store."""
    from pathlib import Path

    null, query = NullStore(Nothing(), Path()), Nothing()
    loops = [whole(closed_loop(null.search, vectors, k, query, threads=threads)) for _ in range(passes)]
    return float(np.median([loop.seconds / len(vectors) for loop in loops]))


def _rounds(
    search: Search,
    asked: Sequence[Any],
    k: int,
    query: Any,
    mine: Iterable[int],
    sent: array[int],
    ended: array[int],
    answers: list[Hits | None],
    errors: list[str],
    begun: array[int],
    number: int,
) -> None:
    clock = time.perf_counter_ns
    for i in mine:
        vector = asked[i]
        try:
            sent[i] = begun[number] = clock()
            answer = search(vector, k, query)
            ended[i] = clock()
            answers[i] = answer
        except SystemFailure as exc:
            errors.append(str(exc))
    begun[number] = 0


def _checked(
    sent: np.ndarray, ends: np.ndarray, answers: Sequence[Hits | None], stopped: str
) -> tuple[np.ndarray, str]:
    """The nanoseconds; those of an answer that came before its question are none, and the pass says why."""
    nanoseconds = np.where(ends == NOT_RUN, NOT_RUN, ends - sent)
    back = [i for i in np.flatnonzero(nanoseconds < 0).tolist() if answers[i] is not None]
    nanoseconds[back] = NOT_RUN
    return nanoseconds, BACKWARDS if back else stopped


def _alone(crew: Crew, count: int) -> Iterable[int]:
    """All numbers, in runs between which the stop is looked at."""
    step = max(1, min(64, count // 64))
    for begin in range(0, count, step):
        if crew.stop.is_set():
            return
        yield from range(begin, min(begin + step, count))


def _shared(crew: Crew, numbers: Iterable[int], count: int) -> Iterable[int]:
    """The numbers that no other thread has taken."""
    for i in numbers:
        if i >= count or crew.stop.is_set():
            return
        yield i


def _wall(spans: list[tuple[int, int]], took: np.ndarray, threads: int) -> float:
    """Wall seconds over all threads; where a thread was left behind, of those that ended."""
    if spans:
        return (max(end for _, end in spans) - min(begin for begin, _ in spans)) / 1e9
    return float(took[took > 0].sum()) / 1e9 / threads
