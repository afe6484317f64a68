"""A weight is chosen on other queries only: no query has a part in choosing its own."""

from __future__ import annotations

import numpy as np
import pytest

from bakeoff.config.modes import Hybrid
from bakeoff.pipeline.query_pipeline import StepResult
from bakeoff.pipeline.tuning import GRID, WeightTuner, cross_validated_weights
from bakeoff.types import Hits


def noise(queries: int = 60, seed: int = 3) -> np.ndarray:
    """Scores of every weight that differ by chance only."""
    return np.random.default_rng(seed).random((len(GRID), queries))


def test_a_query_has_no_part_in_its_own_weight() -> None:
    values = noise()
    before = cross_validated_weights(values, [], 7)
    for query in range(values.shape[1]):
        changed = values.copy()
        changed[:, query] = np.random.default_rng(query).random(len(GRID)) * 1000
        after = cross_validated_weights(changed, [], 7)
        same_fold = before.fold == before.fold[query]
        assert np.array_equal(after.weight[same_fold], before.weight[same_fold])


def test_the_score_is_not_that_of_the_best_weight_on_the_same_queries() -> None:
    best, honest = [], []
    for seed in range(40):
        values = noise(seed=seed)
        rows = [GRID.index(weight) for weight in cross_validated_weights(values, [], seed).weight]
        best.append(values.mean(axis=1).max())
        honest.append(values[rows, np.arange(values.shape[1])].mean())
    # chance alone makes the best of eleven look better than their true mean, which is a half
    assert np.mean(best) > 0.54 and abs(np.mean(honest) - 0.5) < 0.02


def test_a_clear_best_is_chosen_in_every_fold() -> None:
    values = noise() * 0.01
    values[GRID.index(0.3)] += 0.5
    choice = cross_validated_weights(values, [], 7)
    assert set(choice.weight) == {0.3} and sorted(np.bincount(choice.fold)) == [12] * 5


def test_equally_good_weights_give_the_most_even_one() -> None:
    assert set(cross_validated_weights(np.ones((len(GRID), 10)), [], 7).weight) == {0.5}


def test_the_seed_deals_the_folds() -> None:
    one, same, other = (cross_validated_weights(noise(), [], seed) for seed in (1, 1, 2))
    assert np.array_equal(one.fold, same.fold) and np.array_equal(one.weight, same.weight)
    assert not np.array_equal(one.fold, other.fold)


def test_categories_are_spread_over_the_folds() -> None:
    labels = ["a"] * 20 + ["b"] * 10
    fold = cross_validated_weights(noise(30), labels, 7).fold
    assert [sorted(np.bincount(fold[:20])), sorted(np.bincount(fold[20:]))] == [[4] * 5, [2] * 5]


def test_queries_without_a_score_choose_nothing_and_get_a_weight() -> None:
    values = noise() * 0.01
    values[GRID.index(0.8)] += 0.5
    values[:, :5] = np.nan
    assert set(cross_validated_weights(values, [], 7).weight) == {0.8}
    assert set(cross_validated_weights(np.full((len(GRID), 4), np.nan), [], 7).weight) == {0.5}
    assert cross_validated_weights(noise(1), [], 7).weight.tolist() == [0.5]


@pytest.mark.parametrize(("higher", "best"), [(True, 1.0), (False, 0.0)])
def test_the_tuner_scores_what_each_weight_would_rank(higher: bool, best: float) -> None:
    """Dense search puts the answer first and words put it last."""
    dense = Hits(np.array([1, 2, 3]), np.array([3.0, 2.0, 1.0]))
    words = Hits(np.array([3, 2, 1]), np.array([3.0, 2.0, 1.0]))
    legs = tuple(StepResult((hits,) * 10, np.ones((1, 10))) for hits in (dense, words))

    def score(ranking: StepResult) -> np.ndarray:
        return np.array([float(hits.scores[hits.ids == 1][0]) for hits in ranking.hits])

    params = Hybrid(fusion="weighted", weight="tuned")
    tuner = WeightTuner(params, 10, score, [""] * 10, 7, higher_is_better=higher)
    assert set(tuner(legs)) == {best} and tuner.choice is not None
