"""Score arrays: their types, missing values (NaN enters no mean), and work in blocks of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
IntArray: TypeAlias = npt.NDArray[np.int64]

NOISE = 1e-12
"""Smaller differences are rounding errors; an interval end this close to 0 is 0."""

B = TypeVar("B")
R = TypeVar("R")
COLUMNS_PER_BLOCK = 512
PARALLEL_FROM = 2e11
"""Multiplications that take about ten seconds on one core; less work stays in this process."""


def as_columns(values: npt.ArrayLike) -> FloatArray:
    """The values as a float64 matrix of queries × columns."""
    array = np.asarray(values, dtype=np.float64)
    return array[:, None] if array.ndim == 1 else array


def without_nan(values: npt.ArrayLike) -> FloatArray:
    """The non-NaN values of one column."""
    array = np.asarray(values, dtype=np.float64)
    return array[~np.isnan(array)]


def groups_by_mask(columns: FloatArray) -> list[tuple[IntArray, BoolArray]]:
    """Columns that share the same scored queries, as (column numbers, query mask)."""
    masks = ~np.isnan(columns)
    if masks.all():
        return [(np.arange(columns.shape[1]), np.ones(columns.shape[0], dtype=np.bool_))]
    by_mask: dict[bytes, list[int]] = {}
    for number in range(columns.shape[1]):
        by_mask.setdefault(masks[:, number].tobytes(), []).append(number)
    return [(np.array(numbers, dtype=np.int64), masks[:, numbers[0]]) for numbers in by_mask.values()]


class BlockMapper(Protocol):
    """Applies a function to every block and returns the results in block order."""

    def __call__(self, work: Callable[[B], R], blocks: Iterable[B], label: str) -> list[R]:
        """Return the results; `label` names the work in errors."""
        ...


def worth_parallel(columns: FloatArray, draws: int) -> bool:
    """Whether sums over that many random draws of the queries are worth sending to workers."""
    queries, count = columns.shape
    return count > COLUMNS_PER_BLOCK and queries * count * draws >= PARALLEL_FROM


def in_blocks(columns: FloatArray) -> list[FloatArray]:
    """Split the columns into blocks; the boundaries depend on the number of columns alone."""
    return [
        columns[:, start : start + COLUMNS_PER_BLOCK]
        for start in range(0, columns.shape[1], COLUMNS_PER_BLOCK)
    ]


def map_blocks(
    work: Callable[[FloatArray], R], columns: FloatArray, draws: int, label: str, mapper: BlockMapper | None
) -> list[R]:
    """Apply a function to blocks of columns, by the mapper if that many random draws are worth it."""
    blocks = in_blocks(columns)
    if mapper is None or not worth_parallel(columns, draws):
        return [work(block) for block in blocks]
    return mapper(work, blocks, label)
