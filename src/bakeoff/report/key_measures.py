"""The measure that matters for each category of a preset, with mean and interval of every system (S4-29, S4-83)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.analysis import Result
from bakeoff.measures.definitions import Needs
from bakeoff.measures.names import parse
from bakeoff.measures.presets import preset
from bakeoff.report.grid import Grid as ScoreGrid
from bakeoff.report.grid import Mean, resampled_group
from bakeoff.report.sections import Grid, Section
from bakeoff.report.wording import ABSENT, count, interval, score

SYSTEMS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class KeyMeasure:
    """The measure of one category; `means` by system are empty where the run does not have it."""

    category: str
    measure: str
    means: Mapping[str, Mean]

    @property
    def best(self) -> list[str]:
        """The systems with the best mean, several where they share it."""
        known = {system: mean.value for system, mean in self.means.items() if mean.value is not None}
        pick = max if parse(self.measure).definition.higher_is_better else min
        top = pick(known.values(), default=0.0)
        return [system for system, value in known.items() if abs(value - top) < 1e-9]


def key_measures(result: Result, grid: ScoreGrid, systems: Sequence[str]) -> tuple[KeyMeasure, ...]:
    """One per category that the run's preset names a measure for, in the order of the queries."""
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
    measure = _measured(wanted, list(grid.values))
    if measure is None:
        return KeyMeasure(category, wanted, {})
    inside = np.array([query.category == category for query in grid.queries])
    found = resampled_group(grid, [measure], systems, inside=inside, seed=seed)
    return KeyMeasure(category, measure, {system: found[measure, system] for system in systems})


def _measured(wanted: str, measures: Sequence[str]) -> str | None:
    """The measure of the run that is the wanted one, else one that differs from it in unit, else in depth."""
    key = parse(wanted)
    same = [parse(name) for name in measures if parse(name).name == key.name]
    nearest = sorted(same, key=lambda one: (one.k != key.k, one.unit != key.unit))
    return str(nearest[0]) if nearest else None


def key_section(result: Result, grid: ScoreGrid, systems: Sequence[str]) -> Section | None:
    """The key measure by category as a table; None where the preset names none."""
    shown = systems[:SYSTEMS_SHOWN]
    found = key_measures(result, grid, shown)
    known = [one for one in found if one.best]
    if not found:
        return None
    rows = tuple(
        (one.category, one.measure, *(_cell(one.means.get(system)) for system in shown)) for one in found
    )
    leads = {system: sum(system in one.best for one in known) for system in shown}
    leader = max(shown, key=lambda system: leads[system])
    of = count(len(known), "category", "categories")
    finding = f"{leader} has or shares the best mean in {leads[leader]} of {of}"
    notes = (
        "Differences inside a category rest on few queries and are not tested here.",
        *missing_notes(found),
        *_interval_notes(known),
    )
    return Section(
        "key-measures",
        "Key measure by category",
        finding if known else "No category has a key measure yet",
        (Grid(("category", "key measure", *shown), rows, 2),),
        notes,
    )


def missing_notes(found: Sequence[KeyMeasure]) -> tuple[str, ...]:
    """Why categories have no mean of their key measure."""
    missing: dict[str, list[str]] = {}
    for one in found:
        if not one.best:
            missing.setdefault(one.measure, []).append(one.category)
    return tuple(f"{', '.join(names)}: {_reason(measure)}" for measure, names in missing.items())


def _interval_notes(found: Sequence[KeyMeasure]) -> tuple[str, ...]:
    """Why means have no interval."""
    reasons: dict[str, list[str]] = {}
    for one in found:
        for reason in dict.fromkeys(mean.interval.reason for mean in one.means.values()):
            reasons.setdefault(reason, []).append(one.category)
    return tuple(f"No interval in {', '.join(names)}: {why}." for why, names in reasons.items() if why)


def _reason(measure: str) -> str:
    if parse(measure).needs is Needs.LABELS:
        return f"{measure} follows from people's judgments, which are not complete: bakeoff review serve RUN."
    return f"{measure} was not measured. Add it to the measures of the experiment."


def _cell(mean: Mean | None) -> str:
    if mean is None or mean.value is None:
        return ABSENT
    ends = interval(mean.interval.low, mean.interval.high)
    return f"{score(mean.value)} {ends} (n {mean.n})".replace("  ", " ")
