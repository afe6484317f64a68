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
        known = {system: mean.value for system, mean in self.means.items() if mean.value is not None}
        pick = max if parse(self.measure).definition.higher_is_better else min
        top = pick(known.values(), default=0.0)
        return [system for system, value in known.items() if abs(value - top) < 1e-9]


def key_measures(result: Result, grid: ScoreGrid, systems: Sequence[str]) -> tuple[KeyMeasure, ...]:
    """One per category for which the run's preset names a measure, in query order."""
    words = preset(result.record.preset).key_measures if result.record.preset else ()
    found = []
    for category in dict.fromkeys(query.category for query in grid.queries if query.category):
        wanted = next((name for word, name in words if word in category.lower()), None)
        if wanted is not None:
            found.append(_key_measure(grid, systems, category, wanted, result.record.seed))
    return tuple(found)


def _key_measure(
    grid: ScoreGrid, systems: Sequence[str], category: str, wanted: str, seed: int
) -> KeyMeasure:
    measure = _closest_measure(wanted, list(grid.values))
    if measure is None:
        return KeyMeasure(category, wanted, {})
    inside = np.array([query.category == category for query in grid.queries])
    found = resampled_group(grid, [measure], systems, inside=inside, seed=seed)
    return KeyMeasure(category, measure, {system: found[measure, system] for system in systems})


def _closest_measure(wanted: str, measures: Sequence[str]) -> str | None:
    """The run's measure that equals the wanted one, else one that differs in unit, else in depth."""
    key = parse(wanted)
    known = [parse(name) for name in measures]
    same = [one for one in known if (one.name, one.source) == (key.name, key.source)]
    nearest = sorted(same, key=lambda one: (one.k != key.k, one.unit != key.unit))
    return str(nearest[0]) if nearest else None
