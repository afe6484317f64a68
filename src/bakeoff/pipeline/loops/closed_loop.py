"""The closed loop: each client thread sends its next query when the previous one is answered.

The timed section holds only the search and two clock reads. A closed loop can't show the queue behind a stall
(F37); the open loop does.
"""

from __future__ import annotations

import itertools
import threading
import time
from array import array
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from bakeoff.errors import SettingError, SystemFailure
from bakeoff.pipeline.loops.client_threads import ClientThreads, run_client_threads
from bakeoff.pipeline.loops.loop_times import BACKWARDS, NOT_RUN, LoopTimes, overall_latency
from bakeoff.types import Hits

TIMEOUT = 60.0
WARM_UP = 50
HARNESS_LIMIT = 0.05
"""Figures with a larger share of harness overhead are flagged (F38)."""
NEVER = 2**63 - 1

Q = TypeVar("Q")
P = TypeVar("P")
Search = Callable[[Q, int, P], Hits]
"""`search(request, k, query arguments)`: a store's own `search`, or a whole system's."""
Asked = Collection[Q]


@dataclass(frozen=True, slots=True)
class WarmUp:
    """Milliseconds of the searches before the measured ones: the first, and the rest."""

    queries: int
    first_ms: float | None
    rest_mean_ms: float | None


@dataclass(slots=True)
class _Client:
    """What one client thread recorded: when it sent each query and when the answer came (−1 if it failed)."""

    sent: array[int] = field(default_factory=lambda: array("q"))
    ended: array[int] = field(default_factory=lambda: array("q"))
    errors: list[str] = field(default_factory=list)
    span: tuple[int, int] | None = None


def closed_loop(
    search: Search[Q, P],
    vectors: Asked[Q],
    k: int,
    query: P,
    *,
    threads: int = 1,
    seconds: float | None = None,
    timeout: float = TIMEOUT,
    deadline: float | None = None,
    halt: threading.Event | None = None,
    keep: bool = False,
    before: Callable[[], object] | None = None,
    begin: int | None = None,
) -> LoopTimes:
    """Send every query once, shared by the threads, or repeat them for `seconds`; `deadline` limits the whole
    in seconds. Every thread first calls `before`, unmeasured, to open its connection. No thread is measured
    until all have done so and the clock reaches `begin`. `halt` ends the loop early; with `keep`, Ctrl-C
    returns what was measured."""
    check_workers(threads, len(vectors))
    queries = list(vectors)
    answers: list[Hits | None] = [None] * len(queries)
    clients = [_Client() for _ in range(threads)]
    shared = itertools.count()

    def work(crew: ClientThreads, number: int) -> None:
        crew.prepare(number, before, begin)
        started = time.perf_counter_ns()
        until = NEVER if seconds is None else crew.begin_at() + int(seconds * 1e9)
        alone = threads == 1 and seconds is None
        mine = (
            _alone(crew, len(queries)) if alone else _remaining_numbers(crew, shared, seconds, len(queries))
        )
        _rounds(
            search=search,
            asked=queries,
            k=k,
            query=query,
            mine=mine,
            answers=answers,
            client=clients[number],
            crew=crew,
            number=number,
            until=until,
        )
        clients[number].span = (started, time.perf_counter_ns())

    crew = run_client_threads(work, threads, timeout=timeout, deadline=deadline, halt=halt, keep=keep)
    return _loop(clients, answers, crew, None if seconds is not None else len(queries))


def check_workers(workers: int, queries: int) -> None:
    """Raise if there are more clients than queries."""
    if workers < 1 or workers > queries:
        raise SettingError(
            f"{workers} clients for {queries} queries: each needs at least one. Lower --concurrency or add "
            "queries."
        )


