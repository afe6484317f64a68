"""A result → everything a report shows, as frozen rows that HTML, Markdown, exports and the dashboard render."""

from __future__ import annotations

from dataclasses import dataclass

from bakeoff.presets.decisions import decision_lines
from bakeoff.report.sections.breakdown import Breakdown, Grouping, RankTable, breakdown, rank_table
from bakeoff.report.sections.cost_quality import CostQualityPoint, bill_of, trades, unpriced_reason
from bakeoff.report.sections.costs import LatencyRow, latency_rows
from bakeoff.report.sections.divergent_queries import DifferingQuery, differing_queries
from bakeoff.report.sections.headline import Headline, headline
from bakeoff.report.sections.losses import LossTable, alarm_rows, loss_table
from bakeoff.report.sections.optional_sections import collect_optional_sections
from bakeoff.report.sections.pairs import PairTable, pairs_to_show
from bakeoff.report.sections.parts import Chart, ReportSection
from bakeoff.report.sections.percentiles import run_chart
from bakeoff.report.sections.preset_sections import preset_sections
from bakeoff.report.sections.provenance import Provenance, describe_provenance
from bakeoff.report.sections.resources import phase_chart
from bakeoff.report.sections.reviewed import review_section
from bakeoff.report.sections.systems import SystemsTable, measure_notes, systems_table
from bakeoff.runs.analysis import Result
from bakeoff.runs.decisive_systems import compares_all
from bakeoff.runs.score_grid import LABELS, ScoreGrid, mean_scores, read_grid
from bakeoff.runs.stored_times import PhaseRow, phase_rows
from bakeoff.runs.verdict import FalseAlarmStats, explain_variation, held_out_score
from bakeoff.stats.comparison import Comparison
from bakeoff.stats.factors import FactorAnalysis
from bakeoff.stats.selection import Selection
from bakeoff.stats.verdict import Verdict
from bakeoff.truth.minimums import ACCURACY, DOCUMENTS

MOST_GROUPS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All tables of a report; a table without data is empty or None and is left out."""

    headline: Headline
    systems: SystemsTable
    pairs: PairTable | None
    trades: tuple[CostQualityPoint, ...]
    pricing: str
    breakdowns: tuple[Breakdown, ...]
    ranks: RankTable | None
    losses: LossTable | None
    alarms: tuple[tuple[str, FalseAlarmStats], ...]
    spread: FactorAnalysis | None
    choice: Selection | None
    differing: tuple[DifferingQuery, ...]
    phases: tuple[str, ...]
    phase_rows: tuple[PhaseRow, ...]
    latencies: tuple[LatencyRow, ...]
    curves: Chart | None
    ingestion: Chart | None
    background: Provenance
    queries: int
    extras: tuple[ReportSection, ...] = ()
    review: ReportSection | None = None
    decision: tuple[str, ...] = ()
    """The preset's own decision, if it has a rule for one."""


def charts(report: Report) -> tuple[Chart, ...]:
    """The charts, in the order of the report."""
    own = (chart for chart in (report.curves, report.ingestion) if chart is not None)
    return (*own, *(chart for section in report.extras for chart in section.charts))


def build_report(result: Result) -> Report:
    """Build every table of a run's report from its stored rows."""
    grid = read_grid(result)
    comparison, verdict = _compare_and_decide(result)
    notes = measure_notes(result, grid)
    means = {note.key: mean_scores(grid, note.key) for note in notes}
    higher = notes[0].higher_is_better
    ordered = result.ordered
    systems = systems_table(result, grid, notes, ordered, verdict)
    shown = tuple(row.system for row in systems.rows)
    phases, seconds = phase_rows(result, shown)
    bill = bill_of(result)
    back = describe_provenance(result, grid, verdict.rule if verdict else None)
    advice = result.recommendation
    found_trades = trades(systems, higher, bill, advice.decided_by if advice else ())
    return Report(
        headline=headline(result, grid, systems, means, verdict, back.notes),
        systems=systems,
        pairs=pairs_to_show(comparison, ordered, grid) if comparison else None,
        trades=found_trades,
        pricing=unpriced_reason(found_trades, bill),
        breakdowns=_breakdowns(result, grid, systems),
        ranks=rank_table(grid, result.record.primary, shown, result.record.depth) if shown else None,
        losses=loss_table(result, shown),
        alarms=alarm_rows(result, shown),
        spread=explain_variation(result) if comparison else None,
        choice=held_out_score(result) if comparison else None,
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
        extras=(*preset_sections(result, grid, shown), *collect_optional_sections(result, shown)),
    )


def _compare_and_decide(result: Result) -> tuple[Comparison | None, Verdict | None]:
    """The comparison and the verdict; neither if no system finished or there are too many pairs."""
    if not result.done or not compares_all(result):
        return None, None
    return result.comparison, result.verdict


def _breakdowns(result: Result, grid: ScoreGrid, systems: SystemsTable) -> tuple[Breakdown, ...]:
    """Every measure by every label that groups the queries."""
    shown = tuple(row.system for row in systems.rows)
    measures = {note.key: note.label for note in systems.measures}
    incomplete = {name: result.incomplete(name) for name in measures}
    grouping = Grouping(measures, shown, result.record.seed, incomplete)
    labels = (*LABELS, *_grouping_tags(grid)) if shown else ()
    tables = [breakdown(grid, grouping, label) for label in labels]
    return tuple(one for one in tables if one is not None)


def _grouping_tags(grid: ScoreGrid) -> list[str]:
    """Tags that form a few groups; tags that are unique to most queries, and minimums, are left out."""
    names = dict.fromkeys(
        name for query in grid.queries for name in query.tags if name not in (*ACCURACY, *DOCUMENTS)
    )
    groups = {name: len({query.tags.get(name, "") for query in grid.queries}) for name in names}
    return [name for name, count in groups.items() if 2 <= count <= MOST_GROUPS]
