"""Whether repeated runs agree well enough to be believed, and how many more would; told in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

SPREAD = 0.10
"""A sample standard deviation above this share of the mean is noise worth a rerun."""
WANTED = 0.05
"""A rerun should bring the mean's 95 % interval within this share."""
DRIFT = 0.10
Z = 1.96
MOST_RUNS = 50
FEWEST = 3


def runs_needed(values: Sequence[float]) -> int | None:
    """Runs after which the 95 % interval of the mean would be within 5 %; null from fewer than two values."""
    if len(values) < 2:
        return None
    share = float(np.std(values, ddof=1) / np.mean(values))
    return max(len(values), math.ceil((Z * share / WANTED) ** 2))


def unstable_share(values: Sequence[float]) -> float | None:
    """The sample standard deviation over the mean, where that is too much; null where runs agree, or there is one."""
    if len(values) < 2:
        return None
    mean, sd = float(np.mean(values)), float(np.std(values, ddof=1))
    return sd / mean if mean > 0 and sd > SPREAD * mean else None


def instability_note(values: Sequence[float]) -> str:
    """Why the runs disagree too much, and what to do; empty where they agree, or there is one."""
    share = unstable_share(values)
    if share is None:
        return ""
    needed = min(runs_needed(values) or 0, MOST_RUNS)
    more = max(needed, len(values) + 2)
    return f"unstable: runs differ by {share:.0%} (sd of QPS over mean); rerun with --runs {more}"


def drift_note(values: Sequence[float], within: Sequence[float]) -> str:
    """Whether speed goes one way: from run to run, or latency from the first half of every run to the second."""
    if len(values) >= FEWEST and values[0] > 0:
        change = values[-1] / values[0] - 1
        steps = [after - before for before, after in pairwise(values)]
        one_way = all(step > 0 for step in steps) or all(step < 0 for step in steps)
        if one_way and abs(change) > DRIFT:
            word = "faster" if change > 0 else "slower"
            return f"drift: every run was {word} than the one before ({change:+.0%} QPS in all)"
    if len(within) > 1 and (all(one > 1 + DRIFT for one in within) or all(one < 1 - DRIFT for one in within)):
        middle = float(np.median(within)) - 1
        return f"drift: latency in the second half of each run is {middle:+.0%} of the first; rerun with more --seconds"
    return ""
