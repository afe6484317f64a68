"""F30: choosing the best of many configurations and reporting its score on the same queries."""

from __future__ import annotations

import numpy as np

from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.selection import select


def alike(systems: int, seed: int) -> ScoreMatrix:
    """Configurations that differ by nothing but chance around a mean of one half."""
    values = np.random.default_rng(seed).random((systems, 40))
    return ScoreMatrix(tuple(f"s{i}" for i in range(systems)), tuple(map(str, range(40))), values, "nDCG@10")


def test_f30_the_held_out_score_does_not_profit_from_choosing() -> None:
    found = [select(alike(40, seed), folds=5, seed=seed) for seed in range(60)]
    tuning = np.mean([one.tuning_score for one in found])
    held_out = np.mean([one.held_out_score for one in found])
    assert tuning > 0.58
    assert abs(held_out - 0.5) < 0.02
    assert np.mean([one.optimism for one in found]) > 0.06


def test_f30_both_scores_stand_side_by_side() -> None:
    found = select(alike(40, seed=1), folds=5, seed=1)
    assert f"{found.tuning_score:.3f} on the queries it was chosen on, out of 40" in found.sentence
    assert f"held-out queries the choice scores {found.held_out_score:.3f}" in found.sentence
    assert found.held_out_interval.defined
