"""Whether the difference between two systems depends on the category: a permutation test of labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bakeoff.errors import ComparisonError
from bakeoff.stats.arrays import NOISE, FloatArray
from bakeoff.stats.bootstrap import BootstrapSettings, mean_interval
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.correction import holm
from bakeoff.stats.intervals import Interval

PERMUTATIONS = 10_000
CELLS_PER_BLOCK = 2_000_000


@dataclass(frozen=True, slots=True)
class CategoryDifference:
    """The advantage of a over b on one category, with an interval widened for the number of categories."""

    category: str
    n: int
    advantage: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class Interaction:
    """Whether the advantage of a over b varies with the category more than shuffled labels would show."""

    a: str
    b: str
    p: float
    p_holm: float
    categories: tuple[CategoryDifference, ...]

    @property
    def for_a(self) -> tuple[CategoryDifference, ...]:
        """Categories whose whole interval is in favour of a."""
        return tuple(c for c in self.categories if c.interval.low is not None and c.interval.low > 0)

    @property
    def for_b(self) -> tuple[CategoryDifference, ...]:
        """Categories whose whole interval is in favour of b."""
        return tuple(c for c in self.categories if c.interval.high is not None and c.interval.high < 0)

    @property
    def crosses(self) -> bool:
        """Whether a is better on one category and b on another, each interval excluding 0."""
        return bool(self.for_a and self.for_b)


def interactions(
    matrix: ScoreMatrix, system: str, others: Sequence[str], settings: BootstrapSettings
) -> tuple[Interaction, ...]:
    """The test of one system against each other, with Holm's correction over the pairs."""
    found = [interaction(matrix, system, other, settings) for other in others]
    adjusted = holm([one.p for one in found])
    return tuple(replace(one, p_holm=p) for one, p in zip(found, adjusted, strict=True))


def interaction(matrix: ScoreMatrix, a: str, b: str, settings: BootstrapSettings) -> Interaction:
    """The test of one pair on the queries scored for both."""
    if not matrix.categories:
        raise ComparisonError(f"scores of {matrix.measure} carry no categories. Give one a query.")
    matrix = matrix.sorted()
    values = matrix.scored()
    advantage = values[matrix.systems.index(a)] - values[matrix.systems.index(b)]
    if not matrix.higher_is_better:
        advantage = -advantage
    common = ~np.isnan(advantage)
    labels = np.array(matrix.categories)[common]
    p = label_permutation_p(advantage[common], labels.tolist(), settings.seed)
    return Interaction(a, b, p, p, _by_category(advantage[common], labels.tolist(), settings))


def label_permutation_p(differences: FloatArray, labels: Sequence[str], seed: int) -> float:
    """p-value of the spread of category means of the differences under shuffled labels; never 0."""
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


def _by_category(
    advantage: FloatArray, labels: list[str], settings: BootstrapSettings
) -> tuple[CategoryDifference, ...]:
    names = list(dict.fromkeys(labels))
    wide = settings.at(1 - (1 - settings.level) / max(1, len(names)))
    made = []
    for name in names:
        part = advantage[[label == name for label in labels]]
        made.append(CategoryDifference(name, len(part), float(part.mean()), mean_interval(part, wide)))
    return tuple(made)