def warm_up(search: Search[Q, P], vectors: Asked[Q], k: int, query: P, *, timeout: float = TIMEOUT) -> WarmUp:
    """Run unmeasured searches, so that no measured query pays for the cold start (F32)."""
    if not len(vectors):
        return WarmUp(0, None, None)
    took = overall_latency(closed_loop(search, vectors, k, query, timeout=timeout)).nanoseconds / 1e6
    rest = took[1:][took[1:] >= 0]
    first = float(took[0]) if took[0] >= 0 else None
    return WarmUp(len(took), first, float(rest.mean()) if len(rest) else None)


def _rounds(
    search: Search[Q, P],
    asked: Sequence[Q],
    k: int,
    query: P,
    mine: Iterable[int],
    answers: list[Hits | None],
    client: _Client,
    crew: ClientThreads,
    number: int,
    until: int,
) -> None:
    clock, begun, size = time.perf_counter_ns, crew.begun, len(asked)
    sent, ended = client.sent, client.ended
    for i in mine:
        vector = asked[i % size]
        try:
            began = begun[number] = clock()
            answer = search(vector, k, query)
            now = clock()
            sent.append(began)
            ended.append(now)
            if i < size:
                answers[i] = answer
            if crew.failing:
                crew.failing = 0
        except SystemFailure as exc:
            sent.append(began)
            ended.append(NOT_RUN)
            client.errors.append(str(exc))
            crew.count_failure(exc)
            now = clock()
        if now >= until:
            break
    begun[number] = 0


def _loop(
    clients: Sequence[_Client], answers: Sequence[Hits | None], crew: ClientThreads, intended: int | None
) -> LoopTimes:
    """Merge the records of all clients in send order; a query never sent, or hung, has no duration."""
    sent, ends = _merge_times(clients)
    nanoseconds = np.where(ends == NOT_RUN, NOT_RUN, ends - sent)
    back = nanoseconds < NOT_RUN
    nanoseconds[back] = NOT_RUN
    missing = crew.hung if intended is None else intended - len(sent)
    padded = np.concatenate([nanoseconds, np.full(missing, NOT_RUN)])
    spans = [one.span for one in clients if one.span is not None]
    return LoopTimes(
        nanoseconds=padded,
        answers=tuple(answers),
        seconds=_wall(spans, nanoseconds, len(clients)),
        threads=len(clients),
        errors=tuple(error for one in clients for error in one.errors),
        timeouts=crew.hung,
        stopped=BACKWARDS if back.any() else crew.stopped,
        began=min((begin for begin, _ in spans), default=int(sent[0]) if len(sent) else 0),
        ends=np.where(back, NOT_RUN, ends),
    )


def _merge_times(clients: Sequence[_Client]) -> tuple[np.ndarray, np.ndarray]:
    """Copies of the send and answer times, because a hung thread may still write to its own arrays."""
    counts = [min(len(one.sent), len(one.ended)) for one in clients]
    pairs = list(zip(clients, counts, strict=True))
    sent = np.concatenate([np.array(one.sent[:count], np.int64) for one, count in pairs])
    ended = np.concatenate([np.array(one.ended[:count], np.int64) for one, count in pairs])
    order = np.argsort(sent, kind="stable")
    return sent[order], ended[order]


def _alone(crew: ClientThreads, count: int) -> Iterable[int]:
    """Yield all numbers, checking for a stop between blocks."""
    step = max(1, min(64, count // 64))
    for begin in range(0, count, step):
        if crew.stop.is_set():
            return
        yield from range(begin, min(begin + step, count))


def _remaining_numbers(
    crew: ClientThreads, numbers: Iterable[int], seconds: float | None, count: int
) -> Iterable[int]:
    """Yield numbers no other thread has taken: up to `count`, or without end if the loop lasts `seconds`."""
    for i in numbers:
        if crew.stop.is_set() or (seconds is None and i >= count):
            return
        yield i


def _wall(spans: list[tuple[int, int]], took: np.ndarray, threads: int) -> float:
    """Wall seconds over all threads, without those that were abandoned."""
    if spans:
        return (max(end for _, end in spans) - min(begin for begin, _ in spans)) / 1e9
    return float(took[took > 0].sum()) / 1e9 / threads
