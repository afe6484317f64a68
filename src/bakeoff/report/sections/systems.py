"""The table of systems: means with intervals, counts and exclusions, and costs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import parse
from bakeoff.report.render import number_text as say
from bakeoff.report.sections.parts import Axis, IntervalChart, IntervalRow
from bakeoff.runs.analysis import Result
from bakeoff.runs.score_grid import GridMean, ScoreGrid, compared_means, resampled_means
from bakeoff.stats.number_format import letter, short_names
from bakeoff.stats.verdict import Verdict
from bakeoff.types import Unit

SHOWN = 25
"""The most systems in any table or figure; the rest is only counted."""
BY_WORDS = frozenset({"sql", "signals", "keywords"})
"""Sources of judgments that keywords alone decide."""
LOWER_BOUNDS = ("RR", "Hit", "P")
"""Measures that more relevant results can only raise; R, nDCG and AP are not among them, as their ideal grows too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureNote:
    """A measure with its label (which includes its unit, F15) and meaning."""

    key: str
    label: str
    meaning: str
    formula: str
    ceiling: str
    sources: str
    higher_is_better: bool
    quality: bool
    lower_bound: bool = False
    """Whether human judgments could only raise its means (C-23)."""

    @property
    def heading(self) -> str:
        """The label, marked if the means are lower bounds."""
        return f"{self.label}, lower bound" if self.lower_bound else self.label


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemRow:
    """One finished system; latencies in milliseconds, size in bytes, None if not measured."""

    place: int
    system: str
    short: str
    means: tuple[GridMean, ...]
    p50_ms: float | None
    p95_ms: float | None
    index_bytes: int | None
    vector_bytes: int | None
    rescored: bool
    chunks: int | None
    dims: int | None
    stand_in: bool
    chosen: bool
    unbeaten: bool

    @property
    def letter(self) -> str:
        """The letter that figures and texts use for it."""
        return letter(self.place)

    @property
    def primary(self) -> GridMean:
        """The mean that decides."""
        return self.means[0]


@dataclass(frozen=True, slots=True)
class SystemsTable:
    """Finished systems, best first; `hidden` ones are measured but not shown, `failed` ones have a reason."""

    measures: tuple[MeasureNote, ...]
    rows: tuple[SystemRow, ...]
    hidden: int
    failed: tuple[tuple[str, str], ...]

    @property
    def several_forms(self) -> bool:
        """Whether vectors of different bytes are compared."""
        return len({row.vector_bytes for row in self.rows if row.vector_bytes}) > 1


def queries_by_words(result: Result) -> list[str]:
    """The queries whose relevant results keywords decide and people have not judged."""
    sources: dict[str, set[str]] = {}
    for hit in result.record.truth_hits:
        sources.setdefault(hit.query_id, set()).update(hit.source.split("+"))
    reviewed = set(result.reviewed.queries) if result.reviewed else set()
    return [query for query, kinds in sources.items() if kinds & BY_WORDS and query not in reviewed]


def is_lower_bound(measure: str) -> bool:
    """Whether more relevant results can only raise a measure."""
    return parse(measure).name in LOWER_BOUNDS


def measure_notes(result: Result, grid: ScoreGrid) -> tuple[MeasureNote, ...]:
    """The measures of a run, the primary one first."""
    names = sorted(result.record.measures, key=lambda name: name != result.record.primary)
    by_words = bool(queries_by_words(result))
    notes = (_note(name, grid.units[name], grid.sources[name]) for name in names)
    return tuple(replace(note, lower_bound=by_words and is_lower_bound(note.key)) for note in notes)


def systems_table(
    result: Result,
    grid: ScoreGrid,
    notes: tuple[MeasureNote, ...],
    ordered: tuple[str, ...],
    verdict: Verdict | None,
) -> SystemsTable:
    """The first systems with all their measurements."""
    shown = ordered[:SHOWN]
    means = {note.key: _means(result, grid, note.key, shown, verdict is not None) for note in notes}
    stored = {row["system"]: row for row in result.systems.to_pylist()}
    unbeaten = set(verdict.group) if verdict else set()
    names, advice = short_names(ordered), result.recommendation
    rows = [
        SystemRow(
            place=place,
            system=system,
            short=names[system],
            means=tuple(means[note.key][system] for note in notes),
            p50_ms=result.timing(system, "total", "p50_ms"),
            p95_ms=result.timing(system, "total", "p95_ms"),
            index_bytes=stored[system]["index_bytes"],
            vector_bytes=stored[system]["vector_bytes"],
            rescored=bool(stored[system]["rescore"]),
            chunks=stored[system]["chunks"],
            dims=stored[system]["dims"],
            stand_in=bool(stored[system]["stand_in"]),
            chosen=advice is not None and advice.system == system,
            unbeaten=system in unbeaten,
        )
        for place, system in enumerate(shown, start=1)
    ]
    failed = tuple((system, reason or "no reason was recorded") for system, reason in result.failed.items())
    return SystemsTable(notes, tuple(rows), max(0, len(ordered) - SHOWN), failed)


def _means(
    result: Result, grid: ScoreGrid, measure: str, systems: tuple[str, ...], judged: bool
) -> dict[str, GridMean]:
    if judged:
        means = compared_means(result.summaries(measure), measure, systems)
    else:
        means = resampled_means(grid, measure, systems, result.record.seed)
    incomplete = len(result.incomplete(measure))
    return {system: replace(mean, incomplete=incomplete) for system, mean in means.items()}


def _note(name: str, units: tuple[str, ...], sources: tuple[str, ...]) -> MeasureNote:
    measure = parse(name)
    row = measure.definition
    if measure.unit is None and len(units) == 1 and units[0] in row.units:
        measure = measure.at_unit(Unit(units[0]))
    cost = row.needs is RequiredInput.TOKENS
    label, from_truth = str(measure), ", ".join(sources)
    return MeasureNote(
        key=name,
        label=label,
        meaning=row.meaning,
        formula=row.formula,
        ceiling=row.ceiling,
        sources=from_truth,
        higher_is_better=row.higher_is_better,
        quality=not cost,
    )


def means_chart(table: SystemsTable) -> IntervalChart:
    """The mean of each system with its interval, best first."""
    rows = [
        IntervalRow(row.system, row.primary.value, row.primary.interval.low, row.primary.interval.high)
        for row in table.rows
        if row.primary.value is not None
    ]
    note = table.measures[0]
    return IntervalChart(
        tuple(rows), Axis(note.label, say.score, log=False, higher_is_better=note.higher_is_better)
    )
