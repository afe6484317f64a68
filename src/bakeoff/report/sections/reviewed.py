"""Human judgments as tables: measures with bounds, the leader against the others, automated and human means."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bakeoff.errors import BakeoffError
from bakeoff.measures.labels import BoundedMean
from bakeoff.measures.names import parse
from bakeoff.report.render.number_text import count, format_signed, score
from bakeoff.report.sections.parts import ReportSection, TextTable
from bakeoff.review.auto_vs_human import AutoVsHuman, SideMean
from bakeoff.review.measures import PairFigures, ReviewFigures, pool_rankings, review_figures
from bakeoff.review.outcomes import labels_of
from bakeoff.review.review_folder import ReviewState, compare_with_run
from bakeoff.review.reviewed_run import find_review
from bakeoff.runs.analysis import Result
from bakeoff.runs.score_grid import GridMean, ScoreGrid, resampled_group
from bakeoff.stats.arrays import BoolArray
from bakeoff.stats.intervals import Interval


def review_section(result: Result) -> ReportSection | None:
    """Precision and lift with bounds over the unjudged, and the leader against the others."""
    state = find_review(result)
    if state is None:
        return None
    pool = state.pool
    figures = review_figures(pool_rankings(pool), labels_of(state.settled), pool.k, result.record.seed)
    finding = f"{state.decided:,} of {count(len(pool.items), 'passage')} are decided"
    if result.reviewed is not None:
        finding = f"{finding}. {result.reviewed.sentence}"
    grids = [
        figures_grid(figures),
        *([common_grid(figures)] if len(figures.systems) > 1 else []),
        *([against_grid(figures)] if figures.pairs else []),
        *_sides(state, result),
    ]
    if not state.decided:
        return ReportSection("review", "Judged by people", finding, (), state.notes)
    notes = (
        "In brackets: the possible range once every result is judged. Differences use questions that are complete for "
        "both systems; bounds use all common questions.",
        *state.notes,
    )
    return ReportSection("review", "Judged by people", finding, tuple(grids), notes)


def figures_grid(figures: ReviewFigures) -> TextTable:
    """The measures of every system."""
    k = figures.k
    headings = (
        "system",
        "questions",
        "complete",
        f"Judged@{k}",
        f"SemPrec@{k}",
        f"SemLift@{k}",
        f"FalsePos@{k}",
    )
    rows = [
        (
            row.system,
            f"{len(row.queries):,}",
            f"{len(row.complete):,}",
            score(row.judged),
            *(_bounds_text(row.values[name]) for name in ("SemPrec", "SemLift", "FalsePos")),
        )
        for row in figures.systems
    ]
    return TextTable(headings, tuple(rows))


def common_grid(figures: ReviewFigures) -> TextTable:
    """Precision and lift of every system on queries judged completely for all, and for itself."""
    names = ("SemPrec", "SemLift")
    headings = (
        "system",
        *(f"{name}@{figures.k} on {which}" for name in names for which in ("common", "all")),
    )
    rows = [
        (
            row.system,
            *(
                _mean_text(mean)
                for name in names
                for mean in (
                    SideMean(figures.on_common[row.system][name], len(figures.common)),
                    SideMean(row.on_complete[name], len(row.complete)),
                )
            ),
        )
        for row in figures.systems
    ]
    return TextTable(headings, tuple(rows))


def leading_pairs(figures: ReviewFigures) -> list[PairFigures]:
    """The leader by SemPrec against each other system."""
    best = max(figures.systems, key=lambda one: one.values["SemPrec"].value).system
    return [pair for pair in figures.pairs if best in (pair.a, pair.b)]


def against_grid(figures: ReviewFigures) -> TextTable:
    """How far the leader is ahead or behind, with interval and bounds."""
    shown = leading_pairs(figures)
    headings = ("difference", "measure", "questions", "mean", "95 %", "bounds over the unjudged", "common")
    return TextTable(headings, tuple(_pair(one, figures.k) for one in shown), 2)


def _sides(state: ReviewState, result: Result) -> list[TextTable]:
    """Automated, human-adjusted and combined figures (S4-53), if the primary measure has all three."""
    try:
        sides = compare_with_run(state, result.by_rules())
    except BakeoffError:
        return []  # human labels do not define this measure
    grid = sides_grid([one for one in sides if one.human.n])
    return [grid] if grid.rows else []


def sides_grid(sides: Sequence[AutoVsHuman]) -> TextTable:
    """Automated, human-adjusted and combined means, by system and category."""
    headings = ("system", "category", "automated", "same questions", "human-adjusted", "combined")
    rows = [
        (
            side.system,
            side.category or "all",
            *map(_mean_text, (side.automated, side.automated_same, side.human, side.combined)),
        )
        for side in sides
    ]
    return TextTable(headings, tuple(rows), 2)


def _mean_text(mean: SideMean) -> str:
    return "–" if mean.value is None else f"{score(mean.value)} (n {mean.n:,})"


def _pair(one: PairFigures, k: int) -> tuple[str, ...]:
    bounds = (
        "–" if one.bounds is None else f"[{format_signed(one.bounds.low)} {format_signed(one.bounds.high)}]"
    )
    return (
        f"{one.a} − {one.b}",
        f"{one.measure}@{k}",
        f"{len(one.queries):,}",
        format_signed(one.difference),
        _interval(one.interval),
        bounds,
        f"{one.common:,}",
    )


def _bounds_text(value: BoundedMean) -> str:
    if value.low == value.high:
        return score(value.value)
    return f"{score(value.value)} [{score(value.low)} {score(value.high)}]"


def _interval(interval: Interval) -> str:
    if interval.low is None or interval.high is None:
        return "–"
    return f"[{format_signed(interval.low)} {format_signed(interval.high)}]"


def lift_means(result: Result, grid: ScoreGrid, systems: Sequence[str]) -> dict[str, GridMean]:
    """Mean lift by system, with its interval; empty if no query is judged completely for all systems."""
    measure = next((name for name in grid.values if parse(name).name == "SemLift"), None)
    if measure is None or not systems:
        return {}
    values = np.stack([grid.row(measure, system) for system in systems])
    common: BoolArray = np.logical_not(np.isnan(values).any(axis=0))
    if not common.any():
        return {}
    means = resampled_group(grid, [measure], systems, inside=common, seed=result.record.seed)
    return {system: means[measure, system] for system in systems}
