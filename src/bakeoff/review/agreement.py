"""Agreement of reviewers: Cohen's kappa, plain and weighted, and Krippendorff's alpha, with bootstrap intervals.

Pure functions over a table of ratings, reviewers × items, with NaN where a reviewer did not judge an item.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from bakeoff.errors import ComparisonError

Floats = npt.NDArray[np.float64]
Level = Literal["nominal", "ordinal", "interval"]
Weights = Literal["none", "linear", "quadratic"]
RESAMPLES = 1_000


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient of agreement with its interval; None with the reason if undefined."""

    value: float | None
    low: float | None
    high: float | None
    items: int
    reason: str = ""


def cohen_kappa(first: Sequence[float], second: Sequence[float], weights: Weights = "none") -> float:
    """Agreement of two reviewers beyond chance on the items both judged; NaN if chance explains all of it."""
    a, b = _both(np.asarray(first, float), np.asarray(second, float))
    values = np.unique(np.concatenate([a, b]))
    table = _table(np.searchsorted(values, a), np.searchsorted(values, b), len(values))
    expected = np.outer(table.sum(1), table.sum(0))
    cost = _cost(len(values), weights)
    chance = (cost * expected).sum()
    return float("nan") if chance == 0 else float(1 - (cost * table).sum() / chance)


def krippendorff_alpha(ratings: npt.ArrayLike, level: Level = "nominal") -> float:
    """Agreement of any number of reviewers with gaps; NaN if all ratings are equal or none can be paired."""
    return _alpha(_coincidences(np.asarray(ratings, float)), level)


def kappa(
    first: Sequence[float], second: Sequence[float], weights: Weights = "none", seed: int = 7
) -> Coefficient:
    """Cohen's kappa with a percentile bootstrap interval over items."""
    table = np.vstack([np.asarray(first, float), np.asarray(second, float)])
    paired = table[:, ~np.isnan(table).any(axis=0)]
    return _with_interval(paired, lambda part: cohen_kappa(part[0], part[1], weights), seed)


def alpha(ratings: npt.ArrayLike, level: Level = "nominal", seed: int = 7) -> Coefficient:
    """Krippendorff's alpha with a percentile bootstrap interval over items that two or more judged."""
    table = np.asarray(ratings, float)
    pairable = table[:, (~np.isnan(table)).sum(axis=0) >= 2]
    return _with_interval(pairable, lambda part: krippendorff_alpha(part, level), seed)


def raw_agreement(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The share of jointly judged items with the same judgment; None if there are none."""
    a, b = np.asarray(first, float), np.asarray(second, float)
    there = ~np.isnan(a) & ~np.isnan(b)
    return float((a[there] == b[there]).mean()) if there.any() else None


def _both(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    if a.shape != b.shape:
        raise ComparisonError(f"two reviewers rated {len(a)} and {len(b)} items. Give both the same items.")
    there = ~np.isnan(a) & ~np.isnan(b)
    return a[there], b[there]


def _table(a: npt.NDArray[np.int64], b: npt.NDArray[np.int64], size: int) -> Floats:
    table = np.zeros((size, size))
    np.add.at(table, (a, b), 1.0)
    return table / max(table.sum(), 1.0)


def _cost(size: int, weights: Weights) -> Floats:
    """The weight of a disagreement, by the positions of the two values."""
    distance = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(float)
    if weights == "none":
        return (distance > 0).astype(float)
    return distance if weights == "linear" else distance**2


@dataclass(frozen=True, slots=True)
class _Coincidences:
    values: Floats
    counts: Floats


def _coincidences(table: Floats) -> _Coincidences:
    """How often two values occur together on an item, each item counting by its number of ratings less one."""
    there = ~np.isnan(table)
    values = np.unique(table[there])
    # items × values: how many reviewers gave each value
    ratings = (
        np.stack([(table == value).sum(axis=0) for value in values], axis=1).astype(float)
        if len(values)
        else None
    )
    if ratings is None:
        return _Coincidences(values, np.zeros((0, 0)))
    total = ratings.sum(axis=1)
    paired = ratings[total >= 2]
    weight = 1 / (paired.sum(axis=1) - 1)
    counts = (paired * weight[:, None]).T @ paired - np.diag((paired * weight[:, None]).sum(axis=0))
    return _Coincidences(values, counts)


def _alpha(coincidences: _Coincidences, level: Level) -> float:
    totals = coincidences.counts.sum(axis=1)
    n = totals.sum()
    if n <= 1 or (totals > 0).sum() < 2:
        return float("nan")
    cost = _distances(coincidences.values, totals, level)
    observed, chance = (coincidences.counts * cost).sum(), (np.outer(totals, totals) * cost).sum() / (n - 1)
    return float(1 - observed / chance)


def _distances(values: Floats, totals: Floats, level: Level) -> Floats:
    if level == "nominal":
        return (np.subtract.outer(values, values) != 0).astype(float)
    if level == "interval":
        return np.asarray(np.subtract.outer(values, values) ** 2)
    upto = np.cumsum(totals) - totals / 2
    return np.asarray(np.subtract.outer(upto, upto) ** 2)


def _with_interval(table: Floats, statistic: Callable[[Floats], float], seed: int) -> Coefficient:
    items = table.shape[1]
    if items < 2:
        return Coefficient(None, None, None, items, f"{items} items were judged by two or more")
    value = statistic(table)
    if np.isnan(value):
        return Coefficient(
            None, None, None, items, "everyone gave the same judgment, so chance explains all of it"
        )
    chance = np.random.default_rng(seed)
    drawn = np.array([statistic(table[:, chance.integers(0, items, items)]) for _ in range(RESAMPLES)])
    # a resample with identical judgments agrees completely
    drawn = np.where(np.isnan(drawn), 1.0, drawn)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Coefficient(float(value), float(low), float(high), items)
