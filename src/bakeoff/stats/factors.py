"""What makes systems differ: the share of their variation explained by chunker, model, store and mode.

A share is the gain in explained variation of the system means, averaged over all orders in which the factors
can be added, so that shares add up whatever the design. Queries are a random sample: what query sampling
alone would give a factor is subtracted, negative results count as 0, and the rest is scaled to the whole.
Intervals come from resampled queries. A factor that some systems lack (bm25 has no embedder) compares only
the systems that have it; the distance of the others belongs to the factor that distinguishes them. Factors
that change together in all systems that have both can't be separated: they get one share, even if one of them
varies among systems without the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import factorial

import numpy as np

from bakeoff.errors import ComparisonError
from bakeoff.stats.arrays import NOISE, BoolArray, FloatArray
from bakeoff.stats.bootstrap import resampled_means
from bakeoff.stats.clusters import Clusters, as_clusters
from bakeoff.stats.number_format import join_names

REST = "interaction of factors"


@dataclass(frozen=True, slots=True)
class FactorShare:
    """A factor's share of the variation of system means: observed, and corrected for query sampling."""

    factor: str
    levels: int
    share: float
    adjusted: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class FactorAnalysis:
    """Shares of all factors and of the rest; `spread` is the standard deviation of system means in points.

    `noise` is the share of the observed variation due to query sampling alone. `confounded` has the groups of
    factors that these systems can't separate, `partial` the factors that some systems lack.
    """

    factors: tuple[FactorShare, ...]
    spread: float
    noise: float
    systems: int
    n: int
    confounded: tuple[tuple[str, ...], ...] = ()
    partial: tuple[str, ...] = ()

    @property
    def confounding_notes(self) -> tuple[str, ...]:
        """One sentence per group of factors that can't be separated."""
        return tuple(
            f"{join_names(group)} change together in these systems, so their shares can't be separated."
            for group in self.confounded
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the design: factors that can't be separated, factors that some systems lack."""
        missing = (
            f"Some systems have no {name}: its share compares only those that have one."
            for name in self.partial
        )
        return (*self.confounding_notes, *missing)


@dataclass(frozen=True, slots=True)
class _Means:
    """System means, their covariance from query sampling, and resampled means (systems × resamples)."""

    observed: FloatArray
    sampling: FloatArray
    drawn: FloatArray

    def seen(self, form: FloatArray) -> float:
        """The quadratic form of the observed means."""
        return float(self.observed @ form @ self.observed)

    def by_chance(self, form: FloatArray) -> float:
        """Expected contribution of query sampling to that form."""
        return float(np.trace(form @ self.sampling))

    def resample(self, form: FloatArray) -> FloatArray:
        """The form in every resample; resampling adds the sampling part again, so it is subtracted twice."""
        values: FloatArray = (self.drawn * (form @ self.drawn)).sum(axis=0) - 2 * self.by_chance(form)
        return values


def factor_shares(
    values: FloatArray,
    factors: Mapping[str, Sequence[str | None]],
    seed: int,
    resamples: int = 2_000,
    clusters: Clusters | None = None,
) -> FactorAnalysis:
    """Shares of each factor from scores (systems × queries) and each system's level of each factor, None if
    it has none."""
    complete: BoolArray = np.logical_not(np.isnan(values).any(axis=0))
    scores, grouped = values[:, complete], as_clusters(clusters, values.T).among(complete)
    _check(scores, grouped.count, factors)
    systems, n = scores.shape
    sample = grouped.linearise(scores.T)
    drawn = resampled_means(np.ascontiguousarray(sample), resamples, seed)
    means = _Means(scores.mean(axis=1), np.cov(sample.T) / len(sample), drawn)
    whole = np.eye(systems) - 1 / systems
    if means.seen(whole) < NOISE:
        raise ComparisonError("all systems have the same mean, so nothing needs explaining.")
    varying = {name: levels for name, levels in factors.items() if _count(levels) > 1}
    groups = _separable(varying)
    columns = {
        join_names(group): np.column_stack([_contrasts(varying[name]) for name in group]) for group in groups
    }
    counts = {join_names(group): _combinations([varying[name] for name in group]) for group in groups}
    shares = _shares(means, _quadratic_forms(systems, columns), counts)
    noise = min(1.0, means.by_chance(whole) / means.seen(whole))
    return FactorAnalysis(
        shares,
        float(means.observed.std(ddof=1)),
        noise,
        systems,
        n,
        confounded=tuple(group for group in groups if len(group) > 1),
        partial=tuple(name for name, levels in varying.items() if None in levels),
    )


def _count(levels: Sequence[str | None]) -> int:
    return len({level for level in levels if level is not None})


def _combinations(levels: Sequence[Sequence[str | None]]) -> int:
    """How many different combinations of these factors the systems have; those that have none of them do not count."""
    return len({row for row in zip(*levels, strict=True) if any(level is not None for level in row)})


def _contrasts(levels: Sequence[str | None]) -> FloatArray:
    """One column per level, minus the mean of the systems that have the factor; 0 for the others."""
    has = np.array([level is not None for level in levels], float)
    names = sorted({level for level in levels if level is not None})
    marks = [np.array([level == one for level in levels], float) for one in names]
    columns: FloatArray = np.column_stack([mark - mark.sum() / has.sum() * has for mark in marks])
    return columns


def _separable(levels: Mapping[str, Sequence[str | None]]) -> list[tuple[str, ...]]:
    """Group factors that depend on each other linearly, so that no data separates them."""
    groups: list[tuple[str, ...]] = [(name,) for name in levels]
    size = 2
    while size <= len(groups):
        dependent = next(
            (subset for subset in combinations(groups, size) if _dependent(subset, levels)), None
        )
        if dependent is None:
            size += 1
            continue
        merged = tuple(name for name in levels if any(name in group for group in dependent))
        first = groups.index(dependent[0])
        groups = [group for group in groups if group not in dependent]
        groups.insert(first, merged)
        size = 2
    return groups


def _dependent(groups: Sequence[tuple[str, ...]], levels: Mapping[str, Sequence[str | None]]) -> bool:
    """Whether groups depend on each other in the systems that have all of their factors."""
    rows = list(zip(*(levels[name] for group in groups for name in group), strict=True))
    both = [number for number, row in enumerate(rows) if None not in row]
    if len(both) < 2:
        return False
    parts = [
        np.column_stack([_contrasts([levels[name][number] for number in both]) for name in group])
        for group in groups
    ]
    rank = int(np.linalg.matrix_rank(np.column_stack(parts)))
    return rank < sum(int(np.linalg.matrix_rank(part)) for part in parts)


def _shares(
    means: _Means, forms: Mapping[str, FloatArray], levels: Mapping[str, int]
) -> tuple[FactorShare, ...]:
    """Every part of the variation; negative estimates count as 0, so that all add up to the whole."""
    seen = np.array([means.seen(form) for form in forms.values()])
    true = _parts(seen - [means.by_chance(form) for form in forms.values()])
    low, high = np.quantile(
        _parts(np.array([means.resample(form) for form in forms.values()])), (0.025, 0.975), 1
    )
    return tuple(
        FactorShare(name, levels.get(name, 0), max(0.0, float(part)), *map(float, rest))
        for name, part, *rest in zip(forms, seen / seen.sum(), true, low, high, strict=True)
    )


def _parts(values: FloatArray) -> FloatArray:
    """Shares of their sum (first axis), with negative estimates set to 0."""
    kept = np.maximum(values, 0.0)
    shares: FloatArray = kept / np.maximum(kept.sum(axis=0), NOISE)
    return shares


def _check(scores: FloatArray, clusters: int, factors: Mapping[str, Sequence[str | None]]) -> None:
    """Raise for fewer than two systems, or if all queries are in one cluster, where sampling noise is unknown."""
    if scores.shape[0] < 2 or clusters < 2:
        raise ComparisonError(
            f"{scores.shape[0]} systems on {scores.shape[1]} shared queries in {clusters} clusters are too few "
            "to explain their variation."
        )
    for name, levels in factors.items():
        if len(levels) != scores.shape[0]:
            raise ComparisonError(f"factor {name!r} has {len(levels)} levels for {scores.shape[0]} systems.")
    if all(_count(levels) < 2 for levels in factors.values()):
        raise ComparisonError("no factor differs between the systems, so none can explain their variation.")


def _quadratic_forms(systems: int, factors: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """For each factor, the matrix whose quadratic form in the system means is its part of the variation."""
    names = list(factors)
    projections = {
        subset: _projection(systems, [factors[name] for name in subset])
        for size in range(len(names) + 1)
        for subset in combinations(names, size)
    }
    forms = {name: np.zeros((systems, systems)) for name in names}
    for subset, projection in projections.items():
        for name in names:
            if name not in subset:
                larger = tuple(other for other in names if other in subset or other == name)
                weight = (
                    factorial(len(subset)) * factorial(len(names) - len(subset) - 1) / factorial(len(names))
                )
                forms[name] += weight * (projections[larger] - projection)
    forms[REST] = np.eye(systems) - projections[tuple(names)]
    return forms


def _projection(systems: int, factors: list[FloatArray]) -> FloatArray:
    design = np.column_stack([np.ones(systems), *factors])
    projection: FloatArray = design @ np.linalg.pinv(design)
    return projection
