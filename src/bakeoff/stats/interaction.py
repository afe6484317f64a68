"""Tests whether the difference between two systems depends on the category, by permuting labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.errors import ComparisonError
from bakeoff.stats.arrays import NOISE, FloatArray, IntArray, groups_by_mask
from bakeoff.stats.bootstrap import BootstrapSettings, difference_bounds, mean_intervals
from bakeoff.stats.clusters import Clusters
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.correction import holm
from bakeoff.stats.equivalence import excludes_zero, possible_means
from bakeoff.stats.intervals import Interval
from bakeoff.stats.tests import sign_blocks

PERMUTATIONS = 10_000
CELLS_PER_BLOCK = 2_000_000


@dataclass(frozen=True, slots=True)
class CategoryDifference:
    """Advantage of a over b on one category, with an interval widened for the number of categories."""

    category: str
    n: int
    advantage: float
    interval: Interval
    holds_level: bool = False
    """Whether its sign also holds against rare queries not sampled, corrected over the categories."""


@dataclass(frozen=True, slots=True)
class Interaction:
    """Whether the advantage of a over b varies with the category more than under shuffled labels."""

    a: str
    b: str
    p: float
    p_holm: float
    categories: tuple[CategoryDifference, ...]

    @property
    def for_a(self) -> tuple[CategoryDifference, ...]:
        """Categories where a is shown to be better."""
        return tuple(c for c in self.categories if c.holds_level and (c.interval.low or 0) > 0)

    @property
    def for_b(self) -> tuple[CategoryDifference, ...]:
        """Categories where b is shown to be better."""
        return tuple(c for c in self.categories if c.holds_level and (c.interval.high or 0) < 0)

    @property
    def crosses(self) -> bool:
        """Whether a is better on one category and b on another, each interval excluding 0 at its level."""
        return bool(self.for_a and self.for_b)


def interactions(
    matrix: ScoreMatrix, system: str, others: Sequence[str], settings: BootstrapSettings
) -> tuple[Interaction, ...]:
    """Test one system against each other one on the queries scored for both, with Holm's correction over the pairs.

    Pairs that share their queries share the random draws.
    """
    if not matrix.categories:
        raise ComparisonError(f"scores of {matrix.measure} have no categories. Give one per query.")
    if not others:
        return ()
    matrix = matrix.sort_queries()
    values = matrix.without_structural()
    sign = 1.0 if matrix.higher_is_better else -1.0
    rows = [matrix.systems.index(other) for other in others]
    advantages = (sign * (values[matrix.systems.index(system)] - values[rows])).T
    every = Clusters.of(matrix.clusters, len(matrix.queries))
    by_category: dict[int, tuple[float, tuple[CategoryDifference, ...]]] = {}
    for numbers, common in groups_by_mask(advantages):
        labels, clusters = np.array(matrix.categories)[common].tolist(), every.among(common)
        columns = advantages[np.ix_(common, numbers)]
        p_values = _test_labels(columns, labels, settings.seed, clusters)
        by_pair = zip(*_by_category(columns, labels, settings, clusters, matrix), strict=True)
        for number, p, parts in zip(numbers, p_values, by_pair, strict=True):
            by_category[int(number)] = (p, parts)
    adjusted = holm([by_category[number][0] for number in range(len(others))])
    return tuple(
        Interaction(system, other, by_category[number][0], adjusted[number], by_category[number][1])
        for number, other in enumerate(others)
    )


def _test_labels(columns: FloatArray, labels: Sequence[str], seed: int, clusters: Clusters) -> list[float]:
    """The p-value of each column; where queries depend on each other, by flips of clusters."""
    if clusters.alone:
        return label_permutation_tests(columns, labels, seed)
    return [cluster_flip_p(column, labels, seed, clusters=clusters) for column in columns.T]


def label_permutation_tests(columns: FloatArray, labels: Sequence[str], seed: int) -> list[float]:
    """p-value of the spread of category means under shuffled labels, for each column of differences; never 0."""
    n, names = len(columns), sorted(set(labels))
    if len(names) < 2:
        return [1.0] * columns.shape[1]
    codes = np.array([names.index(label) for label in labels])
    sizes = np.bincount(codes)
    observed = _spread_of_means([columns[codes == code].sum(axis=0) for code in range(len(names))], sizes)
    generator = np.random.default_rng([seed, n, 2])
    rows = max(1, CELLS_PER_BLOCK // n)
    reached = np.zeros(columns.shape[1], dtype=np.int64)
    for start in range(0, PERMUTATIONS, rows):
        count = min(rows, PERMUTATIONS - start)
        places = generator.permuted(np.tile(np.arange(n), (count, 1)), axis=1)
        shuffled = np.empty((count, n), dtype=codes.dtype)
        np.put_along_axis(shuffled, places, np.broadcast_to(codes, (count, n)), axis=1)
        sums = [(shuffled == code).astype(np.float64) @ columns for code in range(len(names))]
        reached += (_spread_of_means(sums, sizes) >= observed - NOISE).sum(axis=0)
    return [(int(one) + 1) / (PERMUTATIONS + 1) for one in reached]


def _spread_of_means(sums: list[FloatArray], sizes: IntArray) -> FloatArray:
    """Squared category means weighted by size, from the sum of each category."""
    spread: FloatArray = np.sum([one**2 / size for one, size in zip(sums, sizes, strict=True)], axis=0)
    return spread


def cluster_flip_p(differences: FloatArray, labels: Sequence[str], seed: int, *, clusters: Clusters) -> float:
    """p-value of the spread of category means for clustered queries; never 0.

    Labels of dependent queries can't be shuffled. Instead, the deviations from the common mean get random
    signs, one per cluster (a wild cluster bootstrap under the hypothesis of no spread).
    """
    names = sorted(set(labels))
    if len(names) < 2 or clusters.count < 2:
        return 1.0
    member = np.array([[label == name for name in names] for label in labels], dtype=np.float64)
    sizes = member.sum(axis=0)
    sums = clusters.sums((differences - differences.mean())[:, None] * member)
    observed = float((sums.sum(axis=0) ** 2 / sizes).sum())
    reached = 0
    for signs in sign_blocks(clusters.count, PERMUTATIONS, seed):
        flipped = signs @ sums
        flipped -= flipped.sum(axis=1, keepdims=True) * (sizes / sizes.sum())
        reached += int(((flipped**2 / sizes).sum(axis=1) >= observed - NOISE).sum())
    return (reached + 1) / (PERMUTATIONS + 1)


def _by_category(
    columns: FloatArray,
    labels: list[str],
    settings: BootstrapSettings,
    clusters: Clusters,
    matrix: ScoreMatrix,
) -> list[list[CategoryDifference]]:
    """For each category the advantage of every column on it."""
    names = list(dict.fromkeys(labels))
    alpha = (1 - settings.level) / max(1, len(names))
    by_category = []
    for name in names:
        inside = np.array([label == name for label in labels])
        part, members = columns[inside], clusters.among(inside)
        intervals = mean_intervals(part, settings.at(1 - alpha), difference_bounds(matrix.bounds), members)
        extremes = np.full(part.shape[1], matrix.largest_difference)
        (bounds,) = possible_means(part, extremes, (alpha,), settings.seed, clusters=members)
        by_category.append(
            [
                CategoryDifference(name, len(part), float(mean), interval, excludes_zero(ends))
                for mean, interval, ends in zip(part.mean(axis=0), intervals, bounds, strict=True)
            ]
        )
    return by_category
