"""A client's share of one load: prepared, started at a clock time, and reported in mergeable figures."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np

from bakeoff.benchmark.clients.messages import Buckets, ClientReport, LoadShare
from bakeoff.benchmark.null_store import NoParams, NullStore
from bakeoff.benchmark.open_loop import Arrivals, OpenLoop, arrival_times, arrivals_in, send_on_schedule
from bakeoff.benchmark.passes import drift_of
from bakeoff.benchmark.resources.usage import ResourceUse, Sampler
from bakeoff.benchmark.results.histogram import Histogram
from bakeoff.benchmark.targets import LoadTarget
from bakeoff.pipeline.loops.client_threads import HUNG
from bakeoff.pipeline.loops.closed_loop import closed_loop
from bakeoff.pipeline.loops.loop_times import NOT_RUN, LoopTimes


class ClientShare(Protocol):
    """A share that is ready to begin."""

    hung: bool

    def run(self, at: int, halt: threading.Event) -> ClientReport:
        """Start at this clock reading and return what was measured."""
        ...

    def answered_in(self, begin: int, end: int) -> int:
        """Answers between two readings of the clock."""
        ...


def prepare_share(target: LoadTarget, share: LoadShare) -> ClientShare:
    """Prepare a share: its queries and their due times."""
    if share.null:
        target = replace(target, search=NullStore(NoParams(), Path()).search, full=False)
    return _ClosedLoopShare(target, share) if share.rate is None else _OpenLoopShare(target, share)


class _Share:
    """What both kinds share: the times of answers."""

    def __init__(self, target: LoadTarget, share: LoadShare, numbers: np.ndarray) -> None:
        self._target, self._share = target, share
        self._asked = [target.asked[number % len(target.asked)] for number in numbers.tolist()]
        self._ends = np.empty(0, np.int64)
        self.hung = False

    def answered_in(self, begin: int, end: int) -> int:
        """Answers between two readings of the clock."""
        return int(((self._ends != NOT_RUN) & (self._ends >= begin) & (self._ends <= end)).sum())

    def _drift(self, answered: np.ndarray) -> float | None:
        return drift_of(answered, len(self._target.asked))


class _ClosedLoopShare(_Share):
    """Part of a closed loop: some of its threads, sending each query once or for the load's duration."""

    def __init__(self, target: LoadTarget, share: LoadShare) -> None:
        count = share.requests or len(target.asked)
        super().__init__(target, share, closed_share(share.number, share.clients, share.threads, count))

    def run(self, at: int, halt: threading.Event) -> ClientReport:
        """Run the closed loop from that moment on."""
        share, target = self._share, self._target
        threads = threads_of(share.number, share.clients, share.threads)
        with Sampler(children=False) as sampler:
            loop = closed_loop(
                target.search, self._asked, target.k, target.query, threads=threads,
                seconds=None if share.requests else share.seconds, timeout=share.timeout, deadline=share.deadline,
                halt=halt, keep=True, before=target.connect, begin=at,
            )  # fmt: skip
        self._ends, self.hung = loop.ends, loop.timeouts > 0
        return self._report(loop, sampler.result.client)

    def _report(self, loop: LoopTimes, use: ResourceUse) -> ClientReport:
        tried = len(loop.done) + len(loop.errors) + loop.timeouts
        short = sum(1 for hits in loop.answers if hits is not None and len(hits.ids) < self._target.k)
        return ClientReport(
            began=loop.began,
            ended=loop.began + int(loop.seconds * 1e9),
            intended=len(loop.nanoseconds),
            sent=tried,
            answered=len(loop.done),
            errors=len(loop.errors),
            error=loop.errors[0] if loop.errors else "",
            timeouts=loop.timeouts,
            unsent=len(loop.nanoseconds) - tried,
            short=short,
            total_ns=int(loop.done.sum()),
            drift=self._drift(loop.done),
            latency=Buckets.of(Histogram.of(loop.done, len(loop.errors) + loop.timeouts)),
            lag=None,
            due=0.0,
            sent_last=0.0,
            stopped=loop.stopped,
            use=use,
        )


class _OpenLoopShare(_Share):
    """Part of an open loop's arrivals."""

    def __init__(self, target: LoadTarget, share: LoadShare) -> None:
        assert share.rate is not None
        self._rate = share.rate
        count = arrivals_in(share.rate, share.seconds, share.threads)
        numbers = open_share(share.number, share.clients, count, share.arrivals, share.seed)
        self._due = arrival_times(count, share.rate, share.arrivals, share.seed)[numbers]
        super().__init__(target, share, numbers)

    def run(self, at: int, halt: threading.Event) -> ClientReport:
        """Send each query when it is due after that moment."""
        share, target = self._share, self._target
        with Sampler(children=False) as sampler:
            loop = send_on_schedule(
                target.search, self._asked, target.k, target.query, self._due, rate=self._rate / share.clients,
                workers=share.threads, timeout=share.timeout, deadline=share.deadline, begin=at, halt=halt,
                keep=True, before=target.connect,
            )  # fmt: skip
            stopped = time.perf_counter_ns()
        self._ends, self.hung = loop.ends, HUNG in loop.stopped
        on_duty = stopped if loop.stopped else at + int(share.seconds * 1e9)
        return self._report(loop, max(on_duty, int(loop.ends.max(initial=at))), sampler.result.client)

    def _report(self, loop: OpenLoop, ended: int, use: ResourceUse) -> ClientReport:
        answered = loop.latency[loop.latency != NOT_RUN]
        due, sent_last = loop.sending
        return ClientReport(
            began=loop.began,
            ended=ended,
            intended=len(loop.latency),
            sent=len(loop.latency) - loop.unsent,
            answered=len(answered),
            errors=len(loop.errors),
            error=loop.errors[0] if loop.errors else "",
            timeouts=loop.timeouts,
            unsent=loop.unsent,
            short=0,
            total_ns=int(answered.sum()),
            drift=self._drift(answered),
            latency=Buckets.of(Histogram.of(answered, len(loop.latency) - len(answered))),
            lag=Buckets.of(Histogram.of(loop.lag[loop.lag != NOT_RUN])),
            due=due,
            sent_last=sent_last,
            stopped=loop.stopped,
            use=use,
        )


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
