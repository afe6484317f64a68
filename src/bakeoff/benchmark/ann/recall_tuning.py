"""Tunes stores to equal recall before comparing speeds: the smallest knob value above the target by a margin (F36)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bakeoff.errors import SettingError
from bakeoff.stats.quantiles import t_quantile

FEWEST = 20
CONFIDENCE = 0.999
"""One-sided confidence of the tuning margin. Recall is skewed: a few queries decide it. In simulation the other half
reaches the target in 98 to 100 % of splits (benchmarks/equal_recall.py)."""


@dataclass(frozen=True, slots=True)
class TuningRecall:
    """Recall on the tuning queries, and the lowest recall to expect on an equal number of others at that confidence."""

    mean: float
    bound: float


@dataclass(frozen=True, slots=True)
class TunedSetting:
    """The knob's value with its recall and bound on the tuning queries.

    `reached` is false if no value brings the bound up to the target; `value` then has the highest recall.
    """

    value: int | None
    recall: float
    bound: float
    reached: bool
    tried: tuple[tuple[int, float, float], ...] = ()


def split_queries(queries: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers of the queries to tune with and, disjoint from them, of those to measure with (F30)."""
    if queries < 2 * FEWEST:
        raise SettingError(
            f"{queries} queries are too few to tune on one half and measure on the other; {2 * FEWEST} are needed."
        )
    order = np.random.default_rng(seed).permutation(queries)
    return np.sort(order[: queries // 2]), np.sort(order[queries // 2 :])


def expected_recall(mean: float, error: float | None, queries: int) -> TuningRecall:
    """The bound for the mean of as many other queries: both halves vary, so the margin is √2 standard errors."""
    margin = 0.0 if not error else t_quantile(CONFIDENCE, queries - 1) * error * 2**0.5
    return TuningRecall(mean, mean - margin)


def least_effort(
    recall_at: Callable[[int], TuningRecall], target: float, low: int, high: int, *, falling: bool = False
) -> TunedSetting:
    """The cheapest value whose bound reaches the target: doubling steps, then bisection.

    Cost is the value itself if recall rises with it, else the distance down from `high`.
    """
    tried: dict[int, TuningRecall] = {}

    def value_of(effort: int) -> int:
        return low + high - effort if falling else effort

    def recall_bound(effort: int) -> float:
        value = value_of(effort)
        if value not in tried:
            tried[value] = recall_at(value)
        return tried[value].bound

    def tune(value: int, *, reached: bool) -> TunedSetting:
        rows = tuple((one, recall.mean, recall.bound) for one, recall in tried.items())
        return TunedSetting(value, tried[value].mean, tried[value].bound, reached, rows)

    failing, effort = low - 1, low
    while recall_bound(effort) < target:
        if effort >= high:
            return tune(max(tried, key=lambda one: (tried[one].mean, tried[one].bound)), reached=False)
        failing, effort = effort, min(max(2 * effort, effort + 1), high)
    while effort - failing > 1:
        middle = (effort + failing) // 2
        failing, effort = (failing, middle) if recall_bound(middle) >= target else (middle, effort)
    return tune(value_of(effort), reached=True)
