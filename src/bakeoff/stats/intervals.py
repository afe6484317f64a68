"""Interval ends from resampled means; every method takes replicates of shape columns × resamples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bakeoff.stats.arrays import NOISE, FloatArray
from bakeoff.stats.quantiles import NORMAL, expansion


@dataclass(frozen=True, slots=True)
class Interval:
    """Confidence interval of a mean; `low` and `high` are None if it is undefined, with the reason."""

    low: float | None
    high: float | None
    level: float
    method: str
    resamples: int
    seed: int
    reason: str = ""
    clipped: bool = False

    @property
    def defined(self) -> bool:
        """Whether the interval is defined."""
        return self.low is not None

    def excludes(self, value: float = 0.0) -> bool:
        """Whether the whole interval lies on one side of the value; False if undefined."""
        return self.low is not None and self.high is not None and (self.low > value or self.high < value)

    def within(self, margin: float) -> bool:
        """Whether the whole interval lies strictly inside ±margin; False if undefined."""
        return self.low is not None and self.high is not None and -margin < self.low and self.high < margin

    def negate(self) -> Interval:
        """Interval of the opposite difference."""
        low = None if self.high is None else 0.0 - self.high
        high = None if self.low is None else 0.0 - self.low
        return replace(self, low=low, high=high)


@dataclass(frozen=True, slots=True)
class Resampled:
    """Resampled means (columns × resamples, each row ascending) of a sample (queries or clusters × columns)."""

    sample: FloatArray
    means: FloatArray
    df: float

    @property
    def n(self) -> int:
        """Number of queries or clusters resampled."""
        return int(self.sample.shape[0])

    @property
    def centre(self) -> FloatArray:
        """The observed mean of each column."""
        mean: FloatArray = self.sample.mean(axis=0)
        return mean


Ends = tuple[FloatArray, FloatArray]


def percentile(resampled: Resampled, level: float) -> Ends:
    """The plain percentile interval; too narrow on small samples."""
    return _tails(resampled.means, (1 - level) / 2)


def expand_interval(resampled: Resampled, level: float) -> Ends:
    """The percentile interval, widened as far as Student's t requires."""
    return _tails(resampled.means, NORMAL.cdf(-expansion(resampled.n, level, resampled.df)))


def symmetric(resampled: Resampled, level: float) -> Ends:
    """The mean ± the quantile of absolute resampled deviations, expanded for the sample size."""
    deviations = _largest_deviations(resampled, level)
    stretch = expansion(resampled.n, level, resampled.df) / NORMAL.inv_cdf(0.5 + level / 2)
    half = quantile_of_sorted(deviations, level, resampled.means.shape[1]) * stretch
    return resampled.centre - half, resampled.centre + half


def hull(resampled: Resampled, level: float) -> Ends:
    """At each end, the outer one of `expanded` and `symmetric`: the default, chosen by simulated coverage."""
    low_a, high_a = expand_interval(resampled, level)
    low_b, high_b = symmetric(resampled, level)
    return np.minimum(low_a, low_b), np.maximum(high_a, high_b)


def bca(resampled: Resampled, level: float) -> Ends:
    """Bias-corrected and accelerated interval; the jackknife of a mean has a closed form."""
    deviations = resampled.sample - resampled.centre
    spread = np.maximum((deviations**2).sum(axis=0), NOISE)
    acceleration = (deviations**3).sum(axis=0) / (6 * spread**1.5)
    z = NORMAL.inv_cdf(0.5 + level / 2)
    return _bca_end(resampled, acceleration, -z), _bca_end(resampled, acceleration, z)


METHODS: dict[str, Callable[[Resampled, float], Ends]] = {
    "hull": hull,
    "expanded": expand_interval,
    "symmetric": symmetric,
    "percentile": percentile,
    "bca": bca,
}


def quantile_of_sorted(rows: FloatArray, probability: float, of: int | None = None) -> FloatArray:
    """Interpolated quantile of each ascending row; `of` is its full length if only the top is given."""
    last = (of or rows.shape[1]) - 1
    missing = last + 1 - rows.shape[1]
    below = int(probability * last)
    share = probability * last - below
    above = min(below + 1, last)
    result: FloatArray = rows[:, below - missing] * (1 - share) + rows[:, above - missing] * share
    return result


def _tails(rows: FloatArray, tail: float) -> Ends:
    return quantile_of_sorted(rows, tail), quantile_of_sorted(rows, 1 - tail)


def _largest_deviations(resampled: Resampled, level: float) -> FloatArray:
    """The largest absolute deviations from the mean, ascending; they can only lie in the two tails."""
    count = resampled.means.shape[1]
    size = min(count, int((1 - level) * count) + 2)
    ends = np.concatenate([resampled.means[:, :size], resampled.means[:, count - size :]], axis=1)
    deviations = np.abs(ends - resampled.centre[:, None])
    deviations.sort(axis=1)
    return deviations[:, size:]


def _bca_end(resampled: Resampled, acceleration: FloatArray, z: float) -> FloatArray:
    count = resampled.means.shape[1]
    ends = np.empty(len(acceleration))
    for row, mean in enumerate(resampled.centre):
        ordered = resampled.means[row]
        below = np.searchsorted(ordered, mean - NOISE, side="left")
        upto = np.searchsorted(ordered, mean + NOISE, side="right")
        share = min(max((below + upto) / (2 * count), 0.5 / count), 1 - 0.5 / count)
        bias = NORMAL.inv_cdf(float(share))
        shifted = bias + (bias + z) / (1 - float(acceleration[row]) * (bias + z))
        ends[row] = quantile_of_sorted(ordered[None, :], NORMAL.cdf(shifted))[0]
    return ends
