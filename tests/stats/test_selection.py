"""Folds and hold-outs for an honest choice."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from bakeoff.errors import ComparisonError
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.selection import select, stratified_folds


def noise(systems: int, n: int, seed: int) -> ScoreMatrix:
    values = np.random.default_rng(seed).random((systems, n))
    return ScoreMatrix(tuple(f"s{i}" for i in range(systems)), tuple(map(str, range(n))), values, "nDCG@10")


def test_folds_are_even_in_size_and_category() -> None:
    labels = ["easy"] * 21 + ["hard"] * 30
    folds = stratified_folds(51, 5, seed=1, categories=labels)
    assert sorted(Counter(folds.tolist()).values()) == [10, 10, 10, 10, 11]
    hard = Counter(fold for fold, label in zip(folds.tolist(), labels, strict=True) if label == "hard")
    assert set(hard.values()) == {6}
    assert (folds == stratified_folds(51, 5, seed=1, categories=labels)).all()
    assert (folds != stratified_folds(51, 5, seed=2, categories=labels)).any()


def test_a_true_winner_keeps_its_score() -> None:
    matrix = noise(5, 60, seed=1)
    values = matrix.values * 0.5
    values[3] += 0.5
    found = select(ScoreMatrix(matrix.systems, matrix.queries, values, "nDCG@10"), folds=5, seed=1)
    assert (found.winner, found.agreement) == ("s3", 1.0)
    assert found.optimism == pytest.approx(0.0, abs=1e-12)
    assert found.choices == 100


def test_the_held_out_score_is_the_mean_over_splits_and_no_query_is_scored_by_its_own_choice() -> None:
    """Each query has one system that is right only there: chosen with it, it would score one."""
    n = 20
    values = np.vstack([np.full(n, 0.01), np.eye(n)])
    names = ("always", *(f"only {place}" for place in range(n)))
    found = select(ScoreMatrix(names, tuple(map(str, range(n))), values, "nDCG@10"), folds=n, seed=1)
    assert found.held_out_score < 0.01 and found.choices == 20 * n


def test_systems_that_tie_share_a_choice_and_nothing_is_chosen_between_them() -> None:
    """Three systems at 1.0 everywhere: the first of them is not "the same winner in 100 % of the choices"."""
    values = np.vstack([np.ones((3, 12)), np.full((1, 12), 0.5)])
    found = select(
        ScoreMatrix(("a", "b", "c", "d"), tuple(map(str, range(12))), values, "R@10"), folds=4, seed=1
    )
    assert (found.winner, found.tied, found.choices) == ("a", ("b", "c"), 80)
    assert found.agreement == pytest.approx(1 / 3)
    assert (found.tuning_score, found.held_out_score) == pytest.approx((1.0, 1.0))


def test_a_choice_between_tied_systems_scores_their_mean_on_held_out_queries() -> None:
    """Two systems, each right on one of two queries: on the other one either choice is wrong."""
    found = select(ScoreMatrix(("a", "b"), ("p", "q"), np.eye(2), "R@10"), folds=2, seed=1)
    assert found.tied == ("b",) and found.held_out_score == 0.0
    even = np.array([[1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 0.0, 1.0]])
    found = select(ScoreMatrix(("a", "b"), tuple("pqrs"), even, "R@10"), folds=4, seed=1)
    assert found.held_out_score == pytest.approx(
        0.5
    )  # (1 + 1 + 0 + 0) / 4: a tie where r or s is not held out


def test_unscored_queries_take_no_part() -> None:
    matrix = noise(3, 30, seed=1)
    values = matrix.values.copy()
    values[0, :10] = np.nan
    assert select(ScoreMatrix(matrix.systems, matrix.queries, values, "nDCG@10"), folds=4, seed=1).n == 20


def test_impossible_splits_are_refused() -> None:
    with pytest.raises(ComparisonError, match="between 2 and 3"):
        select(noise(2, 3, seed=1), folds=5, seed=1)
