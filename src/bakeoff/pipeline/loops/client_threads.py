"""Client threads and who watches them: a hung search is left behind, Ctrl-C keeps what was measured."""

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
"""How long Ctrl-C waits for searches under way."""
INTERRUPTED = "stopped by Ctrl-C"
HUNG = "did not come back"
GIVEN_UP = 25
"""After this many failures in a row the engine counts as gone, and the loop ends."""
LAST_FAILED = 5
"""A loop whose last searches all failed, at least this many, lost its engine before the end."""
GONE = "searches in a row failed"


@dataclass(slots=True)
class ClientThreads:
    """Shared state of the threads of one loop; `begun[w]` is when thread w sent its present query, 0 when idle.

    Threads tell themselves that they ended: a `join` broken off by Ctrl-C takes a running thread for one that ended.
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
        """Open a client's connection by an unmeasured search, then wait for the other clients and for `begin`.

        A search that fails here fails again, and is counted, when it is measured.
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
        """The reading of the clock at which all clients begin: the first one's, `later` seconds on."""
        with self.lock:
            if self.start is None:
                self.start = time.perf_counter_ns() + int(later * 1e9)
            return self.start

    def count_failure(self, exc: BaseException) -> None:
        """Count a failure; too many in a row end the loop. A success sets `failing` back to 0."""
        self.failing += 1
        self.last_error = str(exc)
        if self.failing >= GIVEN_UP:
            _halt(self, self._gone())

    def look_back(self) -> None:
        """Mark a loop that came to its end while its last searches failed."""
        if not self.stopped and self.failing >= LAST_FAILED:
            self.stopped = self._gone()

    def _gone(self) -> str:
        return f"{self.failing} {GONE}, the last with: {self.last_error.rstrip('.')}"


def wait_until(moment: int | None, stop: threading.Event) -> None:
    """Wait for a reading of the clock; a stop ends the wait."""
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
    """Run `work(crew, number)` on daemon threads until all end, one hangs, the deadline passes or Ctrl-C comes.

    `timeout` is seconds for one query, `deadline` seconds for all; `halt` is a Ctrl-C that came elsewhere. Ctrl-C goes
    on as Ctrl-C when the threads have ended, except to who says `keep`: it must look at `stopped` and end too. A fault
    in a thread is raised here.
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
            thread.join()  # a thread's connections are closed with it: the next loop finds them closed
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
    """Wait for the team; the first Ctrl-C stops it, the second does not wait for it."""
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
    """Until all that were started have ended, or nobody is waited for any longer."""
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
                return  # what hangs is left behind on its daemon thread


def _look(crew: ClientThreads, timeout: float, begin: float, deadline: float | None) -> None:
    """Stop the crew where a search takes too long, or all of it does."""
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
