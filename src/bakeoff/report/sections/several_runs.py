"""Systems of runs of different days as one table: dated, best first, each against the best, paired by query."""

from __future__ import annotations

from dataclasses import asdict

from bakeoff.report.render import number_text as say
from bakeoff.report.sections.parts import ReportSection, TextTable
from bakeoff.runs.compare_runs import DatedSystem, RunsComparison

NOTE = "Scores are paired by question. Compare latencies and speeds within one run only."


def runs_section(found: RunsComparison, truth: str) -> ReportSection:
    """The section of a report; `truth` is whose judgments the runs were compared by."""
    grid = runs_grid(found)
    best = found.comparison.best
    runs = len({one.run for one in found.systems})
    finding = (
        f"{best} has the best mean of the systems of {runs} runs" if best else "The runs share no question"
    )
    return ReportSection("runs", "Runs of different days", f"{finding}.", (grid,), (truth, NOTE))


def runs_grid(found: RunsComparison) -> TextTable:
    """One row for each system."""
    headings = (
        "system", "run", "date", found.comparison.measure, "difference", "interval", "better / worse / equal",
        "Holm p",
    )  # fmt: skip
    return TextTable(headings, tuple(_row(found, one) for one in found.order_systems()), left=3)


def _row(found: RunsComparison, one: DatedSystem) -> tuple[str, ...]:
    comparison = found.comparison
    first = (one.name, one.run, one.started[:10], say.score(comparison.summary(one.name).mean))
    if comparison.best is None or one.name == comparison.best:
        return (*first, "–", "–", "–", "–")
    pair = comparison.pair(one.name, comparison.best)
    interval = say.interval(pair.interval.low, pair.interval.high) or "no spread"
    wins = f"{pair.wins} / {pair.losses} / {pair.ties}"
    return (*first, say.format_signed(pair.difference), interval, wins, say.p_value(pair.p_holm))


def comparison_json(found: RunsComparison) -> dict[str, object]:
    """The comparison for a script."""
    comparison = found.comparison
    return {
        "measure": comparison.measure,
        "best": comparison.best,
        "systems": [
            {**asdict(one), "mean": comparison.summary(one.name).mean} for one in found.order_systems()
        ],
        "pairs": [{**asdict(pair), "effective_n": pair.effective_n} for pair in comparison.pairs],
    }
