"""The data of a comparison: scores per system and query in, pairs and summaries out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from bakeoff.errors import ComparisonError
from bakeoff.stats.arrays import FloatArray, without_nan
from bakeoff.stats.clusters import Dependence, EffectiveQuestions
from bakeoff.stats.effects import WinLossTie
from bakeoff.stats.intervals import Interval
from bakeoff.stats.power import queries_for_level, queries_needed
from bakeoff.stats.tests import wilcoxon

NO_SPREAD = 1e-9
"""Smaller standard deviations are rounding errors."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreMatrix:
    """Scores of one measure, systems × queries; NaN means not computed, structural queries can't be scored."""

    systems: tuple[str, ...]
    queries: tuple[str, ...]
    values: FloatArray
    measure: str
    categories: tuple[str, ...] = ()
    structural: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[tuple[str, str], str] = field(default_factory=dict)
    higher_is_better: bool = True
    bounds: tuple[float, float] | None = (0.0, 1.0)
    clusters: tuple[str, ...] = ()
    """Cluster of each query; if empty, each query is its own."""
    best: FloatArray | None = None
    """Best possible value of each score, NaN if unknown; None for the good end of `bounds`."""

    def __post_init__(self) -> None:
        """Raise for repeated names, a wrong shape, or values outside the measure's range."""
        _check_names("system", self.systems)
        _check_names("query", self.queries)
        _check_shape(self)
        _check_values(self)

    @classmethod
    def of(
        cls,
        scores: Mapping[str, Mapping[str, float]],
        measure: str,
        bounds: tuple[float, float] | None = (0, 1),
    ) -> ScoreMatrix:
        """Build a matrix from scores by system and query id; missing queries are NaN."""
        queries = tuple(dict.fromkeys(query for row in scores.values() for query in row))
        values = np.array(
            [[row.get(query, np.nan) for query in queries] for row in scores.values()], dtype=float
        )
        return cls(tuple(scores), queries, values.reshape(len(scores), len(queries)), measure, bounds=bounds)

    def without_structural(self) -> FloatArray:
        """The values with structural queries set to NaN, whatever was stored for them."""
        values = np.array(self.values, dtype=np.float64)
        values[:, [query in self.structural for query in self.queries]] = np.nan
        return values

    @property
    def largest_difference(self) -> float:
        """Largest possible difference on one query: the measure's range, or the observed range without bounds."""
        if self.bounds is not None:
            return self.bounds[1] - self.bounds[0]
        return float(np.ptp(np.append(without_nan(self.without_structural().ravel()), 0.0)))

    def sort_queries(self) -> ScoreMatrix:
        """Sort queries by id, so that resampling does not depend on file order."""
        order = sorted(range(len(self.queries)), key=self.queries.__getitem__)
        queries = tuple(self.queries[place] for place in order)
        categories = tuple(self.categories[place] for place in order) if self.categories else ()
        clusters = tuple(self.clusters[place] for place in order) if self.clusters else ()
        values, best = self.values[:, order], None if self.best is None else self.best[:, order]
        return replace(
            self, queries=queries, categories=categories, clusters=clusters, values=values, best=best
        )

    def only(self, systems: tuple[str, ...]) -> ScoreMatrix:
        """The same scores for some of the systems."""
        rows = [self.systems.index(system) for system in systems]
        best = None if self.best is None else self.best[rows]
        return replace(self, systems=systems, values=self.values[rows], best=best)

    def reason(self, system: str, query: str) -> str:
        """Why a score is missing."""
        return self.missing.get((system, query), "no reason was recorded")


@dataclass(frozen=True, slots=True)
class DroppedQueries:
    """A query that a mean leaves out, and why."""

    query: str
    reason: str


@dataclass(frozen=True, slots=True)
class SystemSummary:
    """A system's mean over the queries scored for it."""

    system: str
    mean: float | None
    interval: Interval
    n: int
    excluded: tuple[DroppedQueries, ...]
    at_best: float | None = None
    """Share of scores that are the best possible; None without a score or a known best."""

    @property
    def cells(self) -> tuple[str, str]:
        """Mean and interval as text."""
        low, high = self.interval.low, self.interval.high
        between = "–" if low is None or high is None else f"{low:.3f} to {high:.3f}"
        return "–" if self.mean is None else f"{self.mean:.3f}", between


