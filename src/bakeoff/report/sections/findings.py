"""Titles that state what a figure or table shows."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.report.render import number_text as say
from bakeoff.report.sections.breakdown import Breakdown, RankTable
from bakeoff.report.sections.cost_quality import CostQualityPoint
from bakeoff.report.sections.costs import LatencyRow
from bakeoff.report.sections.divergent_queries import DifferingQuery
from bakeoff.report.sections.losses import LossTable
from bakeoff.report.sections.pairs import PairTable
from bakeoff.report.sections.systems import SystemsTable
from bakeoff.runs.record import ChunkingRecord, LengthRecord
from bakeoff.runs.stored_times import WHOLE, PhaseRow
from bakeoff.runs.verdict import FalseAlarmStats
from bakeoff.stats.factors import FactorAnalysis


def of_systems(table: SystemsTable) -> str:
    """Which system has the best mean, or which systems share it."""
    first, note = table.rows[0], table.measures[0]
    mean = first.primary
    if mean.value is None:
        return f"No system has a score of {note.label}"
    score = f"{say.score(mean.value)} {say.interval(mean.interval.low, mean.interval.high)}".strip()
    word = "highest" if note.higher_is_better else "lowest"
    best = [row.system for row in table.rows if row.primary.value == mean.value]
    who = f"{first.system} has" if len(best) == 1 else f"{say.name_some(best, 3)} share"
    return f"{who} the {word} mean {note.label}: {score}"


def of_differences(pairs: PairTable) -> str:
    """How many systems the best is shown to beat."""
    total = len(pairs.against)
    if pairs.beaten == total:
        others = "the other system" if total == 1 else f"each of the other {total:,}"
        return f"{pairs.best} beats {others}"
    return f"{pairs.best} beats {pairs.beaten:,} of {say.count(total, 'other system')}"


def of_wins(pairs: PairTable) -> str:
    """Wins, losses and ties against the runner-up."""
    pair = pairs.against[0]
    counts = f"better on {say.questions(pair.wins)}, worse on {pair.losses:,}, equal on {pair.ties:,}"
    return f"Against {pair.b} it is {counts}"


def of_queries(pairs: PairTable) -> str:
    """How often the top two systems agree."""
    pair = pairs.against[0]
    return f"The top two systems score the same on {say.share(pair.ties, pair.n)} of {say.questions(pair.n)}"


def of_trade(trade: CostQualityPoint) -> str:
    """Which systems are on the front, among those whose cost is known."""
    front = trade.front
    among = f"Of the {len(trade.points):,} with known {trade.axis}, " if trade.without_cost else ""
    if len(trade.points) == 1:
        return f"Only {front[0].system} has known {trade.axis}"
    if len(front) == 1:
        if any(point.cost == front[0].cost for point in trade.points if point is not front[0]):
            return f"{among}{front[0].system} is the best, and no system is {trade.cheaper}"
        return f"{among}{front[0].system} is both the best and the {trade.cheapest}"
    total = say.count(len(trade.points), "system")
    names = say.name_some([point.system for point in front], 3)
    limit = f" with known {trade.axis}" if trade.without_cost else ""
    return f"{len(front):,} of {total}{limit} have no rival that is both better and {trade.cheaper}: {names}"


def of_breakdown(table: Breakdown, higher_is_better: bool) -> str:
    """The group with the worst best mean: the hardest kind of question."""
    best = max if higher_is_better else min
    worst = min if higher_is_better else max
    tops = []
    for number, group in enumerate(table.groups):
        means = [(row[1][number].value, row[0], row[1][number].n) for row in table.rows]
        scored = [(value, system, n) for value, system, n in means if value is not None]
        if scored:
            value, system, n = best(scored, key=lambda one: one[0])
            tops.append((value, group, system, n))
    if not tops:
        return f"No {table.label} has a scored question"
    value, group, system, n = worst(tops, key=lambda one: one[0])
    if len(tops) > 1 and len({round(top[0], 9) for top in tops}) == 1:
        return f"By {table.label}, the best mean is the same in every group: {say.score(value)}"
    word = "lowest" if higher_is_better else "highest"
    return f"By {table.label}, the best mean is {word} on {group}: {say.score(value)} ({system}, {say.questions(n)})"


def of_ranks(table: RankTable) -> str:
    """The rank of the first relevant result of the first system."""
    row = table.rows[0]
    return (
        f"{row.system}: first relevant {table.unit} at rank {table.spans[0]} on {say.share(row.counts[0], row.n)} "
        f"of {say.questions(row.n)}, {table.spans[-1]} on {say.share(row.counts[-1], row.n)}"
    )


def of_losses(table: LossTable) -> str:
    """Where the first system loses most."""
    system, waterfall = table.rows[0]
    worst = max(waterfall.steps, key=lambda step: step.lost)
    if worst.lost <= 0:
        return f"{system} loses nothing at any step"
    return f"{system} loses most at “{worst.step}”: {say.score(worst.lost)} of a possible {say.score(waterfall.start)}"


def of_lengths(rows: Sequence[LengthRecord]) -> str:
    """How much text the models do not see."""
    worst = max(rows, key=lambda row: row.cut)
    if worst.cut < 0.005:
        return "The models read the whole text of all chunks"
    return f"{worst.embedder} does not see {worst.cut:.0%} of the text of {worst.chunker} chunks"


def of_spread(spread: FactorAnalysis) -> str:
    """Which choice explains most of the variation between systems."""
    first = max(spread.factors, key=lambda factor: factor.adjusted)
    if first.adjusted < 0.005:
        return "No single choice explains the variation between systems"
    share = f"{first.adjusted:.0%} [{first.low:.0%} {first.high:.0%}]"
    return f"The {first.factor} explains the largest share of the variation between systems: {share}"


def of_alarms(rows: Sequence[tuple[str, FalseAlarmStats]]) -> str:
    """How the first system scores queries without a right answer."""
    system, alarms = rows[0]
    if alarms.above is None:
        return (
            f"{say.score(alarms.auroc)} of the other questions have a higher top score from {system} than the one "
            "without a right answer"
        )
    return (
        f"{system} gives {alarms.above:,} of {say.questions(alarms.negatives)} without a right answer "
        "a top score above its threshold"
    )


def of_differing(queries: Sequence[DifferingQuery]) -> str:
    """How many queries are shown."""
    return f"The {say.questions(len(queries))} on which the systems differ most"


def of_latency(rows: Sequence[LatencyRow]) -> str:
    """The range of median latencies."""
    latencies = sorted(
        (row.statistics[0].value, row.system) for row in rows if row.statistics[0].value is not None
    )
    if not latencies:
        return "Too few samples for a median latency"
    (low, fastest), (high, slowest) = latencies[0], latencies[-1]
    if low == high:
        return f"The median latency is {say.milliseconds(low)} ({fastest})"
    return f"The median latency ranges from {say.milliseconds(low)} ({fastest}) to {say.milliseconds(high)} ({slowest})"


def of_phases(phases: Sequence[str], rows: Sequence[PhaseRow]) -> str:
    """The phase that takes longest in any system."""
    totals = [
        (time.value, phase, row.system)
        for row in rows
        for phase, time in zip(phases, row.phases, strict=True)
        if time.value is not None and phase != WHOLE
    ]
    if not totals:
        return "Every phase came from the cache, without a recorded time"
    value, phase, system = max(totals)
    part = any(time.value is None for row in rows for time in row.phases)
    first = "The longest phase with a known time" if part else "The longest phase"
    return f"{first} is {phase}: {say.seconds(value)} for {system}"


def of_chunks(chunkings: Sequence[ChunkingRecord]) -> str:
    """The median chunk lengths."""
    shown = [f"{chunking.chunker} {chunking.quantiles[2]:,}" for chunking in chunkings[:4]]
    return f"Median length of a chunk in characters: {', '.join(shown)}"


def of_rules(hidden: int, rules: Sequence[object], silent: int) -> str:
    """How many rules there are and how many match nothing."""
    total = len(rules) + hidden
    return f"{say.count(total, 'truth rule')} were executed; {silent:,} matched nothing"
