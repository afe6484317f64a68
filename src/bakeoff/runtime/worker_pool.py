"""blocks: the same work on each of several blocks, done by workers, the answers in the order of the blocks.

For work whose answer is small and goes back into the driver: nothing is written on the way. What the blocks are must
depend on the data alone, so that the answers are the same whoever gives them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from bakeoff.protocols import Executor, ResourceRequest
from bakeoff.runtime.scheduler import TaskScheduler
from bakeoff.runtime.shards import installed_version, same_version

B = TypeVar("B")
R = TypeVar("R")
APART = ResourceRequest(apart=True)


class WorkerPool:
    """Workers that are called when there is work for them, and sent home after it."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self._called = 0

    @contextmanager
    def called(self) -> Iterator[str]:
        """Workers that stay until the end of a block of code; who they are, in a few words."""
        said = self.executor.start()
        self._called += 1
        try:
            yield said
        finally:
            self._called -= 1
            if not self._called:
                self.executor.close()

    def __call__(
        self,
        work: Callable[[B], R],
        blocks: Iterable[B],
        label: str,
        progress: Callable[[int], None] = lambda _number: None,
    ) -> list[R]:
        """The answers of all blocks; `progress` is told the number of each that is done."""
        with self.called():
            return map_blocks(self.executor, work, blocks, label, progress)


def worker_pool(executor: Executor | None) -> WorkerPool | None:
    """The workers of an executor that has processes of its own, else None."""
    return WorkerPool(executor) if executor is not None and executor.slots else None


def map_blocks(
    executor: Executor,
    work: Callable[[B], R],
    blocks: Iterable[B],
    label: str,
    progress: Callable[[int], None] = lambda _number: None,
) -> list[R]:
    """`work(block)` of every block, by workers; one that fails three times is named. Both must be picklable."""
    source = _Blocks[B, R](work, iter(blocks), progress)
    TaskScheduler(executor, _answer, source, label, APART).all()
    return [source.answers[number] for number in range(len(source.answers))]


@dataclass(frozen=True, slots=True)
class _Piece(Generic[B]):
    """One block with what is to be done with it."""

    number: int
    work: Callable[[B], Any]
    block: B
    version: str = field(default_factory=installed_version)


class _Blocks(Generic[B, R]):
    """Gives out the blocks and keeps their answers."""

    kept = "The same command tries again."

    def __init__(self, work: Callable[[B], R], blocks: Iterator[B], progress: Callable[[int], None]) -> None:
        self._work, self._blocks, self._progress = work, enumerate(blocks), progress
        self.answers: dict[int, R] = {}

    def next(self) -> _Piece[B] | None:
        """The next block."""
        return next((_Piece(number, self._work, block) for number, block in self._blocks), None)

    def done(self, piece: _Piece[B], answer: R) -> None:
        """Keep an answer."""
        self.answers[piece.number] = answer
        self._progress(piece.number)

    def name(self, piece: _Piece[B]) -> str:
        """A block by its number."""
        return f"block {piece.number + 1}"


def _answer(piece: _Piece[Any]) -> Any:
    same_version(piece.version)
    return piece.work(piece.block)