@dataclass(frozen=True, slots=True)
class PairComparison:
    """System a against b on the queries scored for both; `difference` is mean a − mean b in points."""

    a: str
    b: str
    n: int
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    sd: float | None
    interval: Interval
    equivalence_interval: Interval
    counts: WinLossTie
    p_randomisation: float
    p_holm: float
    p_max_t: float | None
    cliffs_delta: float | None
    mdd: float | None
    queries_needed: int | None
    dropped: tuple[DroppedQueries, ...]
    alpha: float
    alpha_pair: float
    power: float
    identical: bool
    higher_is_better: bool = True
    dependence: Dependence | None = None
    possible: tuple[float, float] | None = None
    """Smallest and largest true difference still possible, each at alpha, allowing for rare queries not sampled."""
    holds_level: bool = False
    """Whether the sign of the difference also holds against such queries, corrected over one system's
    comparisons."""
    deciding: tuple[str, ...] = ()
    """The few queries whose differences outweigh all others together; empty if more than a few are needed."""
    differences: FloatArray = field(default_factory=lambda: np.empty(0), repr=False, compare=False)
    """The differences that are tested: one per query, or per cluster the sum of its queries'."""

    def _repr_html_(self) -> str:
        """HTML for notebooks: both means, the difference with its interval, and the decision."""
        from bakeoff.runtime.notebook import html_table

        numbers = (
            "–" if one is None else f"{one:.3f}" for one in (self.mean_a, self.mean_b, self.difference)
        )
        interval = f"[{self.interval.low:+.3f} {self.interval.high:+.3f}]" if self.interval.defined else "–"
        heads = (self.a, self.b, "difference", "95 % interval", "corrected p", "better", "questions")
        row = (*numbers, interval, f"{self.p_corrected:.3f}", self.better or "not shown", f"{self.n}")
        return html_table(heads, [row])

    @property
    def p_wilcoxon(self) -> float:
        """p-value of the signed-rank test of this pair alone, computed when it is asked for."""
        return wilcoxon(self.differences).p

    @property
    def clusters(self) -> int:
        """Number of clusters compared; the number of queries if each is its own."""
        return self.n if self.dependence is None else self.dependence.clusters

    @property
    def cluster_size(self) -> float:
        """Queries per cluster."""
        return self.n / max(1, self.clusters)

    @property
    def effective_n(self) -> float:
        """Equivalent number of independent queries; never more than there are."""
        return self.n if self.dependence is None else self.n / max(1.0, self.dependence.design_effect)

    @property
    def wins(self) -> int:
        """Queries on which a is better."""
        return self.counts.wins

    @property
    def losses(self) -> int:
        """Queries on which b is better."""
        return self.counts.losses

    @property
    def ties(self) -> int:
        """Queries on which both are equal within the tolerance."""
        return self.counts.ties

    @property
    def p_corrected(self) -> float:
        """The p-value used for the decision: max-T if requested, else Holm's."""
        return self.p_holm if self.p_max_t is None else self.p_max_t

    @property
    def passes_tests(self) -> bool:
        """Whether the interval excludes 0 and the corrected p-value is at most alpha, for queries like these.

        If the difference is the same on every query, no interval is computed and the p-value decides alone.
        """
        return (self.interval.excludes(0.0) or self._is_constant) and self.p_corrected <= self.alpha

    @property
    def _is_constant(self) -> bool:
        """Whether every query has the same non-zero difference."""
        return bool(self.difference) and self.sd is not None and self.sd < NO_SPREAD

    @property
    def separated(self) -> bool:
        """Whether a difference is shown: by the tests, and also allowing for rare queries not sampled."""
        return self.passes_tests and self.holds_level

    @property
    def better(self) -> str | None:
        """The better system if they are separated, else None."""
        if not self.separated or self.difference is None:
            return None
        return self.a if (self.difference > 0) == self.higher_is_better else self.b

    def equivalent(self, margin: float) -> bool:
        """Whether two one-sided tests at alpha put the difference inside ±margin points.

        Both the bootstrap interval and every difference that rare queries leave possible must lie inside:
        equal values on a few queries are not equivalence.
        """
        if self.possible is None or not (-margin < self.possible[0] and self.possible[1] < margin):
            return False
        return self.identical or self.equivalence_interval.within(margin)

    def no_worse(self, margin: float) -> bool:
        """Whether a one-sided test at alpha shows that a is at most margin points worse than b."""
        if self.possible is None:
            return False
        ends = self.possible if self.higher_is_better else (0.0 - self.possible[1], 0.0 - self.possible[0])
        interval = self.equivalence_interval if self.higher_is_better else self.equivalence_interval.negate()
        return ends[0] > -margin and (self.identical or (interval.low or -margin) > -margin)

    def queries_for(self, difference: float) -> int | None:
        """Number of queries needed to detect a difference of that many points, with this pair's spread and
        clusters."""
        return self.queries_at(difference, self.alpha_pair)

    def queries_at(self, difference: float, alpha: float) -> int | None:
        """The same at another significance level."""
        if self.sd is None:
            return None
        return queries_needed(self.sd, difference, alpha, self.power, dependence=self.dependence)

    def queries_for_level(self, rivals: int, largest: float) -> int | None:
        """Number of queries with this lead and spread needed to hold the level against this many rivals.

        With clusters, these are queries in more clusters of the same sizes: what is not sampled is a whole
        cluster.
        """
        spread = (self.sd or 0.0) * (1.0 if self.dependence is None else self.dependence.design_effect**0.5)
        unseen = largest * self.cluster_size
        return queries_for_level(abs(self.difference or 0.0), spread, self.alpha / rivals, unseen)

    def reverse(self) -> PairComparison:
        """The same pair with a and b swapped."""
        return replace(
            self,
            a=self.b,
            b=self.a,
            mean_a=self.mean_b,
            mean_b=self.mean_a,
            difference=None if self.difference is None else 0.0 - self.difference,
            interval=self.interval.negate(),
            equivalence_interval=self.equivalence_interval.negate(),
            possible=None if self.possible is None else (0.0 - self.possible[1], 0.0 - self.possible[0]),
            counts=self.counts.reverse(),
            differences=-self.differences,
            cliffs_delta=None if self.cliffs_delta is None else 0.0 - self.cliffs_delta,
        )


