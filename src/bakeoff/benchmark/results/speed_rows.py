"""The rows of a table of speeds: what closing sentences summarise and are checked against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bakeoff.benchmark.results.speeds import SpeedComparison, compare_speeds
from bakeoff.stats.repeat_summary import summarise

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
        found = [one for one in self.rows if one.compared and one.reaches(target) and one.rate is not None]
        return tuple(sorted(found, key=lambda one: -(one.rate or 0.0)))

    def front(self) -> set[tuple[str, str]]:
        """The settings that no other one beats in both recall and speed."""
        known = [
            (one, one.recall, one.rate)
            for one in self.rows
            if one.recall is not None and one.rate is not None
        ]
        return {
            (one.system, one.setting)
            for one, recall, rate in known
            if not any(
                other >= recall and faster >= rate and (other > recall or faster > rate)
                for _, other, faster in known
            )
        }

    def comparisons(self, target: float) -> tuple[SpeedComparison, ...]:
        """The speeds of the compared rows at the target, all pairs."""
        return compare_speeds({one.system: one.values for one in self.at_target(target)}, self.seed)

    def pair(self, a: str, b: str, target: float) -> SpeedComparison | None:
        """The comparison of two systems."""
        return next((one for one in self.comparisons(target) if {one.a, one.b} == {a, b}), None)


def reaches_target(recall: float | None, target: float) -> bool:
    """Whether a measured recall is at the target: the figure itself, as it is in the table."""
    return recall is not None and recall >= target


def recall_text(recall: float, target: float | None = None) -> str:
    """A recall to four digits, or to as many as show on which side of the target it is."""
    for digits in DIGITS:
        text = f"{recall:.{digits}f}"
        if target is None or (float(text) >= target) == (recall >= target):
            return text
    return repr(recall)
