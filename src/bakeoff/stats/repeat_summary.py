"""Repeated runs of a store or system: median with spread, and Welch's test between stores (S3-13, S3-18).

This is spread across runs of the same work. Spread across queries is a paired comparison and never mixed with
it (C-15); best-of-N is not offered (F35).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from bakeoff.stats.arrays import FloatArray, without_nan
from bakeoff.stats.correction import holm
from bakeoff.stats.intervals import quantile_of_sorted
from bakeoff.stats.quantiles import t_two_sided

FEWEST_RUNS = 3
NO_VARIANCE = "no run-to-run variance"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """Values across runs: median, quartiles, sample standard deviation (ddof 1, null for one run)."""

    n: int
    median: float | None = None
    q1: float | None = None
    q3: float | None = None
    sd: float | None = None
    values: tuple[float, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """Two stores over independent runs; null p-values have the reason in `note`."""

    a: str
    b: str
    median_difference: float | None
    low: float | None = None
    high: float | None = None
    t: float | None = None
    df: float | None = None
    p: float | None = None
    p_holm: float | None = None
    note: str = ""


def summarise(values: Sequence[float]) -> RunSummary:
    """Summarise one quantity across runs, keeping every run in its order."""
    measured = without_nan(values)
    if len(measured) == 0:
        return RunSummary(n=0, note="no run was measured")
    q1, median, q3 = (float(value) for value in np.quantile(measured, (0.25, 0.5, 0.75)))
    sd = None if len(measured) == 1 else float(measured.std(ddof=1)) if np.ptp(measured) else 0.0
    note = "one run has no spread" if sd is None else NO_VARIANCE if sd == 0 else ""
    values = tuple(float(value) for value in measured)
    return RunSummary(n=len(measured), median=median, q1=q1, q3=q3, sd=sd, values=values, note=note)


def compare_runs(runs: Mapping[str, Sequence[float]], seed: int) -> tuple[RunComparison, ...]:
    """Welch's test and a bootstrap of the median difference for all pairs, with Holm over those that have a
    p-value."""
    pairs = [_pair(a, b, without_nan(runs[a]), without_nan(runs[b]), seed) for a, b in combinations(runs, 2)]
    tested = [pair for pair in pairs if pair.p is not None]
    adjusted = dict(
        zip([(p.a, p.b) for p in tested], holm([p.p for p in tested if p.p is not None]), strict=True)
    )
    return tuple(replace(pair, p_holm=adjusted.get((pair.a, pair.b))) for pair in pairs)


def welch(a: FloatArray, b: FloatArray) -> tuple[float, float, float]:
    """Welch's t, degrees of freedom and two-sided p of two samples with some variance."""
    share_a, share_b = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    t = float((a.mean() - b.mean()) / np.sqrt(share_a + share_b))
    df = float((share_a + share_b) ** 2 / (share_a**2 / (len(a) - 1) + share_b**2 / (len(b) - 1)))
    return t, df, max(t_two_sided(t, df), float(np.finfo(float).tiny))


def _pair(a: str, b: str, first: FloatArray, second: FloatArray, seed: int) -> RunComparison:
    difference = _median_difference(first, second)
    if min(len(first), len(second)) < FEWEST_RUNS:
        note = f"{len(first)} and {len(second)} runs; at least {FEWEST_RUNS} each are needed"
        return RunComparison(a=a, b=b, median_difference=difference, note=note)
    if np.ptp(first) == 0 and np.ptp(second) == 0:
        return RunComparison(a=a, b=b, median_difference=difference, note=NO_VARIANCE)
    low, high = _median_interval(first, second, seed)
    t, df, p = welch(first, second)
    return RunComparison(a=a, b=b, median_difference=difference, low=low, high=high, t=t, df=df, p=p)


def _median_difference(a: FloatArray, b: FloatArray) -> float | None:
    return float(np.median(a) - np.median(b)) if len(a) and len(b) else None


def _median_interval(a: FloatArray, b: FloatArray, seed: int, resamples: int = 10_000) -> tuple[float, float]:
    """95 % percentile interval of the difference of medians, resampling each store's runs separately."""
    generator = np.random.default_rng([seed, len(a), len(b)])
    medians = [
        np.median(values[generator.integers(0, len(values), (resamples, len(values)))], axis=1)
        for values in (a, b)
    ]
    ordered = np.sort(medians[0] - medians[1])[None, :]
    return float(quantile_of_sorted(ordered, 0.025)[0]), float(quantile_of_sorted(ordered, 0.975)[0])