@dataclass(frozen=True)
class Comparison:
    """All pairs of systems on one measure; `ranking` is by the mean on the queries that ranked systems share."""

    measure: str
    systems: tuple[SystemSummary, ...]
    pairs: tuple[PairComparison, ...]
    ranking: tuple[str, ...]
    indistinguishable_from_best: tuple[str, ...]
    common: int
    correction: str
    alpha: float
    seed: int
    notes: tuple[str, ...]
    higher_is_better: bool = True
    bounds: tuple[float, float] | None = (0.0, 1.0)
    questions: EffectiveQuestions | None = None
    """Effective number of questions; None if none is scored for every ranked system."""

    def _repr_html_(self) -> str:
        """HTML for notebooks: each system's mean with its interval, best first."""
        from bakeoff.runtime.notebook import html_table

        sign = -1.0 if self.higher_is_better else 1.0
        ordered = sorted(self.systems, key=lambda one: math.inf if one.mean is None else sign * one.mean)
        rows = [(one.system, *one.cells, f"{one.n}") for one in ordered]
        return html_table(("system", self.measure, "95 % interval", "questions"), rows)

    @property
    def best(self) -> str | None:
        """First of the ranking, or None if no query is scored for every system."""
        return self.ranking[0] if self.ranking else None

    def pair(self, a: str, b: str) -> PairComparison:
        """The pair with a first."""
        if (pair := self._pairs_by_names.get((a, b))) is not None:
            return pair
        if (pair := self._pairs_by_names.get((b, a))) is not None:
            return pair.reverse()
        names = ", ".join(summary.system for summary in self.systems)
        raise ComparisonError(f"no pair {a!r}, {b!r} in this comparison. Its systems are: {names}.")

    @cached_property
    def _pairs_by_names(self) -> dict[tuple[str, str], PairComparison]:
        return {(pair.a, pair.b): pair for pair in self.pairs}

    def summary(self, system: str) -> SystemSummary:
        """The mean of one system."""
        for summary in self.systems:
            if summary.system == system:
                return summary
        names = ", ".join(summary.system for summary in self.systems)
        raise ComparisonError(f"system {system!r} is not in this comparison. Its systems are: {names}.")


def share_at_best(comparison: Comparison, systems: tuple[str, ...]) -> float | None:
    """Share of some systems' scores that are the best possible; None if unknown."""
    summaries = [summary for summary in map(comparison.summary, systems) if summary.at_best is not None]
    scores = sum(summary.n for summary in summaries)
    if len(summaries) < len(systems) or not scores:
        return None
    return sum((summary.at_best or 0.0) * summary.n for summary in summaries) / scores


def _check_names(kind: str, names: tuple[str, ...]) -> None:
    repeated = (
        sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    )
    if repeated:
        raise ComparisonError(
            f"{kind} {repeated[0]!r} occurs more than once in the scores. Keep one row for each."
        )


def _check_shape(matrix: ScoreMatrix) -> None:
    expected = (len(matrix.systems), len(matrix.queries))
    if matrix.values.shape != expected:
        raise ComparisonError(
            f"scores of {matrix.measure} have shape {matrix.values.shape}, but there are "
            f"{expected[0]} systems and {expected[1]} queries. Give one row per system and one column per "
            "query."
        )
    for kind, labels in (("categories", matrix.categories), ("clusters", matrix.clusters)):
        if labels and len(labels) != expected[1]:
            raise ComparisonError(
                f"{len(labels)} {kind} for {expected[1]} queries. Give one per query, or none."
            )


def _check_values(matrix: ScoreMatrix) -> None:
    if np.isinf(matrix.values).any():
        raise ComparisonError(
            f"a score of {matrix.measure} is infinite. Use NaN for a score that was not computed."
        )
    if matrix.bounds is None or not matrix.values.size:
        return
    low, high = matrix.bounds
    wrong = matrix.values[(matrix.values < low - 1e-9) | (matrix.values > high + 1e-9)]
    if wrong.size:
        raise ComparisonError(
            f"a score of {matrix.measure} is {wrong[0]:g}, outside {low:g} to {high:g}. "
            "Give the measure's own bounds (`low` and `high` of a measure plug-in), or bounds=None."
        )
