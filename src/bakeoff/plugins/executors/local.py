"""Runs work on this machine: threads for work that waits or leaves Python quickly, processes for the rest."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Annotated, ClassVar

from pydantic import Field

from bakeoff.plugins._settings import Settings
from bakeoff.protocols import ANYWHERE, ResourceRequest


class LocalParams(Settings):
    """Numbers of threads and processes."""

    workers: Annotated[int | None, Field(ge=1, le=256, description="threads; None: one per core")] = None
    processes: Annotated[
        int,
        Field(
            ge=0,
            le=256,
            description="processes that chunk and embed, each with the model, and that score, compare and find exact "
            "neighbours where there is much of it; 0: this process does it all, with the threads it starts by itself",
        ),
    ] = 0


class LocalExecutor:
    """A pool of threads, and one of processes that starts on demand."""

    version: ClassVar[str] = "1"
    Params = LocalParams

    def __init__(self, params: LocalParams) -> None:
        self._workers = params.workers or os.cpu_count()
        self._threads: ThreadPoolExecutor | None = None
        self._count = params.processes
        self._processes: ProcessPoolExecutor | None = None
        self._apart: set[Future[object]] = set()
        self._lock = threading.Lock()

    @property
    def slots(self) -> int:
        """Number of processes."""
        return self._count

    def start(self) -> str:
        """Return at once: threads and processes start with their first work."""
        return f"{self._count} processes" if self._count else "this process"

    def submit(
        self, work: Callable[..., object], *args: object, needs: ResourceRequest = ANYWHERE
    ) -> Future[object]:
        """Start work in a thread, or in a process if it needs one and there are any."""
        if not (needs.apart and self._count):
            return self._crew().submit(work, *args)
        with self._lock:
            try:
                future = self._pool().submit(work, *args)
            except BrokenProcessPool:  # a worker was killed: retry its work in new ones
                self._processes = None
                future = self._pool().submit(work, *args)
            self._apart.add(future)
        future.add_done_callback(self._apart.discard)
        return future

    def as_completed(self, futures: Iterable[Future[object]]) -> Iterator[Future[object]]:
        """Yield futures as they complete."""
        return concurrent.futures.as_completed(futures)

    def cancel(self, future: Future[object]) -> None:
        """Cancel work that has not started; running work finishes."""
        future.cancel()

    def close(self) -> None:
        """Stop threads once their current work is done, and processes at once: nobody waits for their work."""
        with self._lock:
            threads, self._threads = self._threads, None
            processes, self._processes = self._processes, None
        if threads is not None:
            threads.shutdown(wait=True, cancel_futures=True)
        if processes is not None:
            if self._apart:  # after an interrupt, or a duplicate of work that is done
                for worker in list(processes._processes.values()):
                    worker.terminate()
            processes.shutdown(wait=True, cancel_futures=True)

    def _crew(self) -> ThreadPoolExecutor:
        with self._lock:
            self._threads = self._threads or ThreadPoolExecutor(self._workers)
            return self._threads

    def _pool(self) -> ProcessPoolExecutor:
        if self._processes is None:
            fresh = multiprocessing.get_context("spawn")  # forking a process with threads may hang
            threads = max(1, (os.cpu_count() or 1) // self._count)
            self._processes = ProcessPoolExecutor(
                self._count, mp_context=fresh, initializer=_share, initargs=(threads,)
            )
        return self._processes


def _share(threads: int) -> None:
    """Leave the other cores to the other processes; called in a new process before it loads anything."""
    for name in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS"):
        os.environ.setdefault(name, str(threads))
