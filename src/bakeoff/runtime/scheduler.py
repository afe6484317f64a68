"""Runs tasks on workers: retries failed ones, duplicates very slow ones, counts every answer once."""

from __future__ import annotations

import statistics
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache as once
from importlib.metadata import version
from typing import Generic, Protocol, TypeVar

from bakeoff.errors import CacheError, SettingError, SystemFailure, UserError, describe_error
from bakeoff.protocols import Executor, ResourceRequest
from bakeoff.runtime.signals import raise_if_interrupted

B = TypeVar("B")
P = TypeVar("P")
R = TypeVar("R")
A_contra = TypeVar("A_contra", contravariant=True)
TRIES = 3
PAUSES = (0.5, 4.0)
"""Seconds before the second and third attempt."""
QUEUED = 2
"""Tasks submitted per running one, so that no worker waits for its next task."""
SLOW_SECONDS = 30.0
SLOW_TIMES = 10.0
POLL_SECONDS = 0.5
APART = ResourceRequest(apart=True)


@once
def installed_version() -> str:
    """The version of bakeoff in this process."""
    return version("bakeoff")


def check_version(expected: str) -> None:
    """Raise for work from another version of bakeoff: its results may differ."""
    if expected != installed_version():
        raise SettingError(
            f"a worker has bakeoff {installed_version()}, but the run has {expected}. Install the same "
            "version on every node."
        )


