"""gathering: pieces of work sent to workers and gathered as completed, tried again, never counted twice."""

from __future__ import annotations

import statistics
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from bakeoff.errors import CacheError, SystemFailure, UserError
from bakeoff.protocols import Executor, ResourceRequest

P = TypeVar("P")
TRIES = 3
PAUSES = (0.5, 4.0)
"""Seconds before the second and the third try."""
QUEUED = 2
"""Pieces on the way for each that runs, so that no worker waits for its next one."""
SLOW_SECONDS = 30.0
SLOW_TIMES = 10.0
LOOK_SECONDS = 0.5


class TaskSource(Protocol[P]):
    """Where pieces come from, and where their answers go."""

    def next(self) -> P | None:
        """The next piece, or None when all are given out."""
        ...

    def done(self, piece: P, answer: Any) -> None:
        """Take in the answer of a piece; called once for each, in the order they end."""
        ...

    def name(self, piece: P) -> str:
        """What to call a piece that fails."""
        ...

    @property
    def kept(self) -> str:
        """What becomes of the pieces that are done when another fails, as a sentence."""
        ...


@dataclass(slots=True)
class _Task(Generic[P]):
    """One piece on its way: its tries so far, and when it may be and was sent (seconds of the monotonic clock)."""

    piece: P
    tries: int = 0
    after: float = 0.0
    sent: float = 0.0
    copied: bool = False
    futures: list[Future[Any]] = field(default_factory=list)


class TaskScheduler(Generic[P]):
    """Keeps the workers busy until every piece is done; one that fails three times ends it, and is named."""

    def __init__(
        self,
        executor: Executor,
        work: Callable[[P], Any],
        source: TaskSource[P],
        label: str,
        needs: ResourceRequest,
    ) -> None:
        self._executor, self._work, self._source = executor, work, source
        self._label, self._needs = label, needs
        self._running: dict[Future[Any], _Task[P]] = {}
        self._again: deque[_Task[P]] = deque()
        self._seconds: list[float] = []
        self._given_out = False

    def all(self) -> None:
        """Send and gather until nothing is left; what still runs when it ends otherwise is given up."""
        try:
            self._all()
        finally:
            for future in self._running:
                self._executor.cancel(future)
            self._running.clear()

    def _all(self) -> None:
        while True:
            self._send()
            if not self._running and not self._again and self._given_out:
                return
            ended, _ = wait(self._running, LOOK_SECONDS, FIRST_COMPLETED)
            if not self._running:
                time.sleep(PAUSES[0] / 5)
            for future in ended:
                self._settle(future)
            self._copy_the_slow()

    def _send(self) -> None:
        room = QUEUED * max(1, self._executor.slots) - len(self._running)
        now = time.monotonic()
        for _ in range(len(self._again)):
            task = self._again.popleft()
            if room > 0 and task.after <= now:
                self._start(task)
                room -= 1
            else:
                self._again.append(task)
        while room > 0 and not self._given_out:
            piece = self._source.next()
            self._given_out = piece is None
            if piece is not None:
                self._start(_Task(piece))
                room -= 1

    def _start(self, task: _Task[P]) -> None:
        task.sent = time.monotonic()
        future = self._executor.submit(self._work, task.piece, needs=self._needs)
        task.futures.append(future)
        self._running[future] = task

    def _settle(self, future: Future[Any]) -> None:
        task = self._running.pop(future, None)
        if task is None:  # its copy was quicker, and is counted
            return
        task.futures.remove(future)
        fault = _fault(future)
        if fault is None:
            self._done(task, future.result())
        elif not task.futures:  # else its copy still runs
            self._failed(task, fault)

    def _done(self, task: _Task[P], answer: Any) -> None:
        for other in task.futures:
            self._running.pop(other, None)
            self._executor.cancel(other)
        self._seconds.append(time.monotonic() - task.sent)
        self._source.done(task.piece, answer)

    def _failed(self, task: _Task[P], fault: BaseException) -> None:
        if isinstance(fault, UserError | CacheError):
            raise fault
        task.tries += 1
        if task.tries >= TRIES:
            raise self._named(task.piece, fault) from fault
        task.after = time.monotonic() + PAUSES[task.tries - 1]
        task.copied = False
        self._again.append(task)

    def _named(self, piece: P, fault: BaseException) -> SystemFailure:
        kind = type(fault) if isinstance(fault, SystemFailure) else SystemFailure
        said = str(fault) if isinstance(fault, SystemFailure) else f"{type(fault).__name__}: {fault}"
        return kind(
            f"{self._label}: {self._source.name(piece)} failed {TRIES} times, the last time with "
            f"{said.strip().splitlines()[0]} {self._source.kept}"
        )

    def _copy_the_slow(self) -> None:
        """Send a piece once more that takes far longer than the others did, when there is nothing else to send."""
        if not self._given_out or self._again or not self._seconds:
            return
        slow = max(SLOW_SECONDS, SLOW_TIMES * statistics.median(self._seconds))
        for task in {id(task): task for task in self._running.values()}.values():
            if not task.copied and time.monotonic() - task.sent > slow:
                task.copied = True
                self._start(task)


def _fault(future: Future[Any]) -> BaseException | None:
    try:
        return future.exception()
    except CancelledError as exc:
        return exc
