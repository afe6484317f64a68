"""Seeded bootstrap of means over queries: one matrix of multinomial weights serves every column at once.

If queries are clustered, clusters are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from bakeoff.errors import ComparisonError
from bakeoff.stats.arrays import (
    NOISE,
    BlockMapper,
    FloatArray,
    as_columns,
    groups_by_mask,
    map_blocks,
)
from bakeoff.stats.clusters import Clusters, as_clusters
from bakeoff.stats.intervals import METHODS, Ends, Interval, Resampled

RESAMPLES = 10_000
LEVEL = 0.95
DEFAULT_METHOD = "hull"

WEIGHTS_PER_BLOCK = 4_000_000


@dataclass(frozen=True, slots=True)
class BootstrapSettings:
    """Resampling settings; equal settings and data give equal intervals."""

    seed: int
    resamples: int = RESAMPLES
    level: float = LEVEL
    method: str = DEFAULT_METHOD

    def __post_init__(self) -> None:
        """Raise if the settings can't give an interval."""
        if self.method not in METHODS:
            raise ComparisonError(
                f"interval method {self.method!r} is unknown. Use one of: {', '.join(METHODS)}."
            )
        if self.resamples < 100:
            raise ComparisonError(
                f"{self.resamples} resamples are too few for an interval. Use {RESAMPLES:,}."
            )
        if not 0 < self.level < 1:
            raise ComparisonError(f"interval level {self.level} is not between 0 and 1. Use 0.95.")

    def at(self, level: float) -> BootstrapSettings:
        """The same settings at another confidence level."""
        return BootstrapSettings(self.seed, self.resamples, level, self.method)


def mean_interval(
    values: npt.ArrayLike,
    settings: BootstrapSettings,
    bounds: tuple[float, float] | None = None,
    clusters: Clusters | None = None,
) -> Interval:
    """Confidence interval of the mean of one column over its scored queries."""
    return mean_intervals(np.asarray(values, dtype=np.float64)[:, None], settings, bounds, clusters)[0]


def difference_bounds(bounds: tuple[float, float] | None) -> tuple[float, float] | None:
    """Smallest and largest difference of two means within bounds; None without bounds."""
    return None if bounds is None else (bounds[0] - bounds[1], bounds[1] - bounds[0])


def mean_intervals(
    columns: npt.ArrayLike,
    settings: BootstrapSettings,
    bounds: tuple[float, float] | None = None,
    clusters: Clusters | None = None,
) -> list[Interval]:
    """One interval per column of queries × columns; NaN means not computed, undefined intervals have a reason."""
    return intervals_at(columns, settings, (settings.level,), bounds, clusters=clusters)[0]


def intervals_at(
    columns: npt.ArrayLike,
    settings: BootstrapSettings,
    levels: tuple[float, ...],
    bounds: tuple[float, float] | None = None,
    mapper: BlockMapper | None = None,
    clusters: Clusters | None = None,
) -> list[list[Interval]]:
    """For each level, one interval per column from the same resamples; the mapper runs many columns in parallel."""
    matrix = as_columns(columns)
    grouped = as_clusters(clusters, matrix)
    at_levels = [settings.at(level) for level in levels]
    intervals = [[_undefined_interval(one, "")] * matrix.shape[1] for one in at_levels]
    for numbers, mask in groups_by_mask(matrix):
        sample = matrix[np.ix_(mask, numbers)]
        members = grouped.among(mask)
        values = members.linearise(sample)
        reasons = [_why_undefined(column, members, len(sample)) for column in values.T]
        defined = [place for place, why in enumerate(reasons) if not why]
        ends = _ends(values[:, defined], settings, levels, members.df, mapper) if defined else []
        for one, row in zip(at_levels, intervals, strict=True):
            for number, why in zip(numbers, reasons, strict=True):
                if why:
                    row[number] = _undefined_interval(one, why)
        for one, row, pair in zip(at_levels, intervals, ends, strict=False):
            for place, interval in zip(defined, _intervals(pair, one, bounds), strict=True):
                row[numbers[place]] = interval
    return intervals


def interval_ends(sample: FloatArray, settings: BootstrapSettings, clusters: Clusters | None = None) -> Ends:
    """Interval ends as two arrays, for columns without NaN and with spread; needs at least two queries."""
    members = as_clusters(clusters, sample)
    return _ends(members.linearise(sample), settings, (settings.level,), members.df)[0]


