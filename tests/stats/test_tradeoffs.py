"""Quality against latency by S0's two rules; what they leave open stays open."""

from __future__ import annotations

import pytest

from bakeoff.presets.rules import TradeOff, weigh_trade_off


def trade(gain: float, price: float, differs: bool = True) -> TradeOff:
    return TradeOff("big", "small", "P@5", (0.4 * gain, 0.4), (20.0 * price, 20.0), differs)


@pytest.mark.parametrize(
    ("gain", "price", "rule"),
    [
        (2.0, 10.0, "not-worth-it"),
        (1.1, 12.0, "not-worth-it"),
        (1.11, 2.0, "if-critical"),
        (1.5, 1.5, "if-critical"),
        (1.05, 1.5, "open"),
        (1.5, 5.0, "open"),
        (2.4, 10.0, "open"),
        (1.5, 0.9, "free"),
    ],
)
def test_rules(gain: float, price: float, rule: str) -> None:
    """S0-25: 2x for 10x is not worth it, 10 % for 2x is to be considered."""
    assert weigh_trade_off(trade(gain, price))[0] == rule


def test_what_is_not_differs_is_no_trade() -> None:
    name, text = weigh_trade_off(trade(1.5, 2.0, differs=False))
    assert name == "not-shown" and "small is faster" in text
    assert "P@5 0.600 against 0.400" in text and "40" in text and "20" in text


def test_a_rival_without_any_quality() -> None:
    assert weigh_trade_off(TradeOff("a", "b", "P@5", (0.4, 0.0), (20.0, 1.0), True))[0] == "open"
