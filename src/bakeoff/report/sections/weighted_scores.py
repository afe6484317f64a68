"""The report's section on weighted scores and bands, by the preset lineage."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.measures.preset_settings import read_preset_file
from bakeoff.presets.lineage.decision_matrix import is_lineage, lineage_values, shown_value
from bakeoff.presets.rules import BandReading, WeightedScore, read_bands, weighted_score
from bakeoff.report.render.number_text import ABSENT
from bakeoff.report.sections.parts import ReportSection, TextTable
from bakeoff.runs.analysis import Result
from bakeoff.runs.score_grid import ScoreGrid


def score_section(result: Result, _grid: ScoreGrid, systems: Sequence[str]) -> ReportSection | None:
    """The weighted score and the bands of every system; None under other presets."""
    if not is_lineage(result):
        return None
    criteria = [one for one in read_preset_file("lineage").criteria if one.weight is not None]
    values = {system: lineage_values(result, system) for system in systems}
    scores = {system: weighted_score(values[system]) for system in systems}
    bands = {system: read_bands(values[system]) for system in systems}
    rows = tuple(
        (
            system,
            *(shown_value(one, values[system][one.name]) for one in criteria),
            _score(scores[system]),
            bands[system].overall,
        )
        for system in systems
    )
    heads = (*(f"{one.title} ({one.weight:.0%})" for one in criteria), "score", "band")
    return ReportSection(
        "weighted-scores",
        "Weighted score and band",
        _finding(scores),
        (TextTable(("system", *heads), rows),),
        tuple(_note(system, scores[system], bands[system]) for system in systems),
    )


def _finding(scores: dict[str, WeightedScore]) -> str:
    known = {system: one.value for system, one in scores.items() if one.value is not None}
    if not known:
        return "No system has a weighted score"
    best = max(known, key=lambda system: known[system])
    return (
        f"{best} has the highest weighted score: {known[best]:.3f}. A score has no interval; the verdict has"
    )


def _score(score: WeightedScore) -> str:
    return ABSENT if score.value is None else f"{score.value:.3f}"


def _note(system: str, score: WeightedScore, bands: BandReading) -> str:
    """The bands of a system in words, and why its score is missing or may mislead."""
    missing = f" No score: {', '.join(score.missing)} missing." if score.missing else ""
    outside = (
        f" Its score is {score.clamped_value:.3f} with {' and '.join(score.out_of_range)} clamped to 0–1."
        if score.out_of_range
        else ""
    )
    return f"{system}: {bands.sentence}{missing}{outside}"
