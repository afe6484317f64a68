"""Equal recall before speeds are compared: the smallest knob that reaches the target, found by bisection (F36)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bakeoff.errors import SettingError

HIGHEST = 8192
FEWEST = 20
Z95 = 1.959964


@dataclass(frozen=True, slots=True)
class Tuned:
    """The knob's value and the recall there on the tuning queries; `reached` is false where no value was enough."""

    value: int | None
    recall: float
    reached: bool
    tried: tuple[tuple[int, float], ...] = ()


def split(queries: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers of the queries to tune on and, apart from them, of those to measure on (F30)."""
    if queries < 2 * FEWEST:
        raise SettingError(
            f"{queries} queries are too few to tune on one half and measure on the other; {2 * FEWEST} are needed."
        )
    order = np.random.default_rng(seed).permutation(queries)
    return np.sort(order[: queries // 2]), np.sort(order[queries // 2 :])


def smallest(recall_at: Callable[[int], float], target: float, low: int, high: int) -> Tuned:
    """The smallest value whose recall reaches the target, if recall grows with it: doubling, then bisection."""
    tried: dict[int, float] = {}

    def look(value: int) -> float:
        tried.setdefault(value, recall_at(value))
        return tried[value]

    failing, value = low - 1, low
    while look(value) < target:
        if value >= high:
            best = max(tried, key=lambda one: tried[one])
            return Tuned(best, tried[best], False, tuple(tried.items()))
        failing, value = value, min(2 * value, high)
    while value - failing > 1:
        middle = (value + failing) // 2
        failing, value = (failing, middle) if look(middle) >= target else (middle, value)
    return Tuned(value, tried[value], True, tuple(tried.items()))


def holds(recall: float | None, error: float | None, target: float) -> bool:
    """Whether recall on the measured queries is not shown to be under the target, at 95 % confidence."""
    return recall is not None and recall + Z95 * (error or 0.0) >= target
