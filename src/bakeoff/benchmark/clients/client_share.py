"""A client's share of one load: prepared, started at a clock time, and reported in mergeable figures."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from bakeoff.benchmark.clients.messages import LoadShare
from bakeoff.benchmark.loop_report import LoopReport, closed_report, open_report
from bakeoff.benchmark.null_store import NoParams, NullStore
from bakeoff.benchmark.open_loop import Arrivals, arrival_times, arrivals_in, send_on_schedule
from bakeoff.benchmark.resources.usage import Sampler
from bakeoff.benchmark.targets import LoadTarget
from bakeoff.pipeline.loops.client_threads import HUNG
from bakeoff.pipeline.loops.closed_loop import closed_loop
from bakeoff.pipeline.loops.loop_times import NOT_RUN


class ClientShare:
    """A share that is ready to begin: some threads of a closed loop, or some arrivals of an open one."""

    def __init__(self, target: LoadTarget, share: LoadShare) -> None:
        self._target, self._share = target, share
        if share.null:
            self._target = replace(target, search=NullStore(NoParams(), Path()).search, full=False)
        if share.rate is None:
            count = share.requests or len(target.asked)
            numbers = closed_share(share.number, share.clients, share.threads, count)
        else:
            count = arrivals_in(share.rate, share.seconds, share.threads)
            numbers = open_share(share.number, share.clients, count, share.arrivals, share.seed)
            self._due = arrival_times(count, share.rate, share.arrivals, share.seed)[numbers]
        self._asked = [target.asked[number % len(target.asked)] for number in numbers.tolist()]
        self._ends = np.empty(0, np.int64)
        self.hung = False

    def run(self, at: int, halt: threading.Event) -> LoopReport:
        """Start at this clock reading and return what was measured."""
        return self._run_closed(at, halt) if self._share.rate is None else self._run_open(at, halt)

    def answered_in(self, begin: int, end: int) -> int:
        """Answers between two readings of the clock."""
        return int(((self._ends != NOT_RUN) & (self._ends >= begin) & (self._ends <= end)).sum())

    def _run_closed(self, at: int, halt: threading.Event) -> LoopReport:
        """Send each query once, or for the load's duration, from that moment on."""
        share, target = self._share, self._target
        threads = threads_of(share.number, share.clients, share.threads)
        with Sampler(children=False) as sampler:
            loop = closed_loop(
                target.search, self._asked, target.k, target.query, threads=threads,
                seconds=None if share.requests else share.seconds, timeout=share.timeout, deadline=share.deadline,
                halt=halt, keep=True, before=target.connect, begin=at,
            )  # fmt: skip
        self._ends, self.hung = loop.ends, loop.timeouts > 0
        return closed_report(loop, target, sampler.result.client)

    def _run_open(self, at: int, halt: threading.Event) -> LoopReport:
        """Send each query when it is due after that moment."""
        share, target = self._share, self._target
        assert share.rate is not None
        with Sampler(children=False) as sampler:
            loop = send_on_schedule(
                target.search, self._asked, target.k, target.query, self._due, rate=share.rate / share.clients,
                workers=share.threads, timeout=share.timeout, deadline=share.deadline, begin=at, halt=halt,
                keep=True, before=target.connect,
            )  # fmt: skip
            stopped = time.perf_counter_ns()
        self._ends, self.hung = loop.ends, HUNG in loop.stopped
        on_duty = stopped if loop.stopped else at + int(share.seconds * 1e9)
        ended = max(on_duty, int(loop.ends.max(initial=at)))
        return open_report(loop, target, sampler.result.client, began=loop.began, ended=ended)


_SPLIT = 0x5B117
"""Separates the draw of the sender from the draw of the time, which has the same seed."""


def threads_of(number: int, clients: int, concurrency: int) -> int:
    """How many threads of a closed loop a client has."""
    return len(range(number, concurrency, clients))


def closed_share(number: int, clients: int, concurrency: int, requests: int) -> np.ndarray:
    """The numbers of a client's requests: the same count for every thread of the load."""
    every = np.arange(requests)
    return every[(every % concurrency) % clients == number]


def open_share(number: int, clients: int, count: int, arrivals: Arrivals, seed: int) -> np.ndarray:
    """The numbers of the arrivals a client sends.

    Fixed ones take turns. Of Poisson arrivals each is drawn for a client, whatever the others are: so every client's
    own are Poisson too, and all of them together are those that one client would send.
    """
    every = np.arange(count)
    if arrivals == "fixed":
        return every[every % clients == number]
    return every[np.random.default_rng([seed, _SPLIT]).integers(clients, size=count) == number]
