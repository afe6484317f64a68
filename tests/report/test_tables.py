"""The rows of a report against a plain second way of counting them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bakeoff.report.build import build_report
from bakeoff.report.sections.costs import trade_points
from bakeoff.report.sections.headline import question
from bakeoff.runs.analysis import Result
from bakeoff.runs.decisive_systems import too_many
from bakeoff.runs.score_grid import read_grid, resampled_means

Make = Callable[..., Result]


def stored(result: Result, measure: str) -> dict[tuple[str, str], float]:
    rows = result.scores.to_pylist()
    return {
        (row["system"], row["query_id"]): row["value"]
        for row in rows
        if row["measure"] == measure and row["value"] is not None
    }


def test_systems_are_ordered_as_the_comparison_ranks_them(make_run: Make) -> None:
    result = make_run(systems=6)
    report = build_report(result)
    assert tuple(row.system for row in report.systems.rows) == result.comparison.ranking
    assert [row.place for row in report.systems.rows] == [1, 2, 3, 4, 5, 6]


def test_means_and_intervals_equal_those_of_the_comparison(make_run: Make) -> None:
    result = make_run(systems=4, nulls=3)
    for row in build_report(result).systems.rows:
        for mean in row.means:
            summary = result.compare(mean.measure).summary(row.system)
            assert mean.value == pytest.approx(summary.mean, abs=1e-12)
            assert (mean.interval.low, mean.interval.high) == (summary.interval.low, summary.interval.high)
            assert (mean.n, mean.excluded) == (summary.n, len(summary.excluded))


def test_intervals_are_the_same_where_no_comparison_is_made(make_run: Make) -> None:
    """Beyond the size that all pairs can be compared at, the intervals are those a comparison would give."""
    result = make_run(systems=3, nulls=3)
    assert result.queries["query_id"].to_pylist() != sorted(result.queries["query_id"].to_pylist())
    for measure in result.record.measures:
        found = resampled_means(read_grid(result), measure, result.done, result.record.seed)
        for system, mean in found.items():
            summary = result.compare(measure).summary(system)
            assert mean.value == pytest.approx(summary.mean, abs=1e-12)
            assert (mean.interval, mean.n) == (summary.interval, summary.n)


def test_of_too_many_systems_the_best_means_are_compared(
    make_run: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = make_run(systems=4)
    monkeypatch.setattr("bakeoff.runs.decisive_systems.WORK", 1e5)
    report = build_report(result)
    assert report.pairs is None
    assert result.recommendation is not None
    assert report.headline.sentence == result.recommendation.sentence
    assert "best of 4 systems are compared" in dict(report.headline.lines)["Mind"]
    assert [row.primary.n for row in report.systems.rows] == [45] * 4
    assert too_many(200, 10_000)


def test_losses_add_up_to_what_is_served(make_run: Make) -> None:
    result = make_run(systems=4, nulls=2)
    report = build_report(result)
    assert report.losses is not None
    assert report.losses.steps == ("in no chunk", "model misses", "ranked too low")
    served = {row.system: row.primary.value for row in report.systems.rows}
    for system, waterfall in report.losses.rows:
        lost = [value for value in report.losses.losses_of(waterfall) if value is not None]
        assert 1.0 - sum(lost) == pytest.approx(served[system])
        assert waterfall.n == 43


def test_negative_queries_are_judged_by_their_top_score_for_every_system(make_run: Make) -> None:
    """In the made-up run every top score is 1, which tells nothing."""
    alarms = build_report(make_run(systems=3)).alarms
    assert [(found.negatives, found.auroc) for _, found in alarms] == [(5, 0.5)] * 3
    assert build_report(make_run("without", systems=3, negatives=0)).alarms == ()


def test_the_front_is_what_brute_force_finds(make_run: Make) -> None:
    rows = build_report(make_run(systems=10)).systems.rows
    for cost in ("p50_ms", "index_bytes"):
        costs = {row.system: getattr(row, cost) for row in rows}
        points = trade_points(rows, costs, higher_is_better=True)
        for one in points:
            beaten = any(
                other.quality >= one.quality
                and other.cost <= one.cost
                and (other.quality, other.cost) != (one.quality, one.cost)
                for other in points
            )
            assert one.on_front is not beaten


def test_group_means_count_only_scored_queries(make_run: Make) -> None:
    result = make_run(systems=3, nulls=4)
    part = build_report(result).breakdowns[0]
    values = stored(result, result.record.primary)
    category = {row["query_id"]: row["category"] for row in result.queries.to_pylist()}
    assert part.label == "category"
    for system, cells in part.rows:
        for group, cell in zip(part.groups, cells, strict=True):
            expected = [v for (s, q), v in values.items() if s == system and category[q] == group]
            assert cell.n == len(expected)
            assert cell.value == pytest.approx(np.mean(expected))


def test_every_other_measure_is_broken_down_with_its_interval(make_run: Make) -> None:
    result = make_run(systems=2, nulls=4)
    category = {row["query_id"]: row["category"] for row in result.queries.to_pylist()}
    part = build_report(result).breakdowns[0]
    others = [name for name in result.record.measures if name != result.record.primary]
    assert {one[2][0].measure for one in part.others} == set(others)
    for _, system, cells in part.others:
        for group, cell in zip(part.groups, cells, strict=True):
            ids = [query for query, name in category.items() if name == group]
            alone = result.without(set(category) - set(ids)).summaries(cell.measure)[system]
            assert cell.value == pytest.approx(alone.mean) and cell.n == alone.n
            assert (cell.interval.low, cell.interval.high) == (alone.interval.low, alone.interval.high)


def test_ranks_of_first_relevant_results_are_counted_from_reciprocal_ranks(make_run: Make) -> None:
    result = make_run(systems=3, nulls=2)
    ranks = build_report(result).ranks
    assert ranks is not None
    assert ranks.spans == ("1", "2–3", "4–10", "none in 10")
    values = stored(result, "RR@10(document)")
    for row in ranks.rows:
        mine = [v for (system, _), v in values.items() if system == row.system]
        found = [round(1 / v) for v in mine if v]
        expected = (found.count(1), sum(2 <= r <= 3 for r in found), sum(4 <= r <= 10 for r in found))
        assert row.counts == (*expected, len(mine) - len(found))
        assert sum(row.counts) == row.n
        assert row.n + row.excluded == 50


def test_ranks_fall_back_to_hits_at_several_depths(make_run: Make) -> None:
    measures = ("nDCG@10(document)", "Hit@1(document)", "Hit@5(document)")
    ranks = build_report(make_run(systems=2, measures=measures)).ranks
    assert ranks is not None
    assert ranks.spans == ("1", "2–5", "none in 5")
    assert all(sum(row.counts) == row.n for row in ranks.rows)


def test_no_measure_of_ranks_no_section(make_run: Make) -> None:
    assert build_report(make_run(systems=2, measures=("nDCG@10(document)",))).ranks is None


def test_differing_queries_are_those_with_the_widest_spread(make_run: Make) -> None:
    result = make_run(systems=5)
    shown = build_report(result).differing
    values = stored(result, result.record.primary)
    spread = {q: np.std([v for (_, query), v in values.items() if query == q]) for _, q in values}
    widest = sorted(spread.values(), reverse=True)[: len(shown)]
    assert [spread[one.query.id] for one in shown] == pytest.approx(widest)
    assert not any(one.query.negative for one in shown)


def test_the_first_relevant_result_is_marked_at_its_document(make_run: Make) -> None:
    """In the made-up run the relevant document of the seventh query is document 6."""
    result = make_run(systems=6)
    queries = result.queries["query_id"].to_pylist()
    marked = 0
    for one in build_report(result).differing:
        relevant = f"doc/{queries.index(one.query.id):05d}.py"
        for returned in one.returned:
            for passage in returned.passages:
                assert passage.first_relevant is (passage.document == relevant)
                marked += passage.first_relevant
    assert marked > 0


def test_passages_stand_in_the_order_served(make_run: Make) -> None:
    for one in build_report(make_run(systems=3)).differing:
        assert all([p.rank for p in returned.passages] == [1, 2, 3, 4, 5] for returned in one.returned)


def test_medians_across_runs_enclose_every_runs_median(make_run: Make) -> None:
    result = make_run(systems=2, repeats=3)
    rows = result.latencies.to_pylist()
    for latency in build_report(result).latencies:
        medians = [
            np.median([r["total_ms"] for r in rows if r["system"] == latency.system and r["repeat"] == n])
            for n in range(3)
        ]
        assert latency.across_runs == pytest.approx((min(medians), max(medians)))


def test_one_run_says_nothing_about_spread(make_run: Make) -> None:
    report = build_report(make_run(systems=2, repeats=1))
    assert all(row.across_runs is None for row in report.latencies)
    assert any("one run" in line for line in report.headline.could_change)


def test_a_percentile_without_samples_keeps_its_reason(make_run: Make) -> None:
    p99 = build_report(make_run(systems=2)).latencies[0].statistics[3]
    assert p99.value is None
    assert "p99 needs 500" in p99.note


def test_many_systems_are_cut_and_the_rest_is_counted(make_run: Make) -> None:
    report = build_report(make_run(systems=28, queries=4, negatives=0))
    assert len(report.systems.rows) == 25
    assert report.systems.hidden == 3
    assert report.pairs is not None
    assert report.pairs.total == 28 * 27 // 2 > len(report.pairs.pairs)


def test_a_lower_is_better_measure_puts_the_lowest_first(make_run: Make) -> None:
    measures = ("tokens@10(chunk)", "nDCG@10(document)")
    result = make_run(systems=3, measures=measures, primary="tokens@10(chunk)")
    report = build_report(result)
    values = [row.primary.value for row in report.systems.rows]
    assert values == sorted(values)
    assert sum(point.on_front for point in report.trades[1].points) >= 1


def test_the_question_is_the_experiments_own(make_run: Make) -> None:
    result = make_run(systems=2)
    assert question(result) == "Which made-up system finds the made-up documents?"
    object.__setattr__(result, "record", result.record.model_copy(update={"experiment": "name: x\n"}))
    assert "2 systems" in question(result) and question(result).endswith("made-up?")


def test_what_could_change_the_verdict_names_failed_systems_and_synthetic_queries(make_run: Make) -> None:
    lines = " ".join(build_report(make_run(systems=4, failed=1)).headline.could_change)
    assert "1 system failed" in lines
    assert "5 of 50 questions are synthetic" in lines
