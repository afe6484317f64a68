"""Semantic lift of every system on the queries that people judged completely for all of them (S4-33, C-22)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bakeoff.analysis import Result
from bakeoff.measures.names import parse
from bakeoff.report.grid import Grid, Mean, resampled_group
from bakeoff.stats.arrays import BoolArray


def lift_means(result: Result, grid: Grid, systems: Sequence[str]) -> dict[str, Mean]:
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
