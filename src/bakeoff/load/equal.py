"""Equal recall before speeds are compared: the smallest knob that reaches the target, found by bisection (F36)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bakeoff.errors import SettingError

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


def least_effort(
    recall_at: Callable[[int], float], target: float, low: int, high: int, *, falling: bool = False
) -> Tuned:
    """The value of least effort whose recall reaches the target: steps that double, then bisection.

    Effort is the value itself where recall rises with it; where recall falls, it is the way down from `high`.
    """
    tried: dict[int, float] = {}

    def value_of(effort: int) -> int:
        return low + high - effort if falling else effort

    def look(effort: int) -> float:
        value = value_of(effort)
        if value not in tried:
            tried[value] = recall_at(value)
        return tried[value]

    failing, effort = low - 1, low
    while look(effort) < target:
        if effort >= high:
            best = max(tried, key=lambda one: tried[one])
            return Tuned(best, tried[best], False, tuple(tried.items()))
        failing, effort = effort, min(max(2 * effort, effort + 1), high)
    while effort - failing > 1:
        middle = (effort + failing) // 2
        failing, effort = (failing, middle) if look(middle) >= target else (middle, effort)
    return Tuned(value_of(effort), look(effort), True, tuple(tried.items()))


def holds(recall: float | None, error: float | None, target: float) -> bool:
    """Whether recall on the measured queries is not shown to be under the target, at 95 % confidence."""
    return recall is not None and recall + Z95 * (error or 0.0) >= target
