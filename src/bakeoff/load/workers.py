"""Client threads and who watches them: a hung search is left behind, Ctrl-C keeps what was measured."""

from __future__ import annotations

import sys
import threading
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

WATCH_SECONDS = 0.05
PATIENCE_SECONDS = 2.0
"""How long Ctrl-C waits for searches under way."""
INTERRUPTED = "stopped by Ctrl-C"


@dataclass(slots=True)
class Crew:
    """Shared state of the threads of one loop; `begun[w]` is when thread w sent its present query, 0 when idle."""

    begun: array[int]
    stop: threading.Event = field(default_factory=threading.Event)
    failures: list[BaseException] = field(default_factory=list)
    stopped: str = ""
    hung: int = 0


def run_crew(
    work: Callable[[Crew, int], None], threads: int, *, timeout: float, deadline: float | None = None
) -> Crew:
    """Run `work(crew, number)` on daemon threads until all end, one hangs, the deadline passes or Ctrl-C comes.

    `timeout` is seconds for one query, `deadline` seconds for all. A fault in a thread is raised here.
    """
    crew = Crew(array("q", [0]) * threads)

    def body(number: int) -> None:
        try:
            _hold_engine()
            work(crew, number)
        except BaseException as exc:  # noqa: BLE001 - carried to the caller, who raises it
            crew.failures.append(exc)
            crew.stop.set()

    team = [threading.Thread(target=body, args=(number,), daemon=True) for number in range(threads)]
    for thread in team:
        thread.start()
    _watch(crew, team, timeout, deadline)
    if crew.failures:
        raise crew.failures[0]
    return crew


def _hold_engine() -> None:
    """One FAISS thread a search on this client thread, so that client threads are what is counted.

    OpenMP keeps the number by thread, which is why it is set on each one.
    """
    faiss: Any = sys.modules.get("faiss")
    if faiss is not None:
        faiss.omp_set_num_threads(1)


def _watch(crew: Crew, team: list[threading.Thread], timeout: float, deadline: float | None) -> None:
    """Wait for the team, asking the threads themselves: a count of ours could be lost to an interrupt."""
    begin = time.perf_counter()
    grace = None
    while left := [thread for thread in team if thread.is_alive()]:
        try:
            left[0].join(WATCH_SECONDS)
            _look(crew, timeout, begin, deadline)
        except KeyboardInterrupt:
            if crew.stopped == INTERRUPTED:
                return  # the second Ctrl-C does not wait
            _halt(crew, INTERRUPTED)
        if crew.stop.is_set():
            patience = min(timeout, PATIENCE_SECONDS) if crew.stopped == INTERRUPTED else timeout
            grace = grace or time.perf_counter() + patience
            if crew.hung >= len(left) or time.perf_counter() > grace:
                return  # what hangs is left behind on its daemon thread


def _look(crew: Crew, timeout: float, begin: float, deadline: float | None) -> None:
    """Stop the crew where a search takes too long, or all of it does."""
    now = time.perf_counter_ns()
    crew.hung = sum(1 for sent in crew.begun if sent and now - sent > timeout * 1e9)
    if crew.hung:
        _halt(crew, f"a search did not come back within {timeout:g} s")
    if deadline is not None and time.perf_counter() - begin > deadline:
        _halt(crew, f"the limit of {deadline:g} s was reached")


def _halt(crew: Crew, why: str) -> None:
    crew.stopped = crew.stopped or why
    crew.stop.set()
