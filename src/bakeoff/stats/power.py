"""Statistical power before and after a run: detectable difference, queries needed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bakeoff.stats.clusters import Dependence
from bakeoff.stats.quantiles import NORMAL, t_quantile

ALPHA = 0.05
POWER = 0.80
MOST_QUERIES = 10_000_000


@dataclass(frozen=True, slots=True)
class AssumedSpread:
    """A standard deviation of paired differences to assume before any run, and when to expect it."""

    name: str
    sd: float
    when: str


ASSUMED_SPREADS = (
    AssumedSpread("low", 0.15, "systems that mostly return the same results, measured by nDCG or recall"),
    AssumedSpread("typical", 0.30, "different models measured by nDCG or AP"),
    AssumedSpread("high", 0.40, "different models measured by reciprocal rank or Hit@k"),
)


def detectable_difference(
    sd: float, n: int, alpha: float = ALPHA, power: float = POWER, *, dependence: Dependence | None = None
) -> float | None:
    """Smallest mean difference, in points, detected with that power; None for 1 query or cluster, or no spread."""
    if n < 2 or sd == 0 or (dependence is not None and dependence.clusters < 2):
        return None
    return _multiplier(_df(n, dependence), alpha, power) * _spread(sd, dependence) / n**0.5


def queries_needed(
    sd: float,
    difference: float,
    alpha: float = ALPHA,
    power: float = POWER,
    *,
    dependence: Dependence | None = None,
) -> int | None:
    """Number of queries needed to detect a mean difference of that size; None if the difference or spread is 0.

    With clusters, these are queries in more clusters of the same sizes, not more queries in each.
    """
    size, spread = abs(difference), _spread(sd, dependence)
    if size == 0 or spread == 0:
        return None
    first = ((NORMAL.inv_cdf(1 - alpha / 2) + NORMAL.inv_cdf(power)) * spread / size) ** 2
    if first > MOST_QUERIES:
        return None
    n = max(2, int(first))
    while _multiplier(_df(n, dependence), alpha, power) * spread / n**0.5 > size:
        n += max(1, n // 1000)
    return n


def queries_for_level(lead: float, sd: float, alpha: float, largest: float) -> int | None:
    """Approximate number of queries with this lead and spread that rule out, at alpha, that unseen ones undo
    it; None without a lead. The lead must exceed z·sd/√n for the queries seen and ln(1/α)/n of the largest
    difference for those unseen."""
    if lead <= 0:
        return None
    seen, unseen = NORMAL.inv_cdf(1 - alpha) * sd, -math.log(alpha) * largest
    root = (seen + math.sqrt(seen**2 + 4 * lead * unseen)) / (2 * lead)
    return math.ceil(min(root**2, MOST_QUERIES))


def _spread(sd: float, dependence: Dependence | None) -> float:
    """Standard deviation that as many independent queries would need for the same error of the mean."""
    return sd if dependence is None else sd * float(dependence.design_effect**0.5)


def _df(n: int, dependence: Dependence | None) -> float:
    return n - 1.0 if dependence is None else dependence.df_of(n)


def _multiplier(df: float, alpha: float, power: float) -> float:
    return t_quantile(1 - alpha / 2, df) + t_quantile(power, df)
