"""S0's two rules on quality against latency (S0-25) as an ordered table; cases they do not cover are reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bakeoff.measures.preset_settings import read_preset_file

LINES = read_preset_file("lineage").decision
"""The four lines of the rules: how many times the quality and the latency of the faster system."""


@dataclass(frozen=True, slots=True)
class TradeOff:
    """A better system against a faster one: both qualities, both latencies in ms, and whether their quality differs."""

    better: str
    faster: str
    measure: str
    quality: tuple[float, float]
    latency_ms: tuple[float, float]
    told_apart: bool

    @property
    def gain(self) -> float:
        """The ratio of the qualities; infinite if the faster one's is 0."""
        return self.quality[0] / self.quality[1] if self.quality[1] > 0 else float("inf")

    @property
    def price(self) -> float:
        """The ratio of the latencies; infinite if the faster one's is 0."""
        return self.latency_ms[0] / self.latency_ms[1] if self.latency_ms[1] > 0 else float("inf")


@dataclass(frozen=True, slots=True)
class TradeRule:
    """One row of the table."""

    name: str
    says: str
    holds: Callable[[TradeOff], bool]


TRADE_RULES: tuple[TradeRule, ...] = (
    TradeRule(
        "not-shown",
        "nothing to trade: their quality is tied, and {faster} is faster",
        lambda trade: not trade.told_apart,
    ),
    TradeRule("free", "nothing to trade: {better} is not slower", lambda trade: trade.price <= 1),
    TradeRule(
        "not-worth-it",
        "not worth it: at most {not_worth_quality:g} times the quality for {not_worth_latency:g} times the latency "
        "or more",
        lambda trade: trade.price >= LINES["not_worth_latency"] and trade.gain <= LINES["not_worth_quality"],
    ),
    TradeRule(
        "if-critical",
        "consider {better} if quality is critical: {consider_quality:g} times the quality or more, for at most "
        "{consider_latency:g} times the latency",
        lambda trade: trade.price <= LINES["consider_latency"] and trade.gain >= LINES["consider_quality"],
    ),
    TradeRule("open", "no rule covers this trade: decide by what you need", lambda trade: trade is not None),
)


def weigh_trade_off(trade: TradeOff) -> tuple[str, str]:
    """The name of the first matching rule, and a sentence with its numbers."""
    rule = next(rule for rule in TRADE_RULES if rule.holds(trade))
    (good, less), (slow, fast) = trade.quality, trade.latency_ms
    seen = f"{trade.measure} {good:.3f} against {less:.3f}, mean latency {slow:.3g} ms against {fast:.3g} ms"
    said = rule.says.format(better=trade.better, faster=trade.faster, **LINES)
    return rule.name, f"{trade.better} against {trade.faster}. {said[:1].upper()}{said[1:]} ({seen})."
