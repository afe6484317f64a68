"""A result → the evidence, and the verdict that follows from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TypeVar, cast

from bakeoff.analysis import Result
from bakeoff.errors import ComparisonError
from bakeoff.measures.names import parse
from bakeoff.stats.bootstrap import BootstrapSettings
from bakeoff.stats.comparison import PairComparison
from bakeoff.stats.decisions import DECISION_A, DECISION_B, S4Case, decide_s4
from bakeoff.stats.evidence import Costs, Evidence, Limits
from bakeoff.stats.factors import FactorAnalysis, factor_shares
from bakeoff.stats.interaction import Interaction, interaction, interactions
from bakeoff.stats.loss import Stage, Waterfall, waterfall
from bakeoff.stats.presets import read_bands, weighted_score
from bakeoff.stats.selection import Selection, select
from bakeoff.stats.tradeoffs import Trade, weigh
from bakeoff.stats.verdict import Verdict, decide


def judge(result: Result) -> Verdict:
    """The verdict on the primary measure, under the experiment's limits."""
    return decide(evidence(result))


def evidence(result: Result) -> Evidence:
    """Everything the verdict may use, from stored rows."""
    limits = result.record.limits
    index_mb = limits.get("index_mb")
    return Evidence(
        comparison=result.comparison,
        interactions=_interactions(result),
        costs={system: _costs(result, system) for system in result.done},
        limits=Limits(
            p95_ms=limits.get("p95_ms"), index_bytes=index_mb * 1e6 if index_mb is not None else None
        ),
    )


def where_the_loss_is(result: Result, system: str) -> Waterfall | None:
    """From a perfect score down to the served one, step by step; None where the primary measure has no steps."""
    import pyarrow.compute as pc

    rows = result.losses.filter(pc.equal(result.losses["system"], system))
    steps = list(dict.fromkeys(rows["step"].to_pylist()))
    if not steps:
        return None
    values = rows["reachable"].to_numpy(zero_copy_only=False).reshape(len(steps), -1)
    return waterfall([Stage(step, row) for step, row in zip(steps, values, strict=True)])


@dataclass(frozen=True, slots=True)
class Alarms:
    """How a system's top score tells questions without an answer from the others."""

    negatives: int
    above: int
    auroc: float


def false_alarms(result: Result, system: str) -> Alarms | None:
    """Negative questions whose top score is above a threshold that was chosen on other questions."""
    import numpy as np
    import pyarrow.compute as pc

    from bakeoff.measures.negatives import auroc, choose_threshold

    first = result.rankings.filter(
        pc.and_(pc.equal(result.rankings["system"], system), pc.equal(result.rankings["rank"], 1))
    )
    top = dict(zip(first["query_id"].to_pylist(), first["score"].to_pylist(), strict=True))
    ids, negative = result.queries["query_id"].to_pylist(), result.queries["negative"].to_pylist()
    scores = np.array([top.get(name, -np.inf) for name in ids])
    wrong = np.array(negative, dtype=bool)
    if wrong.sum() < 2 or wrong.all():
        return None
    half = np.arange(len(ids)) % 2 == 0
    above = 0
    for chosen_on in (half, ~half):
        if not (wrong & chosen_on).any() or not (~wrong & chosen_on).any():
            return None
        threshold = choose_threshold(scores[~wrong & chosen_on], scores[wrong & chosen_on])
        above += int((scores[wrong & ~chosen_on] >= threshold).sum())
    return Alarms(int(wrong.sum()), above, auroc(scores[~wrong], scores[wrong]))


def tie_note(result: Result) -> str | None:
    """How many scores of the primary measure hang on the order of equally scored results (F17)."""
    import pyarrow.compute as pc

    rows = result.ties.filter(pc.equal(result.ties["measure"], result.record.primary))
    if not rows.num_rows:
        return None
    systems = sorted(set(rows["system"].to_pylist()))
    widest = max(
        high - low for high, low in zip(rows["high"].to_pylist(), rows["low"].to_pylist(), strict=True)
    )
    return (
        f"{rows.num_rows} scores of {result.record.primary} (in {len(systems)} systems) depend on the order of equally "
        f"scored results, by up to {widest:.3f}; the served order is scored."
    )


T = TypeVar("T")


def _once(ask: Callable[[Result], T]) -> Callable[[Result], T]:
    """Answered once a result, and forgotten with it: a table of all results ever asked would keep their rows alive."""

    @wraps(ask)
    def answer(result: Result) -> T:
        if ask.__name__ not in result.known:
            result.known[ask.__name__] = ask(result)
        return cast(T, result.known[ask.__name__])

    return answer


FACTORS = ("chunker", "embedder", "store", "mode", "reranker")
FOLDS = 5


