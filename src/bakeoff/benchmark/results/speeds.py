"""Speeds over repeated runs: agreement of runs, comparison of systems, and the rows behind closing sentences.

Speeds are compared as ratios, by Welch's test on logarithms, corrected for all pairs (Holm). The noise of a speed is a
share of it: on the raw scale the variance of the faster store hides a sixfold difference.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from bakeoff.stats.repeat_summary import RunComparison, compare_runs, summarise

SPREAD = 0.10
"""A sample standard deviation above this share of the mean suggests a rerun."""
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
    """The sample standard deviation over the mean if it is too large; null if runs agree or there is only one."""
    if len(values) < 2:
        return None
    mean, sd = float(np.mean(values)), float(np.std(values, ddof=1))
    return sd / mean if mean > 0 and sd > SPREAD * mean else None


def instability_note(values: Sequence[float]) -> str:
    """How much the runs disagree and what to do; empty if they agree or there is only one."""
    share = unstable_share(values)
    if share is None:
        return ""
    needed = min(runs_needed(values) or 0, MOST_RUNS)
    more = max(needed, len(values) + 2)
    return f"unstable: runs differ by {share:.0%} (sd of QPS over mean); rerun with --runs {more}"


def drift_note(values: Sequence[float], within: Sequence[float]) -> str:
    """Notes on a trend: of speed from run to run, or of latency from the first to the second half of every run."""
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


ALPHA = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
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


def explain_missing_p(notes: Iterable[str]) -> list[str]:
    """Why some comparisons have no p-value, each reason once."""
    return [f"No p-value: {note}." for note in dict.fromkeys(notes) if note]


def compare_speeds(runs: Mapping[str, Sequence[float]], seed: int) -> tuple[SpeedComparison, ...]:
    """All pairs of stores by their queries per second in each run."""
    return _compare_speeds(tuple((name, tuple(values)) for name, values in runs.items()), seed)


@functools.lru_cache(maxsize=8)
def _compare_speeds(
    runs: tuple[tuple[str, tuple[float, ...]], ...], seed: int
) -> tuple[SpeedComparison, ...]:
    """Cached, because several sentences use the same comparison."""
    logs = {name: [float(np.log(value)) for value in values if value > 0] for name, values in runs}
    return tuple(_ratio(pair) for pair in compare_runs(logs, seed)) if len(logs) > 1 else ()


def _ratio(pair: RunComparison) -> SpeedComparison:
    ratio, low, high = (
        None if value is None else math.exp(value) for value in (pair.median_difference, pair.low, pair.high)
    )
    return SpeedComparison(
        a=pair.a,
        b=pair.b,
        ratio=ratio,
        low=low,
        high=high,
        t=pair.t,
        df=pair.df,
        p=pair.p,
        p_holm=pair.p_holm,
        note=pair.note,
    )


DIGITS = range(4, 10)


@dataclass(frozen=True, slots=True)
class SpeedRow:
    """One row of a table of results: recall, and the speed of each complete run; null recall was not measured.

    `compared` rows are the tuned settings of stores that did not fail. `held` is whether a rate was held, null for a
    closed loop; `p99` is in milliseconds. `cut_short` runs ended early: they are not among `values`.
    """

    system: str
    setting: str
    values: tuple[float, ...] = ()
    recall: float | None = None
    compared: bool = False
    held: bool | None = None
    p99: float | None = None
    cut_short: int = 0

    @property
    def rate(self) -> float | None:
        """The median speed of the complete runs."""
        return summarise(self.values).median

    def reaches(self, target: float) -> bool:
        """Whether its recall is at the target."""
        return reaches_target(self.recall, target)


@dataclass(frozen=True, slots=True)
class SpeedRows:
    """The rows that sentences summarise, and why systems failed.

    `highest` is by system the highest rate that met the SLO in each run, null where none did; `seed` is that of the
    intervals of compared speeds.
    """

    rows: tuple[SpeedRow, ...]
    failures: Mapping[str, str] = field(default_factory=dict)
    highest: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    seed: int = 7

    def row(self, system: str, setting: str) -> SpeedRow | None:
        """The row of a system at a setting."""
        return next((one for one in self.rows if (one.system, one.setting) == (system, setting)), None)

    def at_target(self, target: float) -> tuple[SpeedRow, ...]:
        """The compared rows at the target with a speed, fastest first."""
        compared = [one for one in self.rows if one.compared and one.reaches(target) and one.rate is not None]
        return tuple(sorted(compared, key=lambda one: -(one.rate or 0.0)))

    def front(self) -> set[tuple[str, str]]:
        """The settings on the Pareto front of recall and speed."""
        measured = [
            (one, one.recall, one.rate)
            for one in self.rows
            if one.recall is not None and one.rate is not None
        ]
        return {
            (one.system, one.setting)
            for one, recall, rate in measured
            if not any(
                other >= recall and faster >= rate and (other > recall or faster > rate)
                for _, other, faster in measured
            )
        }

    def comparisons(self, target: float) -> tuple[SpeedComparison, ...]:
        """The speeds of the compared rows at the target, all pairs."""
        return compare_speeds({one.system: one.values for one in self.at_target(target)}, self.seed)

    def pair(self, a: str, b: str, target: float) -> SpeedComparison | None:
        """The comparison of two systems."""
        return next((one for one in self.comparisons(target) if {one.a, one.b} == {a, b}), None)


def reaches_target(recall: float | None, target: float) -> bool:
    """Whether a measured recall reaches the target, by the figure in the table."""
    return recall is not None and recall >= target


def recall_text(recall: float, target: float | None = None) -> str:
    """A recall to four digits, or more if needed to show which side of the target it is on."""
    for digits in DIGITS:
        text = f"{recall:.{digits}f}"
        if target is None or (float(text) >= target) == (recall >= target):
            return text
    return repr(recall)
