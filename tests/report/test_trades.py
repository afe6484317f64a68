"""Quality against money: from the run's timings or from the load, never mixed, and said where it is not known."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace

import pytest

from bakeoff.benchmark.results.load_results import LoadResult
from bakeoff.config.experiment_file import Prices
from bakeoff.report.build import build_report
from bakeoff.report.render.html import page
from bakeoff.report.render.markdown import text
from bakeoff.report.sections.cost_quality import RESCORED, bill_of, money, trades
from bakeoff.report.sections.findings import of_trade
from bakeoff.runs.analysis import Result
from bakeoff.runs.cost import run_costs

Make = Callable[..., Result]
MakeLoad = Callable[..., LoadResult]
PRICED = "prices: {date: 2026-01-02, currency: EUR, machine_per_hour: 0.5, million_tokens: {minilm: 0, wordllama: 0}}\n"
PRICES = Prices(date=datetime.date(2026, 1, 2), machine_per_hour=1.0)


def test_without_prices_the_report_explains_how_to_add_them(make_run: Make) -> None:
    report = build_report(make_run(systems=3))
    assert [trade.name for trade in report.trades] == ["tokens", "latency", "size"]
    assert report.pricing.startswith("No cost") and "prices:" in report.pricing
    assert "No cost" in page(report) and "No cost" in text(report)


def test_costs_are_those_of_the_run_and_the_front_is_named(make_run: Make) -> None:
    result = make_run(systems=4, prices=PRICED)
    report = build_report(result)
    trade = next(one for one in report.trades if one.name == "cost_queries")
    costs = run_costs(result)
    assert {point.system: point.cost for point in trade.points} == {
        system: cost.million_queries.amount for system, cost in costs.items()
    }
    for point in trade.points:
        beaten = any(
            (other.quality >= point.quality and other.cost < point.cost)
            or (other.quality > point.quality and other.cost <= point.cost)
            for other in trade.points
        )  # fmt: skip
        assert point.on_front is not beaten
    assert trade.front[0].system in of_trade(trade) and "one thread" in trade.notes[0]
    assert "EUR" in page(report) and "a million queries" in text(report)
    assert "refresh" in report.pricing  # one phase came from the cache


def test_a_system_of_unknown_cost_is_not_called_more_expensive(make_run: Make) -> None:
    """A store that does not report its size took the title "both the best and the smallest" from nobody."""
    report = build_report(make_run(systems=3))
    latency = next(one for one in report.trades if one.name == "latency")
    rows = [replace(row, p50_ms=None) for row in report.systems.rows[1:]]
    table = replace(report.systems, rows=(*report.systems.rows[:1], *rows))
    alone = next(one for one in trades(table, True, bill_of(make_run(systems=3))) if one.name == "latency")
    assert (latency.without_cost, alone.without_cost, len(alone.points)) == (0, 2, 1)
    assert f"Only {alone.points[0].system} " in of_trade(alone)


@pytest.mark.parametrize("rescored", [False, True])
def test_the_note_on_rescoring_needs_a_rescored_form(make_run: Make, rescored: bool) -> None:
    result = make_run(systems=2)
    rows = build_report(result).systems.rows
    forms = [replace(rows[0], vector_bytes=64), replace(rows[1], vector_bytes=8, rescored=rescored)]
    table = replace(build_report(result).systems, rows=tuple(forms))
    vectors = next(one for one in trades(table, True, bill_of(result)) if one.name == "vectors")
    assert (RESCORED in vectors.notes) is rescored


def test_a_load_without_the_model_does_not_make_an_expensive_model_cheap(
    make_run: Make, make_load: MakeLoad
) -> None:
    result = make_run(systems=2, prices=PRICED)
    make_load(result, prices=PRICES)
    assert "one thread" in bill_of(result).basis
    make_load(result, prices=PRICES, end_to_end=True)
    bill = bill_of(result)
    assert "under load" in bill.basis and bill.currency == "USD"
    assert [bill.costs[system].million_queries.amount for system in result.done] == [0.5, 1.5]


def test_prices_of_a_load_serve_a_run_that_has_none(make_run: Make, make_load: MakeLoad) -> None:
    result = make_run(systems=2)
    make_load(result, prices=PRICES)
    bill = bill_of(result)
    assert bill.currency == "USD" and set(bill.costs) == set(result.done) and "one thread" in bill.basis


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), (0.00378, "0.00378\u00a0EUR"), (1.5, "1.50\u00a0EUR"), (1234.5, "1,234\u00a0EUR")],
)
def test_amounts(value: float | None, shown: str) -> None:
    assert money("EUR", value) == shown
