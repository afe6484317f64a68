"""Arrays of scores: their types, missing values (NaN enters no mean), and work in blocks of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
IntArray: TypeAlias = npt.NDArray[np.int64]

NOISE = 1e-12
"""Differences below this are rounding of sums, not scores; an interval end this near to 0 is 0."""

B = TypeVar("B")
R = TypeVar("R")
COLUMNS_PER_BLOCK = 512
WORTH = 2e11
"""Products of two numbers, about ten seconds of one core; less is done here, whoever is given."""


def as_columns(values: npt.ArrayLike) -> FloatArray:
    """The values as a float64 matrix of queries × columns."""
    array = np.asarray(values, dtype=np.float64)
    return array[:, None] if array.ndim == 1 else array


def without_nan(values: npt.ArrayLike) -> FloatArray:
    """The computed values of one column."""
    array = np.asarray(values, dtype=np.float64)
    return array[~np.isnan(array)]


def groups_by_mask(columns: FloatArray) -> list[tuple[IntArray, BoolArray]]:
    """Columns that share the same computed queries, as (column numbers, query mask)."""
    masks = ~np.isnan(columns)
    if masks.all():
        return [(np.arange(columns.shape[1]), np.ones(columns.shape[0], dtype=np.bool_))]
    found: dict[bytes, list[int]] = {}
    for number in range(columns.shape[1]):
        found.setdefault(masks[:, number].tobytes(), []).append(number)
    return [(np.array(numbers, dtype=np.int64), masks[:, numbers[0]]) for numbers in found.values()]


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
