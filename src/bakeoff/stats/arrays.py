"""Array names and the one rule for missing values: NaN means not computed and never enters a mean."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
IntArray: TypeAlias = npt.NDArray[np.int64]

NOISE = 1e-12
"""Differences below this are rounding of sums, not scores; an interval end this near to 0 is 0."""


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
