"""Normal and Student quantiles, the only use of scipy in this package."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from bakeoff.stats.arrays import FloatArray

NORMAL = NormalDist()


@lru_cache(maxsize=4096)
def t_quantile(probability: float, df: float) -> float:
    """Student's quantile with `df` degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(df, probability))


def t_two_sided(statistic: float, df: float) -> float:
    """Two-sided p-value of Student's t."""
    from scipy.special import stdtr

    return float(2 * stdtr(df, -abs(statistic)))


def quantiles_of_rows(rows: FloatArray, shares: Sequence[float]) -> FloatArray:
    """For each share the interpolated quantile of every row; the rows are reordered."""
    last = rows.shape[1] - 1
    below = [min(int(share * last), max(0, last - 1)) for share in shares]
    rows.sort(axis=1)  # faster than choosing several places, by the processor's vector instructions
    quantiles = np.empty((len(below), len(rows)))
    for number, (place, share) in enumerate(zip(below, shares, strict=True)):
        low, high = rows[:, place], rows[:, min(place + 1, last)]
        quantiles[number] = low + (high - low) * (share * last - place)
    return quantiles


def quantile_between(ordered: FloatArray, share: float, level: float) -> tuple[float, float]:
    """Interval of a quantile of ascending samples, by order statistics; ∞ if they don't reach it."""
    n = len(ordered)
    middle, reach = n * share, NORMAL.inv_cdf(0.5 + level / 2) * (n * share * (1 - share)) ** 0.5
    low, high = math.floor(middle - reach), math.ceil(middle + reach) + 1
    return (
        float(ordered[low - 1]) if low >= 1 else -math.inf,
        float(ordered[high - 1]) if high <= n else math.inf,
    )


def expansion(n: int, level: float, df: float) -> float:
    """How many normal standard deviations a small-sample interval spans where a percentile interval spans z.

    The bootstrap divides the variance by n, not n − 1, and z ignores that the variance was estimated; sqrt(n
    / (n − 1)) · t corrects both. `df` is n − 1, or less for unequal clusters.
    """
    return t_quantile(0.5 + level / 2, df) * float((n / (n - 1)) ** 0.5)
