"""The speed-up of two independent processes on two cores: the limit for every row about two workers."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from typing import Any


class Alone:
    """Processes that do the same work side by side and send nothing but the time; started once, closed by `with`."""

    def __init__(self, work: Callable[[], object], processes: int) -> None:
        fork = multiprocessing.get_context("fork")
        self._start, self._end = fork.Barrier(processes + 1), fork.Barrier(processes + 1)
        self._running = [fork.Process(target=self._go, args=(work,), daemon=True) for _ in range(processes)]
        for process in self._running:
            process.start()

    def __enter__(self) -> Alone:
        return self

    def __exit__(self, *_: Any) -> None:
        for process in self._running:
            process.kill()
            process.join()

    def seconds(self) -> float:
        """Wall seconds until every process has done the work once."""
        self._start.wait()
        begin = time.perf_counter()
        self._end.wait()
        return time.perf_counter() - begin

    def _go(self, work: Callable[[], object]) -> None:
        while True:
            self._start.wait()
            work()
            self._end.wait()
