"""Decision rules from the presets' data files: S0's weighted score, bands and trade-offs, S4's thresholds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bakeoff.measures.preset_settings import read_preset_file


@dataclass(frozen=True, slots=True)
class WeightedTerm:
    """One term of a weighted score: the value itself, or 1 − value / `per` if smaller is better."""

    name: str
    weight: float
    per: float | None = None

    def points(self, value: float) -> float:
        """The unweighted term, unclamped."""
        return value if self.per is None else 1 - value / self.per


@dataclass(frozen=True, slots=True)
class Band:
    """The limits of good and poor values, both exclusive; `poor` is None if the source names no lower band."""

    name: str
    good: float
    poor: float | None
    smaller_is_better: bool = False

    def read(self, value: float) -> str:
        """The band of a value: good, mediocre, poor, or 'not good' if no lower band is defined."""
        if value < self.good if self.smaller_is_better else value > self.good:
            return "good"
        if self.poor is None:
            return "not good"
        return "poor" if value < self.poor else "mediocre"


_S0 = read_preset_file("lineage")
S0_SCORE = tuple(
    WeightedTerm(criterion.name, criterion.weight, criterion.per)
    for criterion in _S0.criteria
    if criterion.weight is not None
)
S0_BANDS = tuple(
    Band(criterion.name, criterion.good, criterion.poor, criterion.smaller_is_better)
    for criterion in _S0.criteria
    if criterion.good is not None
)
S0_ACTIONS = _S0.actions


@dataclass(frozen=True, slots=True)
class S4Thresholds:
    """S4's limits, and our interpretation of what S4 leaves open; differences in points of MRR."""

    clear: float
    close: float
    similar_wins: float
    """Wins are similar if they differ by at most this share of the queries; a majority is of non-ties."""


S4 = S4Thresholds(**read_preset_file("goldsql").decision)


@dataclass(frozen=True, slots=True)
class WeightedScore:
    """A weighted score as the source defines it, unclamped, and with every term clamped to 0–1."""

    value: float | None
    clamped_value: float | None
    out_of_range: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BandReading:
    """The band of every value, and of the whole: good, mediocre, poor, mixed or incomplete."""

    overall: str
    bands: tuple[tuple[str, str], ...]
    sentence: str


def weighted_score(
    values: Mapping[str, float | None], terms: tuple[WeightedTerm, ...] = S0_SCORE
) -> WeightedScore:
    """The weighted score of a system; null with the missing names if a value was not computed."""
    known = [(term, value) for term in terms if (value := values.get(term.name)) is not None]
    missing = tuple(term.name for term in terms if values.get(term.name) is None)
    if missing:
        return WeightedScore(None, None, (), missing)
    raw = {term.name: term.points(value) for term, value in known}
    total = sum(term.weight * raw[term.name] for term in terms)
    held = sum(term.weight * min(1.0, max(0.0, raw[term.name])) for term in terms)
    outside = tuple(name for name, points in raw.items() if not 0 <= points <= 1)
    return WeightedScore(total, held, outside, ())


def read_bands(values: Mapping[str, float | None], bands: tuple[Band, ...] = S0_BANDS) -> BandReading:
    """The bands of a system's values and the resulting action; mixed bands are listed, not merged.

    Good needs every value to be good (S0-27). Mediocre and poor are decided by the values that have such a band
    (S0-28, S0-29): a fast model with poor quality is poor.
    """
    read = tuple((band.name, _band(band, values.get(band.name))) for band in bands)
    decisive = {_band(band, values.get(band.name)) for band in bands if band.poor is not None}
    if decisive in ({"mediocre"}, {"poor"}):
        (name,) = decisive
        return BandReading(name, read, f"{name.capitalize()}: {S0_ACTIONS[name]}.")
    if missing := [name for name, band in read if band == "not computed"]:
        return BandReading("incomplete", read, f"No band: {', '.join(missing)} not computed.")
    if all(band == "good" for _, band in read):
        return BandReading("good", read, f"Good: {S0_ACTIONS['good']}.")
    listed = ", ".join(f"{name} {band}" for name, band in read)
    return BandReading("mixed", read, f"Mixed, no single action follows: {listed}.")


def _band(band: Band, value: float | None) -> str:
    return "not computed" if value is None else band.read(value)


LIMITS = read_preset_file("lineage").decision
"""S0-25's limits: how many times the quality and the latency of the faster system."""


@dataclass(frozen=True, slots=True)
class TradeOff:
    """A better system against a faster one: both qualities, both latencies in ms, and whether their quality differs."""

    better: str
    faster: str
    measure: str
    quality: tuple[float, float]
    latency_ms: tuple[float, float]
    differs: bool

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
    """One rule on quality against latency (S0-25); the first that holds decides."""

    name: str
    says: str
    holds: Callable[[TradeOff], bool]


TRADE_RULES: tuple[TradeRule, ...] = (
    TradeRule(
        "not-shown",
        "nothing to trade: their quality is tied, and {faster} is faster",
        lambda trade: not trade.differs,
    ),
    TradeRule("free", "nothing to trade: {better} is not slower", lambda trade: trade.price <= 1),
    TradeRule(
        "not-worth-it",
        "not worth it: at most {not_worth_quality:g} times the quality for {not_worth_latency:g} times the latency "
        "or more",
        lambda trade: (
            trade.price >= LIMITS["not_worth_latency"] and trade.gain <= LIMITS["not_worth_quality"]
        ),
    ),
    TradeRule(
        "if-critical",
        "consider {better} if quality is critical: {consider_quality:g} times the quality or more, for at most "
        "{consider_latency:g} times the latency",
        lambda trade: trade.price <= LIMITS["consider_latency"] and trade.gain >= LIMITS["consider_quality"],
    ),
    TradeRule("open", "no rule covers this trade: decide by what you need", lambda trade: trade is not None),
)


def weigh_trade_off(trade: TradeOff) -> tuple[str, str]:
    """The name of the first matching rule, and a sentence with its numbers."""
    rule = next(rule for rule in TRADE_RULES if rule.holds(trade))
    (good, less), (slow, fast) = trade.quality, trade.latency_ms
    seen = f"{trade.measure} {good:.3f} against {less:.3f}, mean latency {slow:.3g} ms against {fast:.3g} ms"
    said = rule.says.format(better=trade.better, faster=trade.faster, **LIMITS)
    return rule.name, f"{trade.better} against {trade.faster}. {said[:1].upper()}{said[1:]} ({seen})."