@_once
def what_makes_the_difference(result: Result) -> FactorAnalysis | None:
    """How much of the spread of the systems goes with chunker, model, store and mode; None where nothing varies."""
    matrix = result.matrix(result.record.primary)
    rows = [row for row in result.systems.to_pylist() if row["system"] in matrix.systems]
    factors = {name: [row[name] or "none" for row in rows] for name in FACTORS}
    vector = next((row["store"] for row in rows if row["embedder"]), "none")
    # a keyword engine comes with its mode: it is no choice of a vector store
    factors["store"] = [row["store"] if row["embedder"] else vector for row in rows]
    try:
        return factor_shares(matrix.scored(), factors, result.record.seed)
    except ComparisonError:
        return None  # one system, one query or no spread: nothing to explain


@_once
def held_out(result: Result) -> Selection | None:
    """The best system chosen on some questions and scored on others (F30); None with too few questions."""
    try:
        return select(result.matrix(result.record.primary), FOLDS, result.record.seed)
    except ComparisonError:
        return None


def preset_lines(result: Result) -> list[str]:
    """What the decision rule of the experiment's preset says, in its own words; nothing for other presets."""
    if result.record.preset == "lineage":
        lines = [_weighted(result, system) for system in result.comparison.ranking]
        return [*lines[:1], *preset_trade(result), *lines[1:]]
    if result.record.preset == "goldsql" and len(result.comparison.ranking) > 1:
        return _s4(result)
    return []


def _weighted(result: Result, system: str) -> str:
    """S0's weighted score and band of a system."""
    values = {name: _mean(result, system, name) for name in ("P@5", "R@10", "MRR", "nDCG@5")}
    dims = dict(zip(result.systems["system"].to_pylist(), result.systems["dims"].to_pylist(), strict=True))
    values |= {"latency_ms": result.timing(system, "total", "mean_ms"), "dims": dims[system]}
    score, reading = weighted_score(values), read_bands(values)
    shown = "no score" if score.value is None else f"{score.value:.3f}"
    missing = f" ({', '.join(score.missing)} missing)" if score.missing else ""
    outside = (
        f" ({score.clamped_value:.3f} with {' and '.join(score.out_of_range)} held between 0 and 1)"
        if score.out_of_range
        else ""
    )
    return f"{system}: weighted score {shown}{missing}{outside}. {reading.sentence}"


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
    apart = fastest not in result.comparison.indistinguishable_from_best
    trade = Trade(best, fastest, result.record.primary, (first, second), (known[best], known[fastest]), apart)
    return [weigh(trade)[1]]


def _s4(result: Result) -> list[str]:
    """S4's two decisions for the best system against the next, the smaller index being the incumbent."""
    first, second = result.comparison.ranking[:2]
    sizes = {system: _costs(result, system).index_bytes or 0 for system in (first, second)}
    challenger, incumbent = sorted((first, second), key=lambda system: -sizes[system])
    case = s4_case(result, challenger, incumbent, result.record.primary)
    tables = (
        ("by interval and wins", DECISION_A),
        ("by size of the difference, then semantic lift", DECISION_B),
    )
    return [f"What to use, {how}: {decide_s4(case, table).sentence}" for how, table in tables]


def s4_case(result: Result, challenger: str, incumbent: str, measure: str) -> S4Case:
    """All that S4's rules look at: the pair, its categories where there are several, semantic lift where reviewed."""
    matrix = result.matrix(measure)
    several = len({category for category in matrix.categories if category}) > 1
    settings = BootstrapSettings(result.record.seed)
    return S4Case(
        result.compare(measure).pair(challenger, incumbent),
        measure=measure,
        categories=interaction(matrix, challenger, incumbent, settings) if several else None,
        lift=_lift(result, challenger, incumbent),
        latency_critical=_too_slow(result, challenger),
    )


def _too_slow(result: Result, system: str) -> bool:
    """Whether the experiment limits latency and a system is known to be beyond it."""
    limit, seen = result.record.limits.get("p95_ms"), _costs(result, system).p95_ms
    return limit is not None and seen is not None and seen > limit


def _lift(result: Result, challenger: str, incumbent: str) -> PairComparison | None:
    """Semantic lift of the two on queries people judged for both; None where too few are for an interval."""
    named = [name for name in result.record.measures if parse(name).name == "SemLift"]
    try:
        pair = result.compare(named[0]).pair(challenger, incumbent) if named else None
    except ComparisonError:
        return None  # nobody has judged
    return pair if pair is not None and pair.interval.low is not None else None


def _mean(result: Result, system: str, measure: str) -> float | None:
    try:
        return result.summaries(measure)[system].mean
    except ComparisonError:
        return None


def _costs(result: Result, system: str) -> Costs:
    sizes = dict(
        zip(result.systems["system"].to_pylist(), result.systems["index_bytes"].to_pylist(), strict=True)
    )
    return Costs(p95_ms=result.timing(system, "total", "p95_ms"), index_bytes=sizes[system])


def _interactions(result: Result) -> tuple[Interaction, ...]:
    """The best system against each it is not shown to beat, by category."""
    comparison, matrix = result.comparison, result.matrix(result.record.primary)
    rivals = [system for system in comparison.indistinguishable_from_best if system != comparison.best]
    if comparison.best is None or not rivals or len({c for c in matrix.categories if c}) < 2:
        return ()
    return interactions(matrix, comparison.best, rivals, BootstrapSettings(result.record.seed))
