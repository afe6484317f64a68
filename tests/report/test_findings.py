"""Titles claim no more than their rows show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bakeoff.report.build import build_report
from bakeoff.report.sections import findings
from bakeoff.report.sections.breakdown import Breakdown, RankRow, RankTable
from bakeoff.runs.analysis import Result
from bakeoff.runs.score_grid import GridMean
from bakeoff.runs.stored_times import PhaseRow, StoredTime
from bakeoff.stats.factors import FactorAnalysis, FactorShare
from bakeoff.stats.intervals import Interval

Make = Callable[..., Result]


def group_mean(value: float, n: int) -> GridMean:
    return GridMean("P@5", value, Interval(None, None, 0.95, "hull", 0, 0), n, 0)


def test_systems_with_the_same_mean_share_the_highest(make_run: Make) -> None:
    table = build_report(make_run(systems=3)).systems
    first, second, third = table.rows
    assert findings.of_systems(table).startswith(f"{first.system} has ")
    tied = replace(table, rows=(first, replace(second, means=first.means), third))
    assert findings.of_systems(tied).startswith(f"{first.system} and {second.system} ")


def test_the_largest_share_is_not_called_most_and_has_its_interval() -> None:
    shares = [("chunker", 0.4, 0.1, 0.7), ("mode", 0.35, 0.1, 0.6), ("rest", 0.25, 0.0, 0.5)]
    factors = tuple(FactorShare(name, 2, share, share, low, high) for name, share, low, high in shares)
    said = findings.of_spread(FactorAnalysis(factors, 0.1, 0.2, 6, 40))
    assert "chunker explains" in said and "40% [10% 70%]" in said and "most" not in said.lower()


def test_ranks_known_only_in_spans_are_not_called_rank_1() -> None:
    table = RankTable(
        "Hit@5, Hit@10", "document", ("1–5", "6–10", "none in 10"), (RankRow("a", (6, 2, 2), 10, 0),)
    )
    assert "at rank 1–5 on 60" in findings.of_ranks(table)


def test_the_worst_group_of_a_lower_is_better_measure_has_the_highest_mean() -> None:
    rows = (("a", (group_mean(3.0, 5), group_mean(9.0, 5))), ("b", (group_mean(2.0, 5), group_mean(7.0, 5))))
    table = Breakdown("category", ("easy", "hard"), (0, 0), rows, 0)
    assert " hard: 7.000 (b, 5 questions)" in findings.of_breakdown(table, higher_is_better=False)


def test_the_longest_phase_of_a_run_that_took_parts_from_the_cache_is_the_longest_of_its_own() -> None:
    cached, own = StoredTime(None, "made by an earlier run"), StoredTime(0.5)
    phases = ("embed", "insert")
    assert " insert" in findings.of_phases(phases, [PhaseRow("a", (cached, own))])
    assert " embed" in findings.of_phases(phases, [PhaseRow("a", (StoredTime(2.0), own))])


def test_equal_groups_have_no_worst_one() -> None:
    rows = (("a", (group_mean(1.0, 5), group_mean(1.0, 7))), ("b", (group_mean(0.5, 5), group_mean(1.0, 7))))
    table = Breakdown("category", ("easy", "hard"), (0, 0), rows, 0)
    assert findings.of_breakdown(table, higher_is_better=True).endswith("every group: 1.000")
