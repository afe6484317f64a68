"""The report's section on the key measure of each category."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import parse
from bakeoff.report.render.number_text import ABSENT, count, interval, score
from bakeoff.report.sections.parts import ReportSection, TextTable
from bakeoff.runs.analysis import Result
from bakeoff.runs.key_measures import KeyMeasure, key_measures
from bakeoff.runs.score_grid import GridMean, ScoreGrid

SYSTEMS_SHOWN = 8


def key_section(result: Result, grid: ScoreGrid, systems: Sequence[str]) -> ReportSection | None:
    """The key measure by category as a table; None if the preset names none."""
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
        "Differences inside a category rest on few questions and are not tested here.",
        *missing_notes(found),
        *_interval_notes(known),
    )
    return ReportSection(
        "key-measures",
        "Key measure by category",
        finding if known else "No category has a key measure yet",
        (TextTable(("category", "key measure", *shown), rows, 2),),
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
    if parse(measure).needs is RequiredInput.LABELS:
        return f"{measure} needs human judgments, which are not complete: bakeoff review serve RUN."
    return f"{measure} was not measured. Add it to the measures of the experiment."


def _cell(mean: GridMean | None) -> str:
    if mean is None or mean.value is None:
        return ABSENT
    ends = interval(mean.interval.low, mean.interval.high)
    return f"{score(mean.value)} {ends} (n {mean.n})".replace("  ", " ")
