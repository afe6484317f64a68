"""Semantic lift of every system on the queries that people judged completely for all of them (S4-33, C-22)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bakeoff.measures.names import parse
from bakeoff.runs.analysis import Result
from bakeoff.runs.score_grid import GridMean, ScoreGrid, resampled_group
from bakeoff.stats.arrays import BoolArray


def lift_means(result: Result, grid: ScoreGrid, systems: Sequence[str]) -> dict[str, GridMean]:
    """Mean lift by system, with its interval; empty where no query is judged completely for all systems."""
    measure = next((name for name in grid.values if parse(name).name == "SemLift"), None)
    if measure is None or not systems:
        return {}
    values = np.stack([grid.row(measure, system) for system in systems])
    common: BoolArray = np.logical_not(np.isnan(values).any(axis=0))
    if not common.any():
        return {}
    found = resampled_group(grid, [measure], systems, inside=common, seed=result.record.seed)
    return {system: found[measure, system] for system in systems}
