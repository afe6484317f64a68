"""Prices → costs, by hand."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from bakeoff.config import experiment
from bakeoff.config.experiment_file import Prices
from bakeoff.errors import ExperimentError
from bakeoff.runs.cost import TokenUse, Usage, estimate_cost, prices_of, run_costs

TABLE = Prices(
    date=datetime.date(2026, 11, 1),
    machine_per_hour=0.36,
    gb_month=0.1,
    million_tokens={"openai": 0.02, "minilm": 0},
)


def usage(embedder: tuple[str, ...] = ("openai(dims=3)", "openai"), **changed: Any) -> Usage:
    usual = {
        "qps": 100.0,
        "query_tokens": TokenUse(10),
        "refresh_tokens": TokenUse(5e6),
        "refresh_seconds": 7200.0,
    }
    return Usage(embedder, **{**usual, "index_bytes": 2_000_000_000, **changed})


def test_the_three_costs() -> None:
    found = estimate_cost(TABLE, usage())
    assert found.million_queries.amount == pytest.approx(1e4 / 3600 * 0.36 + 10 * 0.02)
    assert found.refresh.amount == pytest.approx(2 * 0.36 + 5 * 0.02)
    assert found.storage_month.amount == pytest.approx(0.2) and found.notes == ()


def test_no_model_and_a_free_model_pay_no_tokens() -> None:
    for embedder in ((), ("minilm",)):
        found = estimate_cost(
            TABLE, usage(embedder, query_tokens=TokenUse(None), refresh_tokens=TokenUse(None))
        )
        assert found.million_queries.amount == pytest.approx(1.0) and found.refresh.amount == pytest.approx(
            0.72
        )


@pytest.mark.parametrize(
    ("changed", "which", "why"),
    [
        ({"qps": None}, "million_queries", "no queries per second"),
        ({"refresh_seconds": None}, "refresh", "not timed"),
        ({"index_bytes": None}, "storage_month", "not known"),
        ({"query_tokens": TokenUse(None)}, "million_queries", "tokens"),
        ({"embedder": ("cohere",)}, "refresh", "million_tokens.cohere"),
    ],
)
def test_unknown_is_null_with_the_reason(changed: dict[str, Any], which: str, why: str) -> None:
    priced = getattr(estimate_cost(TABLE, usage(**changed)), which)
    assert priced.amount is None and why in priced.note


def test_prices_that_are_not_given_are_not_zero() -> None:
    found = estimate_cost(Prices(date=datetime.date(2026, 11, 1)), usage())
    assert (found.million_queries.amount, found.refresh.amount, found.storage_month.amount) == (
        None,
        None,
        None,
    )
    assert "machine_per_hour" in found.refresh.note and "gb_month" in found.storage_month.note


def test_estimated_tokens_say_so() -> None:
    assert (
        "estimated"
        in estimate_cost(TABLE, usage(query_tokens=TokenUse(3, estimated=True))).million_queries.note
    )


@pytest.mark.parametrize(
    "line", ["{machine_per_hour: 1}", "{date: soon}", "{date: 2026-11-01, gb_month: -1}"]
)
def test_price_tables_that_cannot_be(small: Path, line: str) -> None:
    small.write_text(small.read_text() + f"prices: {line}\n")
    with pytest.raises(ExperimentError, match=r"bakeoff\.yaml"):
        experiment.load(small)


def test_a_new_price_is_the_same_plan(small: Path) -> None:
    before = experiment.load(small).fingerprint()
    small.write_text(small.read_text() + "prices: {date: 2026-11-01, machine_per_hour: 1}\n")
    assert experiment.load(small).fingerprint() == before


def test_a_run_without_prices_has_no_costs(ran: Any) -> None:
    assert prices_of(ran.result) is None and run_costs(ran.result) == {}
    found = run_costs(ran.result, Prices(date=datetime.date(2026, 11, 1), machine_per_hour=3.6, gb_month=1))
    words = next(name for name in found if "bm25" in name)
    mean = ran.result.timing(words, "total", "mean_ms")
    assert found[words].million_queries.amount == pytest.approx(mean)  # 1e6 · ms/1000 · 3.6/3600
    dense = next(name for name in found if "dense" in name)
    assert found[dense].million_queries.amount is None


def test_costs_of_a_run_whose_questions_are_all_left_out(ran: Any) -> None:
    none = ran.result.without(ran.result.queries["query_id"].to_pylist())
    found = run_costs(none, Prices(date=datetime.date(2026, 11, 1), machine_per_hour=3.6, gb_month=1))
    assert {*found} == {*none.done}
