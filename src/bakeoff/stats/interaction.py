"""Tests whether the difference between two systems depends on the category, by permuting labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from bakeoff.errors import ComparisonError
from bakeoff.stats.arrays import NOISE, FloatArray
from bakeoff.stats.bootstrap import BootstrapSettings, mean_interval
from bakeoff.stats.clusters import Clusters
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.correction import holm
from bakeoff.stats.equivalence import possible_means
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
    """Test one system against each other one, with Holm's correction over the pairs."""
    found = [interaction(matrix, system, other, settings) for other in others]
    adjusted = holm([one.p for one in found])
    return tuple(replace(one, p_holm=p) for one, p in zip(found, adjusted, strict=True))


def interaction(matrix: ScoreMatrix, a: str, b: str, settings: BootstrapSettings) -> Interaction:
    """Test one pair on the queries scored for both."""
    if not matrix.categories:
        raise ComparisonError(f"scores of {matrix.measure} have no categories. Give one per query.")
    matrix = matrix.sort_queries()
    values = matrix.without_structural()
    advantage = values[matrix.systems.index(a)] - values[matrix.systems.index(b)]
    if not matrix.higher_is_better:
        advantage = -advantage
    common = ~np.isnan(advantage)
    labels = np.array(matrix.categories)[common].tolist()
    clusters = Clusters.of(matrix.clusters, len(matrix.queries)).among(common)
    test = label_permutation_p if clusters.alone else partial(cluster_flip_p, clusters=clusters)
    p = test(advantage[common], labels, settings.seed)
    found = _by_category(advantage[common], labels, settings, clusters, matrix.largest_difference)
    return Interaction(a, b, p, p, found)


def label_permutation_p(differences: FloatArray, labels: Sequence[str], seed: int) -> float:
    """p-value of the spread of category means under shuffled labels; never 0."""
    names = sorted(set(labels))
    if len(names) < 2:
        return 1.0
    member = np.array([[label == name for name in names] for label in labels], dtype=np.float64)
    sizes = member.sum(axis=0)
    observed = float(((differences @ member) ** 2 / sizes).sum())
    generator = np.random.default_rng([seed, len(differences), 2])
    rows = max(1, CELLS_PER_BLOCK // len(differences))
    reached = 0
    for start in range(0, PERMUTATIONS, rows):
        count = min(rows, PERMUTATIONS - start)
        shuffled = generator.permuted(np.tile(differences, (count, 1)), axis=1)
        reached += int((((shuffled @ member) ** 2 / sizes).sum(axis=1) >= observed - NOISE).sum())
    return (reached + 1) / (PERMUTATIONS + 1)


def cluster_flip_p(differences: FloatArray, labels: Sequence[str], seed: int, *, clusters: Clusters) -> float:
    """p-value of the spread of category means for clustered queries; never 0. Labels of dependent queries
    can't be shuffled. Instead, the deviations from the common mean get random signs, one per cluster (a wild
    cluster bootstrap under the hypothesis of no spread)."""
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
    advantage: FloatArray, labels: list[str], settings: BootstrapSettings, clusters: Clusters, largest: float
) -> tuple[CategoryDifference, ...]:
    names = list(dict.fromkeys(labels))
    alpha = (1 - settings.level) / max(1, len(names))
    made = []
    for name in names:
        chosen = np.array([label == name for label in labels])
        part, together = advantage[chosen], clusters.among(chosen)
        interval = mean_interval(part, settings.at(1 - alpha), clusters=together)
        ((ends,),) = possible_means(part, [largest], (alpha,), settings.seed, clusters=together)
        sure = ends is not None and not ends[0] <= 0.0 <= ends[1]
        made.append(CategoryDifference(name, len(part), float(part.mean()), interval, sure))
    return tuple(made)
