"""Clusters of dependent queries, for example about the same document: the unit of resampling (F59)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bakeoff.stats.arrays import NOISE, BoolArray, FloatArray, IntArray

WORKING_ICC = 0.1
"""Assumed correlation within a cluster, for the degrees of freedom; chosen by coverage, see docs/statistics.md."""


@dataclass(frozen=True, eq=False)
class Clusters:
    """The cluster number of each query, from 0 in order of first appearance."""

    codes: IntArray

    @classmethod
    def of(cls, labels: Sequence[str], n: int) -> Clusters:
        """Clusters of n queries by their labels; without labels each query is its own."""
        if not labels:
            return cls(np.arange(n, dtype=np.int64))
        numbers: dict[str, int] = {}
        return cls(np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64))

    @cached_property
    def sizes(self) -> IntArray:
        """Number of queries in each cluster."""
        return np.bincount(self.codes)

    @cached_property
    def count(self) -> int:
        """Number of clusters."""
        return int(self.codes.max()) + 1 if len(self.codes) else 0

    @cached_property
    def alone(self) -> bool:
        """Whether every query is its own cluster."""
        return self.count == len(self.codes)

    @cached_property
    def df(self) -> float:
        """Degrees of freedom of a mean: clusters − 1 if all have the same size, fewer otherwise."""
        sizes = self.sizes.astype(np.float64)
        if len(sizes) < 2 or np.ptp(sizes) == 0:
            return len(sizes) - 1.0
        return max(1.0, _satterthwaite(sizes))

    def among(self, mask: BoolArray) -> Clusters:
        """Clusters of a subset of the queries, renumbered."""
        if mask.all():
            return self
        _, first, codes = np.unique(self.codes[mask], return_index=True, return_inverse=True)
        order = np.empty(len(first), dtype=np.int64)
        order[np.argsort(first, kind="stable")] = np.arange(len(first))
        return Clusters(order[codes])

    def sums(self, columns: FloatArray) -> FloatArray:
        """Sum of each column within each cluster (clusters × columns); the columns themselves if clusters are
        single queries."""
        if self.alone:
            return columns
        added = np.zeros((self.count, columns.shape[1]))
        np.add.at(added, self.codes, columns)
        return added

    def linearise(self, columns: FloatArray) -> FloatArray:
        """One value per cluster and column whose mean is the mean over queries and whose spread is that of
        clusters. With clusters of one size it is the cluster's mean. Otherwise a cluster's sum of deviations
        counts by its size, and more for a large cluster, which pulls the mean towards itself (the CR2
        correction)."""
        if self.alone:
            return columns
        sizes, n, count = self.sizes[:, None].astype(np.float64), len(self.codes), self.count
        mean = columns.mean(axis=0)
        deviations = self.sums(columns) - sizes * mean
        scaled = deviations * np.sqrt((1 - 1 / count) / (1 - sizes / n)) if count > 1 else deviations
        return np.asarray(mean + (scaled - scaled.mean(axis=0)) * (count / n), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Dependence:
    """What clustering costs one column of values: the correlation within clusters and its effect on the variance."""

    queries: int
    clusters: int
    df: float
    icc: float | None
    design_effect: float

    def df_of(self, queries: int) -> float:
        """Degrees of freedom for another number of queries in similar clusters."""
        return max(1.0, queries * (self.df + 1) / self.queries - 1)


@dataclass(frozen=True, slots=True)
class EffectiveQuestions:
    """Number of questions, their clusters, and the equivalent number of independent questions.

    `icc` and `design_effect` are medians over the pairs of systems; `icc` is None if no cluster has two
    questions.
    """

    questions: int
    clusters: int
    largest: int
    icc: float | None
    design_effect: float

    @property
    def effective(self) -> float:
        """Equivalent number of independent questions; never more than there are."""
        return self.questions / max(1.0, self.design_effect)


def dependence(column: FloatArray, clusters: Clusters) -> Dependence:
    """The dependence of one complete column of values."""
    n, count = len(column), clusters.count
    icc, effect = intraclass_correlation(column, clusters), 1.0
    if icc is not None:
        clustered = clusters.linearise(column[:, None])[:, 0].var(ddof=1) / count
        effect = float(clustered / (column.var(ddof=1) / n))
    return Dependence(n, count, clusters.df, icc, effect)


def expected_dependence(clusters: Clusters, icc: float) -> Dependence:
    """Expected dependence of columns with this correlation within clusters."""
    sizes, n = clusters.sizes.astype(np.float64), len(clusters.codes)
    typical = float((sizes**2).sum()) / n if n else 1.0
    return Dependence(n, clusters.count, clusters.df, icc, 1 + (typical - 1) * max(0.0, icc))


def intraclass_correlation(column: FloatArray, clusters: Clusters) -> float | None:
    """ANOVA estimate; below 0 by chance, None without a cluster of two or without spread."""
    sizes, n = clusters.sizes, len(column)
    if clusters.alone or clusters.count < 2:
        return None
    means = clusters.sums(column[:, None])[:, 0] / sizes
    between = float((sizes * (means - column.mean()) ** 2).sum()) / (clusters.count - 1)
    within = float(((column - means[clusters.codes]) ** 2).sum()) / (n - clusters.count)
    typical = (n - float((sizes**2).sum()) / n) / (clusters.count - 1)
    spread = between + (typical - 1) * within
    return None if spread < NOISE**2 else (between - within) / spread


def effective_questions(columns: FloatArray, clusters: Clusters) -> EffectiveQuestions | None:
    """Effective number of questions of complete columns (queries × columns); None without a query or column."""
    n, width = columns.shape
    if not n or not width:
        return None
    dependences = [dependence(column, clusters) for column in columns.T]
    correlations = [one.icc for one in dependences if one.icc is not None]
    return EffectiveQuestions(
        questions=n,
        clusters=clusters.count,
        largest=int(clusters.sizes.max()),
        icc=float(np.median(correlations)) if correlations else None,
        design_effect=float(np.median([one.design_effect for one in dependences])),
    )


def as_clusters(clusters: Clusters | None, columns: npt.ArrayLike) -> Clusters:
    """The given clusters, or one per row."""
    return clusters if clusters is not None else Clusters.of((), len(np.asarray(columns)))


def _satterthwaite(sizes: FloatArray) -> float:
    """Degrees of freedom of the variance of a mean over clusters of these sizes, with the assumed correlation.

    Bell and McCaffrey's: (trace M)² / trace M² of the covariance M of the clusters' deviations, whose low
    rank makes both traces sums over clusters.
    """
    share = sizes / sizes.sum()
    variance = sizes * (1 + (sizes - 1) * WORKING_ICC)
    whole = variance.sum()
    trace = (variance * (1 - 2 * share) + share**2 * whole).sum()
    cross = share @ variance
    inner = np.array([[share @ share, cross], [cross, variance @ variance]])
    core = np.array([[whole, -1.0], [-1.0, 0.0]]) @ inner
    squared = variance @ variance + np.trace(core @ core)
    squared += 2 * (variance * (whole * share**2 - 2 * share * variance)).sum()
    return float(trace**2 / squared)
