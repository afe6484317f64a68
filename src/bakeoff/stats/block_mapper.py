"""Where the large sums of a comparison are made: here, or by whoever is given, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from bakeoff.stats.arrays import FloatArray

B = TypeVar("B")
R = TypeVar("R")
COLUMNS_PER_BLOCK = 512
WORTH = 2e11
"""Products of two numbers, about ten seconds of one core; less is done here, whoever is given."""


class BlockMapper(Protocol):
    """Does the same work on every block and gives the answers in the order of the blocks."""

    def __call__(self, work: Callable[[B], R], blocks: Iterable[B], label: str) -> list[R]:
        """The answers; `label` names the work where it fails."""
        ...


def worth_parallel(columns: FloatArray, times: int) -> bool:
    """Whether sums over `times` random draws of the queries are enough work to be given to others."""
    queries, count = columns.shape
    return count > COLUMNS_PER_BLOCK and queries * count * times >= WORTH


def in_blocks(columns: FloatArray) -> list[FloatArray]:
    """The columns in blocks; where one begins depends on their number alone."""
    return [
        columns[:, start : start + COLUMNS_PER_BLOCK]
        for start in range(0, columns.shape[1], COLUMNS_PER_BLOCK)
    ]
