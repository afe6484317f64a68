"""The key measure of each category of a preset, with every system's mean and interval (S4-29, S4-83)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.measures.names import parse
from bakeoff.measures.presets import preset
from bakeoff.runs.analysis import Result
from bakeoff.runs.score_grid import GridMean, ScoreGrid, resampled_group


@dataclass(frozen=True, slots=True)
class KeyMeasure:
    """Measure of one category; `means` by system are empty if the run lacks it."""

    category: str
    measure: str
    means: Mapping[str, GridMean]

    @property
    def best(self) -> list[str]:
        """Systems with the best mean, several if tied."""
        values = {system: mean.value for system, mean in self.means.items() if mean.value is not None}
        pick = max if parse(self.measure).definition.higher_is_better else min
        top = pick(values.values(), default=0.0)
        return [system for system, value in values.items() if abs(value - top) < 1e-9]


def key_measures(result: Result, grid: ScoreGrid, systems: Sequence[str]) -> tuple[KeyMeasure, ...]:
    """One per category for which the run's preset names a measure, in query order."""
    words = preset(result.record.preset).key_measures if result.record.preset else ()
    measures = []
    for category in dict.fromkeys(query.category for query in grid.queries if query.category):
        preferred = next((name for word, name in words if word in category.lower()), None)
        if preferred is not None:
            measures.append(_key_measure(grid, systems, category, preferred, result.record.seed))
    return tuple(measures)


def _key_measure(
    grid: ScoreGrid, systems: Sequence[str], category: str, preferred: str, seed: int
) -> KeyMeasure:
    measure = _closest_measure(preferred, list(grid.values))
    if measure is None:
        return KeyMeasure(category, preferred, {})
    inside = np.array([query.category == category for query in grid.queries])
    means = resampled_group(grid, [measure], systems, inside=inside, seed=seed)
    return KeyMeasure(category, measure, {system: means[measure, system] for system in systems})


def _closest_measure(preferred: str, measures: Sequence[str]) -> str | None:
    """The run's measure that equals the wanted one, else one that differs in unit, else in depth."""
    key = parse(preferred)
    parsed = [parse(name) for name in measures]
    same = [one for one in parsed if (one.name, one.source) == (key.name, key.source)]
    nearest = sorted(same, key=lambda one: (one.k != key.k, one.unit != key.unit))
    return str(nearest[0]) if nearest else None
