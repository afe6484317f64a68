"""Speeds of stores compared over runs, as ratios: Welch's test on logarithms, corrected for all pairs (Holm).

Noise of a speed is a share of it: on the raw scale the variance of the faster store hides a sixfold difference.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.stats.repeat_summary import RunComparison, compare_runs

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class SpeedComparison:
    """Two stores over independent runs: `ratio` is a's speed over b's with its 95 % interval, null with `note`."""

    a: str
    b: str
    ratio: float | None
    low: float | None
    high: float | None
    t: float | None
    df: float | None
    p: float | None
    p_holm: float | None
    note: str = ""


def compare_speeds(runs: Mapping[str, Sequence[float]], seed: int) -> tuple[SpeedComparison, ...]:
    """All pairs of stores by their queries per second in each run."""
    return _compare_speeds(tuple((name, tuple(values)) for name, values in runs.items()), seed)


@functools.lru_cache(maxsize=8)
def _compare_speeds(
    runs: tuple[tuple[str, tuple[float, ...]], ...], seed: int
) -> tuple[SpeedComparison, ...]:
    """Several sentences ask for the same comparison."""
    logs = {name: [float(np.log(value)) for value in values if value > 0] for name, values in runs}
    return tuple(_ratio(pair) for pair in compare_runs(logs, seed)) if len(logs) > 1 else ()


def _ratio(pair: RunComparison) -> SpeedComparison:
    ratio, low, high = (
        None if value is None else math.exp(value) for value in (pair.median_difference, pair.low, pair.high)
    )
    return SpeedComparison(pair.a, pair.b, ratio, low, high, pair.t, pair.df, pair.p, pair.p_holm, pair.note)
