"""A result → everything a report shows, as frozen rows: HTML, Markdown, exports and a dashboard read only this."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bakeoff.analysis import Result
from bakeoff.judging import Alarms, held_out, what_makes_the_difference
from bakeoff.presetrules import decision_lines, preset_lines
from bakeoff.report.background import Background, background
from bakeoff.report.breakdown import Breakdown, Grouping, RankTable, breakdown, rank_table
from bakeoff.report.costs import LatencyRow, PhaseRow, latency_rows, phase_rows
from bakeoff.report.differing import DifferingQuery, differing_queries
from bakeoff.report.extras import extras
from bakeoff.report.grid import LABELS, Grid, averages, read_grid
from bakeoff.report.headline import Headline, headline
from bakeoff.report.ingestion import phase_chart
from bakeoff.report.key_measures import key_section
from bakeoff.report.losses import LossTable, alarm_rows, loss_table
from bakeoff.report.minimums import minimums_section
from bakeoff.report.pairs import Pairs, compared, too_many
from bakeoff.report.percentiles import run_chart
from bakeoff.report.reviewed import review_section
from bakeoff.report.sections import Chart, Section
from bakeoff.report.systems import SystemsTable, measure_notes, order, systems_table
from bakeoff.report.trades import Trade, bill_of, trades, unpriced
from bakeoff.stats.comparison import Comparison
from bakeoff.stats.factors import FactorAnalysis
from bakeoff.stats.selection import Selection
from bakeoff.stats.verdict import Verdict
from bakeoff.truth.minimums import ACCURACY, DOCUMENTS

MOST_GROUPS = 8


@dataclass(frozen=True, slots=True)
class Report:
    """All tables of a report; what there is no data for is empty or None and is left out."""

    headline: Headline
    systems: SystemsTable
    pairs: Pairs | None
    trades: tuple[Trade, ...]
    pricing: str
    breakdowns: tuple[Breakdown, ...]
    ranks: RankTable | None
    losses: LossTable | None
    alarms: tuple[tuple[str, Alarms], ...]
    spread: FactorAnalysis | None
    choice: Selection | None
    preset: tuple[str, ...]
    differing: tuple[DifferingQuery, ...]
    phases: tuple[str, ...]
    phase_rows: tuple[PhaseRow, ...]
    latencies: tuple[LatencyRow, ...]
    curves: Chart | None
    ingestion: Chart | None
    background: Background
    queries: int
    extras: tuple[Section, ...] = ()
    review: Section | None = None
    decision: tuple[str, ...] = ()
    """What to use by the preset's own rule, where it has one."""


def charts(report: Report) -> tuple[Chart, ...]:
    """Every figure that is plain values, in the order of the report."""
    own = (chart for chart in (report.curves, report.ingestion) if chart is not None)
    return (*own, *(chart for section in report.extras for chart in section.charts))


def tables(result: Result) -> Report:
    """Every table of a run's report, from its stored rows only."""
    grid = read_grid(result)
    comparison, verdict = _judged(result, grid)
    notes = measure_notes(result, grid)
    found = {note.key: averages(grid, note.key) for note in notes}
    higher = notes[0].higher_is_better
    ordered = order(found[notes[0].key], comparison.ranking if comparison else (), higher)
    systems = systems_table(result, grid, notes, ordered, verdict)
    shown = tuple(row.system for row in systems.rows)
    phases, seconds = phase_rows(result, shown)
    bill = bill_of(result)
    back = background(result, grid, verdict.rule if verdict else None)
    found_trades = trades(systems, higher, bill)
    return Report(
        headline=headline(result, grid, systems, found, verdict, back.notes),
        systems=systems,
        pairs=compared(comparison, ordered, grid) if comparison else None,
        trades=found_trades,
        pricing=unpriced(found_trades, bill),
        breakdowns=_breakdowns(result, grid, systems),
        ranks=rank_table(grid, result.record.primary, shown, result.record.depth) if shown else None,
        losses=loss_table(result, shown),
        alarms=alarm_rows(result, shown),
        spread=what_makes_the_difference(result) if comparison else None,
        choice=held_out(result) if comparison else None,
        preset=tuple(preset_lines(result)) if comparison else (),
        decision=tuple(decision_lines(result)) if comparison else (),
        review=review_section(result),
        differing=differing_queries(result, grid, shown),
        phases=phases,
        phase_rows=seconds,
        latencies=latency_rows(result, shown),
        curves=run_chart(result, shown),
        ingestion=phase_chart(phases, seconds),
        background=back,
        queries=len(grid.queries),
        extras=(*_of_preset(result, grid, shown), *extras(result, shown)),
    )


def _judged(result: Result, grid: Grid) -> tuple[Comparison | None, Verdict | None]:
    """The comparison and the verdict; neither where no system finished or all pairs are too many."""
    if not result.done or too_many(len(grid.systems), len(grid.queries)):
        return None, None
    return result.comparison, result.verdict


def _breakdowns(result: Result, grid: Grid, systems: SystemsTable) -> tuple[Breakdown, ...]:
    """Every measure by every label that puts the queries into groups."""
    shown = tuple(row.system for row in systems.rows)
    measures = {note.key: note.label for note in systems.measures}
    incomplete = {name: result.incomplete(name) for name in measures}
    grouping = Grouping(measures, shown, result.record.seed, incomplete)
    labels = (*LABELS, *_grouping_tags(grid)) if shown else ()
    found = [breakdown(grid, grouping, label) for label in labels]
    return tuple(one for one in found if one is not None)


def _of_preset(result: Result, grid: Grid, shown: tuple[str, ...]) -> Iterator[Section]:
    """What a preset and its query file ask for: key measures by category, and minimums."""
    for make in (key_section, minimums_section):
        found = make(result, grid, shown) if shown else None
        if found is not None:
            yield found


def _grouping_tags(grid: Grid) -> list[str]:
    """Tags that put the queries into a few groups; one that is nearly each query's own, or a minimum, does not."""
    names = dict.fromkeys(
        name for query in grid.queries for name in query.tags if name not in (*ACCURACY, *DOCUMENTS)
    )
    groups = {name: len({query.tags.get(name, "") for query in grid.queries}) for name in names}
    return [name for name, count in groups.items() if 2 <= count <= MOST_GROUPS]
