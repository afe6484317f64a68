"""A load client: it connects to the driver, opens the target and sends its share of the load.

It runs in a separate process, on this machine or another. It receives orders and reports over one connection, as
lines of JSON; what is measured is measured here, on this machine's clock.
"""

from __future__ import annotations

import json
import os
import queue
import socket
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from bakeoff.benchmark.clients.messages import (
    AnswerCount,
    ClientCommand,
    ClockReply,
    Hello,
    Line,
    LoadShare,
    LostError,
    Message,
    Ready,
)
from bakeoff.benchmark.load.experiment_targets import SystemRecipe
from bakeoff.benchmark.loop_report import LoopReport, closed_report, open_report
from bakeoff.benchmark.null_store import NoParams, NullStore
from bakeoff.benchmark.open_loop import Arrivals, arrival_times, arrivals_in, send_on_schedule
from bakeoff.benchmark.resources.usage import Sampler
from bakeoff.benchmark.session import ENGINE_FAULTS
from bakeoff.benchmark.targets import LoadTarget, TargetSpec, VectorRecipe
from bakeoff.errors import BakeoffError, DataError
from bakeoff.pipeline.loops.client_threads import HUNG
from bakeoff.pipeline.loops.closed_loop import closed_loop, warm_up
from bakeoff.pipeline.loops.loop_times import NOT_RUN
from bakeoff.runtime.scheduler import installed_version
from bakeoff.runtime.signals import Terminated, TerminationGuard
from bakeoff.storage.temp_dir import TempDir
from bakeoff.types import JsonObject


class ClientShare:
    """A share that is ready to begin: some threads of a closed loop, or some arrivals of an open one."""

    def __init__(self, target: LoadTarget, share: LoadShare) -> None:
        self._target, self._share = target, share
        if share.null:
            self._target = replace(target, search=NullStore(NoParams(), Path()).search, full=False)
        if share.rate is None:
            count = share.requests or len(target.queries)
            numbers = closed_share(share.number, share.clients, share.threads, count)
        else:
            count = arrivals_in(share.rate, share.seconds, share.threads)
            numbers = open_share(share.number, share.clients, count, share.arrivals, share.seed)
            self._due = arrival_times(count, share.rate, share.arrivals, share.seed)[numbers]
        self._asked = [target.queries[number % len(target.queries)] for number in numbers.tolist()]
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


RECIPES: dict[str, type[TargetSpec]] = {one.kind: one for one in (VectorRecipe, SystemRecipe)}
CALL_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Call:
    """The driver's address, the client's token, and the client's number."""

    host: str
    port: int
    word: str = field(repr=False)
    number: int


def main() -> int:
    """A client as a program; its invitation comes on standard input."""
    ending = TerminationGuard()
    ending.listen()
    try:
        call = Call(**json.loads(sys.stdin.readline()))
        work(call)
    except (Terminated, ConnectionRefusedError):  # terminated, or the driver ended before we connected
        return ending.code(1)
    return 0


def work(call: Call) -> None:
    """Serve in this process; a process with a hanging search is not reused."""
    if serve(call):
        os._exit(0)  # a hanging search ends with its process


def serve(call: Call) -> bool:
    """Follow the driver's orders until it releases the client; True if a search still hangs."""
    link = socket.create_connection((call.host, call.port), CALL_SECONDS)
    with TempDir("client") as home:
        client = Client(Line(link), home)
        try:
            client.send(
                Hello(
                    word=call.word,
                    number=call.number,
                    host=socket.gethostname(),
                    pid=os.getpid(),
                    version=installed_version(),
                )
            )
            client.obey()
        except LostError:
            pass  # the driver is gone
        finally:
            client.close()
    return client.hung


class Client:
    """One client's side of the conversation; a separate thread listens, so that a stop works during a load."""

    def __init__(self, line: Line, home: Path) -> None:
        self._line, self._home = line, home
        self._orders: queue.Queue[tuple[int, ClientCommand] | None] = queue.Queue()
        self._halt = threading.Event()
        self._target: LoadTarget | None = None
        self._asking: ClientShare | None = None
        self.hung = False
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, message: Message) -> None:
        """Send a message to the driver."""
        self._line.send(message.model_dump())

    def obey(self) -> None:
        """Run orders in turn; report a failure and let the driver decide."""
        while (order := self._orders.get()) is not None and order[1].do != "go":
            try:
                self._do(*order)
            except BakeoffError as exc:
                self._line.send({"failed": str(exc)})
            except ENGINE_FAULTS as exc:
                self._line.send({"failed": f"{type(exc).__name__}: {exc}"})

    def close(self) -> None:
        """Close the target, unless a search still hangs in it, and the connection."""
        if self._target is not None and not self.hung:
            self._target.close()
        self._line.close()

    def _listen(self) -> None:
        try:
            while True:
                order = ClientCommand.read(self._line.hear(None))
                if order.do == "stop":
                    self._halt.set()
                else:
                    self._orders.put((self._line.heard_at, order))
        except LostError:
            self._halt.set()
            self._orders.put(None)

    def _do(self, heard_at: int, order: ClientCommand) -> None:
        if order.do == "clock":
            self.send(ClockReply(heard=heard_at, wall=time.time_ns(), said=time.perf_counter_ns()))
        elif order.do == "open":
            self._open(order)
        elif order.do == "take" and order.load is not None:
            self._asking = ClientShare(self._open_target(), order.load)
            self.send(Ready(ready=True))
        elif order.do == "begin":
            self._begin(order.at)
        elif order.do == "count" and self._asking is not None:
            self.send(AnswerCount(answered=self._asking.answered_in(order.at, order.until)))

    def _open(self, order: ClientCommand) -> None:
        self._target = target = open_recipe(dict(order.recipe), self._home)
        warm_up(target.search, target.others, target.k, target.query, timeout=order.timeout)
        self.send(Ready(ready=True))

    def _begin(self, at: int) -> None:
        assert self._asking is not None
        report = self._asking.run(at, self._halt)
        self.hung = self.hung or self._asking.hung
        self.send(report)

    def _open_target(self) -> LoadTarget:
        assert self._target is not None
        return self._target


def open_recipe(recipe: JsonObject, home: Path) -> LoadTarget:
    """The target of a recipe, opened in this process."""
    kind = recipe.pop("kind", None)
    if kind not in RECIPES:
        raise DataError(f"a client got a recipe of the kind {kind!r}.")
    return RECIPES[kind](**recipe).open(home)


if __name__ == "__main__":
    sys.exit(main())