def resampled_means(sample: FloatArray, resamples: int, seed: int) -> FloatArray:
    """Means of every column in every resample, columns × resamples."""
    n = sample.shape[0]
    means = np.empty((sample.shape[1], resamples))
    start, snapped = 0, snap_to_exact_grid(sample)
    for weights in weight_blocks(n, resamples, seed):
        stop = start + len(weights)
        np.matmul(snapped.T, weights.T, out=means[:, start:stop])
        start = stop
    means /= n
    return means


def snap_to_exact_grid(sample: FloatArray) -> FloatArray:
    """Round the sample to a grid fine enough to be invisible, yet coarse enough that every sum of n values is
    exact. Exact sums don't depend on the order of addition, which varies with the number of threads and the
    processor. For 10,000 queries the grid is 2⁻³⁸ of a column's largest value, for fewer queries finer."""
    largest: FloatArray = np.abs(sample).max(axis=0)
    _, exponent = np.frexp(largest)
    grid = np.ldexp(1.0, exponent - 52 + int(len(sample) - 1).bit_length())
    snapped: FloatArray = np.round(sample / grid) * grid
    return snapped


def weight_blocks(n: int, resamples: int, seed: int) -> Iterator[FloatArray]:
    """How often each query is drawn in each resample (resamples × queries), in blocks of bounded memory."""
    generator = np.random.default_rng([seed, n])
    rows = max(1, min(resamples, WEIGHTS_PER_BLOCK // n))
    for start in range(0, resamples, rows):
        count = min(rows, resamples - start)
        drawn = generator.integers(0, n, size=(count, n)) + (np.arange(count) * n)[:, None]
        yield np.bincount(drawn.ravel(), minlength=count * n).reshape(count, n).astype(np.float64)


def _ends(
    sample: FloatArray,
    settings: BootstrapSettings,
    levels: tuple[float, ...],
    df: float,
    mapper: BlockMapper | None = None,
) -> list[Ends]:
    work = partial(_block_ends, settings, levels, df)
    blocks = map_blocks(work, sample, settings.resamples, "bootstrap", mapper)
    return [
        (
            _snap_to_zero(np.concatenate([low for low, _ in ends])),
            _snap_to_zero(np.concatenate([high for _, high in ends])),
        )
        for ends in zip(*blocks, strict=True)
    ]


def _block_ends(
    settings: BootstrapSettings, levels: tuple[float, ...], df: float, part: FloatArray
) -> list[Ends]:
    """Interval ends of some columns at each level."""
    means = resampled_means(part, settings.resamples, settings.seed)
    means.sort(axis=1)
    resampled = Resampled(part, means, df)
    return [METHODS[settings.method](resampled, level) for level in levels]


def _snap_to_zero(ends: FloatArray) -> FloatArray:
    """Remove rounding noise around 0, so that "excludes 0" does not depend on the last bit."""
    return np.where(np.abs(ends) < NOISE, 0.0, ends)


def _intervals(ends: Ends, settings: BootstrapSettings, bounds: tuple[float, float] | None) -> list[Interval]:
    least, most = (-math.inf, math.inf) if bounds is None else bounds
    return [
        Interval(
            low=max(low, least),
            high=min(high, most),
            level=settings.level,
            method=settings.method,
            resamples=settings.resamples,
            seed=settings.seed,
            clipped=low < least or high > most,
        )
        for low, high in zip(ends[0].tolist(), ends[1].tolist(), strict=True)
    ]


def _undefined_interval(settings: BootstrapSettings, reason: str) -> Interval:
    return Interval(
        low=None,
        high=None,
        level=settings.level,
        method=settings.method,
        resamples=settings.resamples,
        seed=settings.seed,
        reason=reason,
    )


def _why_undefined(column: FloatArray, clusters: Clusters, queries: int) -> str:
    if queries == 0:
        return "no query was scored"
    if queries == 1:
        return "one question has no spread to resample"
    if clusters.count == 1:
        return f"all {queries} queries belong to one cluster, and one cluster has no spread to resample"
    if np.ptp(column) < NOISE:
        what = f"{queries} queries" if clusters.alone else f"{clusters.count} clusters"
        return f"all {what} have the same value {column[0] + 0.0:g}"
    return ""
