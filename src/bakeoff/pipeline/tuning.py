"""tuning: chooses the weight of a hybrid for each query, using other queries only (F30)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.config.modes import WEIGHT, Hybrid
from bakeoff.pipeline.fuse import fuse_rankings
from bakeoff.pipeline.query_pipeline import StepResult

if TYPE_CHECKING:
    import numpy as np

FOLDS = 5
GRID = tuple(sorted((step / 10 for step in range(11)), key=lambda weight: (abs(weight - WEIGHT), weight)))
"""The weights tried, most even first: ties go to the earlier one."""


@dataclass(frozen=True, slots=True)
class WeightChoice:
    """Each query's fold, and the weight that was best on the queries of the other folds."""

    fold: np.ndarray
    weight: np.ndarray


class WeightTuner:
    """Chooses the weights once the searches have answered, and keeps them."""

    def __init__(
        self,
        params: Hybrid,
        depth: int,
        score: Callable[[StepResult], np.ndarray],
        categories: list[str],
        seed: int,
        *,
        higher_is_better: bool = True,
        clusters: Sequence[str] = (),
    ) -> None:
        self._params, self._depth, self._score = params, depth, score
        self._categories, self._seed, self._clusters = categories, seed, clusters
        self._sign = 1.0 if higher_is_better else -1.0
        self.choice: WeightChoice | None = None

    def __call__(self, legs: tuple[StepResult, ...]) -> np.ndarray:
        """Return the dense share of each answered query."""
        import numpy as np

        values = self._sign * np.array([self._score(self._fuse(legs, weight)) for weight in GRID])
        count = values.shape[1]
        self.choice = cross_validated_weights(
            values, self._categories[:count], self._seed, self._clusters[:count]
        )
        return self.choice.weight

    def _fuse(self, legs: tuple[StepResult, ...], weight: float) -> StepResult:
        pairs = zip(legs[0].hits, legs[1].hits, strict=True)
        hits = tuple(fuse_rankings(dense, words, self._params, self._depth, weight) for dense, words in pairs)
        return StepResult(hits, legs[0].milliseconds)


def cross_validated_weights(
    values: np.ndarray, categories: list[str], seed: int, clusters: Sequence[str] = ()
) -> WeightChoice:
    """Cross-validate over queries; `values` are GRID × queries, NaN if a query has no score."""
    import numpy as np

    from bakeoff.stats.clusters import Clusters
    from bakeoff.stats.selection import stratified_folds

    count, together = values.shape[1], Clusters.of(clusters, values.shape[1])
    if together.count < 2:
        return WeightChoice(np.zeros(count, np.int64), np.full(count, WEIGHT))
    folds, labels = min(FOLDS, together.count), categories if any(categories) else ()
    fold = stratified_folds(count, folds, seed, labels, clusters=together)
    weight = np.full(count, WEIGHT)
    scored = ~np.isnan(values).any(axis=0)
    for number in np.unique(fold):
        others = scored & (fold != number)
        if others.any():
            best = np.round(values[:, others].mean(axis=1), 12).argmax()
            weight[fold == number] = GRID[int(best)]
    return WeightChoice(fold, weight)
