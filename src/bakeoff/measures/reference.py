"""Scores one query in plain Python: for small inputs, to explain differences, and as a reference for the
evaluator."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log2
from typing import TYPE_CHECKING

from bakeoff.measures.definitions import Bounds, RequiredInput

if TYPE_CHECKING:
    from bakeoff.measures.names import Measure

Grades = Sequence[int | None]


@dataclass(frozen=True, slots=True)
class RankedGrades:
    """Grades of one ranking in scored order (None: not judged), and all grades of its query."""

    grades: Grades
    judged: Sequence[int]
    rel: int = 1
    _ranks: dict[int, list[int]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _totals: dict[int, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    def threshold(self, measure: Measure) -> int:
        """The lowest relevant grade for this measure."""
        return measure.definition.threshold(measure, self.rel)

    def hit_ranks(self, measure: Measure) -> list[int]:
        """Ranks of the relevant results in the top k."""
        ranks = self.ranks(self.threshold(measure))
        return ranks if measure.k is None else ranks[: bisect_right(ranks, measure.k)]

    def relevant(self, measure: Measure) -> int:
        """R: relevant items of the query, retrieved or not."""
        return self.total(self.threshold(measure))

    def has_value(self, measure: Measure) -> bool:
        """Whether `score` is defined: most measures need a relevant item."""
        return self.relevant(measure) > 0 or not measure.definition.needs_relevant

    def ranks(self, least: int) -> list[int]:
        """Ranks of all results with at least that grade."""
        if least not in self._ranks:
            pairs = enumerate(self.grades, start=1)
            self._ranks[least] = [rank for rank, grade in pairs if grade is not None and grade >= least]
        return self._ranks[least]

    def total(self, least: int) -> int:
        """Number of the query's items with at least that grade."""
        if least not in self._totals:
            self._totals[least] = len([grade for grade in self.judged if grade >= least])
        return self._totals[least]


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to compute a measure, its value, and why it differs; `value` is None if undefined."""

    label: str
    value: float | None
    reason: str


def score(ranked: RankedGrades, measure: Measure) -> float:
    """The measure of one query with relevant items."""
    return measure.definition.score(ranked, measure)


def supports(measure: Measure) -> bool:
    """Whether the measure is computed from a ranking and judgments."""
    return measure.definition.needs is RequiredInput.JUDGMENTS


def dcg(gains: Sequence[float]) -> float:
    """Σ gain / log2(rank + 1)."""
    return sum(value / log2(rank + 1) for rank, value in enumerate(gains, start=1))


def count_unjudged(grades: Grades) -> int:
    """Number of unjudged results; a negative grade marks one that was only pooled."""
    return sum(grade is None or grade < 0 for grade in grades)


def bounds(ranked: RankedGrades, measure: Measure) -> tuple[float, float] | None:
    """Lower and upper value over unjudged results; None if the measure has none."""
    kind = measure.definition.bounds
    if kind is Bounds.NONE:
        return None
    point = score(ranked, measure)
    high = score(_all_right(ranked, measure, above=True), measure)
    if kind is Bounds.BOTH:
        return point, high
    low = point if measure.k is None else score(_all_right(ranked, measure, above=False), measure)
    return (low, high) if kind is Bounds.UPPER else (min(low, point, high), max(point, high))


def _all_right(ranked: RankedGrades, measure: Measure, *, above: bool) -> RankedGrades:
    """The ranking if the unjudged results above (or else below) the cut-off were relevant."""
    top = max(*ranked.judged, ranked.threshold(measure)) if ranked.judged else ranked.threshold(measure)
    depth = len(ranked.grades) if measure.k is None else measure.k
    grades = [
        top if (grade is None or grade < 0) and (rank <= depth) == above else grade
        for rank, grade in enumerate(ranked.grades, start=1)
    ]
    added = sum(new != old for new, old in zip(grades, ranked.grades, strict=True))
    # A pooled item that becomes relevant leaves its negative grade behind, which no bounded measure counts.
    return RankedGrades(grades, [*ranked.judged, *[top] * added], ranked.rel)
