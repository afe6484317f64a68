"""Client threads and their watchdog: a hung search is abandoned, and Ctrl-C keeps what was measured."""

from __future__ import annotations

import contextlib
import threading
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field

from bakeoff.errors import SystemFailure

WATCH_SECONDS = 0.05
PATIENCE_SECONDS = 2.0
"""Seconds that Ctrl-C waits for running searches."""
INTERRUPTED = "stopped by Ctrl-C"
HUNG = "did not come back"
GIVEN_UP = 25
"""After this many consecutive failures the engine counts as gone, and the loop ends."""
LAST_FAILED = 5
"""If at least this many searches at the end of a loop all failed, the engine was lost before the end."""
GONE = "searches in a row failed"


@dataclass(slots=True)
class ClientThreads:
    """Shared state of the threads of one loop; `begun[w]` is when thread w sent its current query, 0 if idle.

    Threads report their own end, because a `join` interrupted by Ctrl-C takes a running thread for a finished
    one.
    """

    begun: array[int]
    ended: list[int] = field(default_factory=list)
    all_ended: threading.Event = field(default_factory=threading.Event)
    stop: threading.Event = field(default_factory=threading.Event)
    failures: list[BaseException] = field(default_factory=list)
    stopped: str = ""
    interrupt: KeyboardInterrupt | None = None
    hung: int = 0
    failing: int = 0
    last_error: str = ""
    start: int | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    ready: list[int] = field(default_factory=list)
    all_ready: threading.Event = field(default_factory=threading.Event)

    def prepare(self, number: int, before: Callable[[], object] | None, begin: int | None) -> None:
        """Open a client's connection with an unmeasured search, then wait for the other clients and for `begin`.

        A search that fails here will fail again, and be counted, when it is measured.
        """
        if before is not None:
            self.begun[number] = time.perf_counter_ns()
            with contextlib.suppress(SystemFailure):
                before()
            self.begun[number] = 0
        self.ready.append(number)
        if len(self.ready) == len(self.begun):
            self.all_ready.set()
        while not (self.all_ready.wait(WATCH_SECONDS) or self.stop.is_set()):
            pass
        wait_until(begin, self.stop)

    def begin_at(self, later: float = 0.0) -> int:
        """Clock reading at which all clients begin: `later` seconds after the first one is ready."""
        with self.lock:
            if self.start is None:
                self.start = time.perf_counter_ns() + int(later * 1e9)
            return self.start

    def count_failure(self, exc: BaseException) -> None:
        """Count a failure; too many in a row end the loop. A success resets `failing` to 0."""
        self.failing += 1
        self.last_error = str(exc)
        if self.failing >= GIVEN_UP:
            _halt(self, self._gone())

    def look_back(self) -> None:
        """Mark a loop that finished while its last searches were failing."""
        if not self.stopped and self.failing >= LAST_FAILED:
            self.stopped = self._gone()

    def _gone(self) -> str:
        return f"{self.failing} {GONE}, the last with: {self.last_error.rstrip('.')}"


def wait_until(moment: int | None, stop: threading.Event) -> None:
    """Wait until a clock reading, or until `stop` is set."""
    while moment is not None and (left := (moment - time.perf_counter_ns()) / 1e9) > 0 and not stop.is_set():
        stop.wait(left) if left > 1 else time.sleep(left)


def run_client_threads(
    work: Callable[[ClientThreads, int], None],
    threads: int,
    *,
    timeout: float,
    deadline: float | None = None,
    halt: threading.Event | None = None,
    keep: bool = False,
) -> ClientThreads:
    """Run `work(crew, number)` on daemon threads until all end, one hangs, the deadline passes or Ctrl-C arrives.

    `timeout` is seconds per query, `deadline` seconds for all; `halt` signals a Ctrl-C received elsewhere.
    Ctrl-C is raised again once the threads have ended, unless `keep` is set: then the caller must check
    `stopped`. An exception in a thread is raised here.
    """
    crew = ClientThreads(array("q", [0]) * threads)

    def body(number: int) -> None:
        try:
            work(crew, number)
        except BaseException as exc:  # noqa: BLE001 - carried to the caller, who raises it
            crew.failures.append(exc)
            crew.stop.set()
        finally:
            crew.ended.append(number)
            if len(crew.ended) == threads:
                crew.all_ended.set()

    team = [threading.Thread(target=body, args=(number,), daemon=True) for number in range(threads)]
    try:
        for thread in team:
            thread.start()
    except KeyboardInterrupt as exc:
        _interrupt(crew, exc)
    _watch(crew, team, timeout, deadline, halt)
    if crew.all_ended.is_set():
        for thread in team:
            thread.join()  # a thread's connections close with it, so the next loop can't use them
    crew.look_back()
    if crew.failures:
        raise crew.failures[0]
    if crew.interrupt is not None and not keep:
        raise crew.interrupt
    return crew


def _watch(
    crew: ClientThreads,
    team: list[threading.Thread],
    timeout: float,
    deadline: float | None,
    halt: threading.Event | None,
) -> None:
    """Wait for the threads; the first Ctrl-C stops them, the second doesn't wait."""
    begin = time.perf_counter()
    while True:
        try:
            _wait(crew, team, timeout, begin, deadline, halt)
            return
        except KeyboardInterrupt as exc:
            if crew.stopped == INTERRUPTED:
                return
            _interrupt(crew, exc)


def _wait(
    crew: ClientThreads,
    team: list[threading.Thread],
    timeout: float,
    begin: float,
    deadline: float | None,
    halt: threading.Event | None,
) -> None:
    """Wait until all started threads have ended or been abandoned."""
    grace = None
    while (left := sum(thread.ident is not None for thread in team) - len(crew.ended)) > 0:
        crew.all_ended.wait(WATCH_SECONDS)
        _look(crew, timeout, begin, deadline)
        if halt is not None and halt.is_set():
            _halt(crew, INTERRUPTED)
        if crew.stop.is_set():
            patience = min(timeout, PATIENCE_SECONDS) if crew.stopped == INTERRUPTED else timeout
            grace = grace or time.perf_counter() + patience
            if crew.hung >= left or time.perf_counter() > grace:
                return  # a hung search is abandoned on its daemon thread


def _look(crew: ClientThreads, timeout: float, begin: float, deadline: float | None) -> None:
    """Stop the threads if one search, or the whole loop, takes too long."""
    now = time.perf_counter_ns()
    crew.hung = sum(1 for sent in crew.begun if sent and now - sent > timeout * 1e9)
    if crew.hung:
        _halt(crew, f"a search {HUNG} within {timeout:g} s")
    if deadline is not None and time.perf_counter() - begin > deadline:
        _halt(crew, f"the limit of {deadline:g} s was reached")


def _interrupt(crew: ClientThreads, exc: KeyboardInterrupt) -> None:
    crew.interrupt = exc
    _halt(crew, INTERRUPTED)


def _halt(crew: ClientThreads, why: str) -> None:
    crew.stopped = crew.stopped or why
    crew.stop.set()
