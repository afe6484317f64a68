"""F60: the best of many fusion weights is chosen on the queries it is scored on."""

from __future__ import annotations

import numpy as np

from bakeoff.config.modes import Hybrid
from bakeoff.pipeline.query_pipeline import StepResult
from bakeoff.pipeline.tuning import GRID, WeightTuner
from bakeoff.types import Hits

QUERIES = 40


def leg() -> StepResult:
    hits = Hits(np.array([0, 1]), np.array([0.9, 0.1]))
    return StepResult((hits,) * QUERIES, np.zeros(QUERIES))


def test_f60_a_tuned_hybrid_does_not_score_above_chance_where_weights_do_not_matter() -> None:
    """Every weight scores one half by chance: the best of them on these queries is above it, what is served is not."""
    served, best = [], []
    for seed in range(60):
        values = np.random.default_rng(seed).random((len(GRID), QUERIES))
        rows = iter(values)
        tuner = WeightTuner(Hybrid(), 2, lambda _, rows=rows: next(rows), [""] * QUERIES, seed)  # type: ignore[misc]
        places = [GRID.index(weight) for weight in tuner((leg(), leg()))]
        served.append(values[places, np.arange(QUERIES)].mean())
        best.append(values.mean(axis=1).max())
    assert np.mean(best) > 0.54
    assert abs(np.mean(served) - 0.5) < 0.015
