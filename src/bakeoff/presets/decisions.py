"""The decision rules of S0 and S4 applied to a run, in their own words."""

from __future__ import annotations

from bakeoff.errors import ComparisonError
from bakeoff.measures.names import parse
from bakeoff.measures.presets import preset
from bakeoff.presets.goldsql.decision import DECISION_A, DECISION_B, S4Case, decide_s4
from bakeoff.presets.lineage.decision_matrix import decision_matrix, lineage_values
from bakeoff.presets.rules import TradeOff, read_bands, weigh_trade_off, weighted_score
from bakeoff.runs.analysis import Result
from bakeoff.runs.verdict import semantic_lift, system_costs
from bakeoff.stats.bootstrap import BootstrapSettings
from bakeoff.stats.comparison import PairComparison
from bakeoff.stats.interaction import interactions


def decision_lines(result: Result) -> list[str]:
    """The decisions by the experiment's preset for the leaders; empty for presets without rules."""
    name = preset(result.record.preset).name if result.record.preset else ""
    if name == "lineage":
        return _lineage(result)
    if name == "goldsql" and len(result.comparison.ranking) > 1:
        return _s4(result)
    return []


def _lineage(result: Result) -> list[str]:
    """The decision matrix, the best system's weighted score and band, and its trade-off with latency."""
    best = [_weighted_score(result, system) for system in result.comparison.ranking[:1]]
    return [*_matrix_lines(result), *best, *preset_trade(result)]


def _matrix_lines(result: Result) -> list[str]:
    """The decision matrix of the system in use, if the experiment names one."""
    try:
        matrix = decision_matrix(result)
    except ComparisonError as exc:
        return [f"No decision matrix: {exc}"]
    return [matrix.finding] if matrix is not None else []


def _weighted_score(result: Result, system: str) -> str:
    """S0's weighted score and band of a system."""
    values = lineage_values(result, system)
    score, reading = weighted_score(values), read_bands(values)
    shown = "no weighted score" if score.value is None else f"weighted score {score.value:.3f}"
    missing = f" ({', '.join(score.missing)} missing)" if score.missing else ""
    outside = (
        f" ({score.clamped_value:.3f} with {' and '.join(score.out_of_range)} clamped to 0–1)"
        if score.out_of_range
        else ""
    )
    return f"{system}: {shown}{missing}{outside}. {reading.sentence}"


def preset_trade(result: Result) -> list[str]:
    """S0's rule on quality against latency, for the best system against the fastest (S0-25)."""
    times = {system: result.timing(system, "total", "mean_ms") for system in result.comparison.ranking}
    known = {system: time for system, time in times.items() if time is not None}
    best = result.comparison.best
    means = {system: one.mean for system, one in result.summaries(result.record.primary).items()}
    if best not in known or not parse(result.record.primary).definition.higher_is_better:
        return []
    fastest = min(known, key=lambda system: known[system])
    first, second = means[best], means[fastest]
    if fastest == best or first is None or second is None:
        return []
    separated = fastest not in result.comparison.indistinguishable_from_best
    trade = TradeOff(
        best, fastest, result.record.primary, (first, second), (known[best], known[fastest]), separated
    )
    return [weigh_trade_off(trade)[1]]


def _s4(result: Result) -> list[str]:
    """S4's two decisions for the leaders."""
    case = s4_case(result, *leading_pair(result, result.record.primary), result.record.primary)
    tables = (
        ("by interval and wins", DECISION_A),
        ("by size of the difference, then semantic lift", DECISION_B),
    )
    return [f"What to use, {how}: {decide_s4(case, table).sentence}" for how, table in tables]


def leading_pair(result: Result, measure: str) -> tuple[str, str]:
    """The best two systems on a measure as challenger and incumbent: the incumbent has the smaller index."""
    first, second = result.compare(measure).ranking[:2]
    sizes = {system: system_costs(result, system).index_bytes or 0 for system in (first, second)}
    places = {system: place for place, system in enumerate(result.done)}
    challenger, incumbent = sorted((first, second), key=lambda one: (-sizes[one], -places[one]))
    return challenger, incumbent


def s4_case(result: Result, challenger: str, incumbent: str, measure: str) -> S4Case:
    """The input of S4's rules: the pair, its categories if there are several, semantic lift if reviewed."""
    matrix = result.matrix(measure)
    several = len({category for category in matrix.categories if category}) > 1
    settings = BootstrapSettings(result.record.seed)
    return S4Case(
        result.compare(measure).pair(challenger, incumbent),
        measure=measure,
        categories=interactions(matrix, challenger, [incumbent], settings)[0] if several else None,
        lift=_lift(result, challenger, incumbent),
        latency_critical=_too_slow(result, challenger),
    )


def _too_slow(result: Result, system: str) -> bool:
    """Whether the experiment limits latency and a system exceeds the limit."""
    limit, seen = result.record.limits.get("p95_ms"), system_costs(result, system).p95_ms
    return limit is not None and seen is not None and seen > limit


def _lift(result: Result, challenger: str, incumbent: str) -> PairComparison | None:
    """Semantic lift of both on queries that people judged for both; None if they are too few for an interval."""
    compared = semantic_lift(result)
    pair = compared.pair(challenger, incumbent) if compared else None
    return pair if pair is not None and pair.interval.low is not None else None