class WorkerPool:
    """Workers that are started on demand and stopped afterwards."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self._users = 0

    @contextmanager
    def keep_running(self) -> Iterator[str]:
        """Start the workers, or share those that run, until the block ends; yields a short description of them."""
        description = self.executor.start()
        self._users += 1
        try:
            yield description
        finally:
            self._users -= 1
            if not self._users:
                self.executor.close()

    def __call__(
        self,
        work: Callable[[B], R],
        blocks: Iterable[B],
        label: str,
        progress: Callable[[int], None] = lambda _number: None,
    ) -> list[R]:
        """Results of all blocks in order; `progress` receives the number of each finished block."""
        with self.keep_running():
            return map_blocks(self.executor, work, blocks, label, progress)


def worker_pool(executor: Executor | None) -> WorkerPool | None:
    """The workers of an executor that has its own processes, else None."""
    return WorkerPool(executor) if executor is not None and executor.slots else None


def map_blocks(
    executor: Executor,
    work: Callable[[B], R],
    blocks: Iterable[B],
    label: str,
    progress: Callable[[int], None] = lambda _number: None,
) -> list[R]:
    """`work(block)` of every block on workers, in block order; both must be picklable.

    For small results, which return to the driver and are not written. Blocks must be formed from the data
    alone, so that results don't depend on the workers.
    """
    source = _Blocks[B, R](work, iter(blocks), progress)
    TaskScheduler(executor, _answer, source, label=label, needs=APART).run()
    return [source.answers[number] for number in range(len(source.answers))]


@dataclass(frozen=True, slots=True)
class _Block(Generic[B, R]):
    """One block and the function to apply to it."""

    number: int
    work: Callable[[B], R]
    block: B
    version: str = field(default_factory=installed_version)


class _Blocks(Generic[B, R]):
    """Hands out the blocks and collects their results."""

    after_failure = "Run the same command to try again."

    def __init__(self, work: Callable[[B], R], blocks: Iterator[B], progress: Callable[[int], None]) -> None:
        self._work, self._blocks, self._progress = work, enumerate(blocks), progress
        self.answers: dict[int, R] = {}

    def next(self) -> _Block[B, R] | None:
        """The next block."""
        return next((_Block(number, self._work, block) for number, block in self._blocks), None)

    def done(self, task: _Block[B, R], answer: R) -> None:
        """Store an answer."""
        self.answers[task.number] = answer
        self._progress(task.number)

    def name(self, task: _Block[B, R]) -> str:
        """A block by its number."""
        return f"block {task.number + 1}"


def _answer(task: _Block[B, R]) -> R:
    check_version(task.version)
    return task.work(task.block)


class TaskSource(Protocol[P, A_contra]):
    """Where tasks come from, and where their results go."""

    def next(self) -> P | None:
        """The next task, or None when there are no more."""
        ...

    def done(self, task: P, answer: A_contra) -> None:
        """Receive the result of a task; called once per task, in order of completion."""
        ...

    def name(self, task: P) -> str:
        """What to call a task that fails."""
        ...

    @property
    def after_failure(self) -> str:
        """What happens to finished tasks when another fails, as a sentence."""
        ...


@dataclass(slots=True)
class _Attempt(Generic[P, R]):
    """A submitted task: its failed attempts, and when it may be and was submitted (monotonic seconds)."""

    task: P
    tries: int = 0
    after: float = 0.0
    submitted: float = 0.0
    duplicated: bool = False
    futures: list[Future[R]] = field(default_factory=list)


class TaskScheduler(Generic[P, R]):
    """Keeps the workers busy until every task is done; a task that fails three times raises an error."""

    def __init__(
        self,
        executor: Executor,
        work: Callable[[P], R],
        source: TaskSource[P, R],
        *,
        label: str,
        needs: ResourceRequest,
    ) -> None:
        self._executor, self._work, self._source = executor, work, source
        self._label, self._needs = label, needs
        self._running: dict[Future[R], _Attempt[P, R]] = {}
        self._waiting: deque[_Attempt[P, R]] = deque()
        self._seconds: list[float] = []
        self._exhausted = False

    def run(self) -> None:
        """Submit and collect until nothing is left; an error cancels running tasks."""
        try:
            self._run()
        finally:
            for future in self._running:
                self._executor.cancel(future)
            self._running.clear()

    def _run(self) -> None:
        while True:
            raise_if_interrupted()
            self._submit()
            if not self._running and not self._waiting and self._exhausted:
                return
            ended, _ = wait(self._running, POLL_SECONDS, FIRST_COMPLETED)
            if not self._running:
                time.sleep(PAUSES[0] / 5)
            for future in ended:
                self._collect(future)
            self._duplicate_slow_tasks()

    def _submit(self) -> None:
        room = QUEUED * max(1, self._executor.slots) - len(self._running)
        now = time.monotonic()
        for _ in range(len(self._waiting)):
            attempt = self._waiting.popleft()
            if room > 0 and attempt.after <= now:
                self._start(attempt)
                room -= 1
            else:
                self._waiting.append(attempt)
        while room > 0 and not self._exhausted:
            task = self._source.next()
            self._exhausted = task is None
            if task is not None:
                self._start(_Attempt(task))
                room -= 1

    def _start(self, attempt: _Attempt[P, R]) -> None:
        attempt.submitted = time.monotonic()
        future = self._executor.submit(self._work, attempt.task, needs=self._needs)
        attempt.futures.append(future)
        self._running[future] = attempt

    def _collect(self, future: Future[R]) -> None:
        attempt = self._running.pop(future, None)
        if attempt is None:  # its duplicate was faster, and is counted
            return
        attempt.futures.remove(future)
        error = _error_of(future)
        if error is None:
            self._finish(attempt, future.result())
        elif not attempt.futures:  # otherwise its duplicate still runs
            self._retry(attempt, error)

    def _finish(self, attempt: _Attempt[P, R], answer: R) -> None:
        for other in attempt.futures:
            self._running.pop(other, None)
            self._executor.cancel(other)
        self._seconds.append(time.monotonic() - attempt.submitted)
        self._source.done(attempt.task, answer)

    def _retry(self, attempt: _Attempt[P, R], error: BaseException) -> None:
        if isinstance(error, UserError | CacheError):
            raise error
        attempt.tries += 1
        if attempt.tries >= TRIES:
            raise self._failure(attempt.task, error) from error
        attempt.after = time.monotonic() + PAUSES[attempt.tries - 1]
        attempt.duplicated = False
        self._waiting.append(attempt)

    def _failure(self, task: P, error: BaseException) -> SystemFailure:
        kind = type(error) if isinstance(error, SystemFailure) else SystemFailure
        return kind(
            f"{self._label}: {self._source.name(task)} failed {TRIES} times, the last time with "
            f"{describe_error(error).strip().splitlines()[0]} {self._source.after_failure}"
        )

    def _duplicate_slow_tasks(self) -> None:
        """Submit a task again if it takes far longer than the others did and nothing else is left."""
        if not self._exhausted or self._waiting or not self._seconds:
            return
        slow = max(SLOW_SECONDS, SLOW_TIMES * statistics.median(self._seconds))
        for attempt in {id(one): one for one in self._running.values()}.values():
            if not attempt.duplicated and time.monotonic() - attempt.submitted > slow:
                attempt.duplicated = True
                self._start(attempt)


def _error_of(future: Future[R]) -> BaseException | None:
    try:
        return future.exception()
    except CancelledError as exc:
        return exc
