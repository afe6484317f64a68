"""Quality against latency, size and money, each with its Pareto front."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from bakeoff.benchmark.results.load_results import all_loads, open_load
from bakeoff.config.experiment_file import Prices
from bakeoff.errors import BakeoffError
from bakeoff.report.render import number_text as say
from bakeoff.report.sections.costs import TradePoint, trade_points
from bakeoff.report.sections.parts import Axis, Dot, ScatterChart
from bakeoff.report.sections.systems import SystemsTable
from bakeoff.runs.analysis import Result
from bakeoff.runs.cost import Cost, PricedCost, prices_of, run_costs
from bakeoff.stats.intervals import Interval

HOW = (
    "No cost is known: the experiment has no prices. Add prices: {date: …, machine_per_hour: …, million_tokens: "
    "{MODEL: 0}} to its file. The next run, or the next load of this run, then computes costs; nothing is "
    "measured again."
)
BY_MEANS = "The front compares means, even of systems that are tied (see the pairs)."
CLOSE_MEDIANS = "A p50 has no interval here: close medians may swap in another run."
RESCORED = "A rescored form also keeps the full vectors, which are not part of the bytes searched."
CHEAPER = {
    "cheapest": "cheaper",
    "cheapest in tokens": "cheaper in tokens",
    "fastest": "faster",
    "smallest": "smaller",
}
ONE_THREAD = "queries at the speed of one thread in this run"
UNDER_LOAD = "queries at the highest speed under load"
WITHOUT_MODEL = "--end-to-end"
"""The note of a cost under load that excludes the embedding of queries."""
PARTS = {
    "a million queries": ("cost_queries", "million_queries"),
    "a refresh of the corpus": ("cost_refresh", "refresh"),
}
"""Item of cost → names of the figure and of the cost."""


PREFERRED = {"tokens": "tokens", "latency": "latency", "index size": "size", "cost": "cost_queries"}
"""A preference that decides → the figure's name."""


@dataclass(frozen=True, slots=True)
class CostQualityPoint:
    """Quality against one cost; `name` is its file's, `against` its heading's, `axis` what is measured.

    `without_cost` systems have a score and no such cost: they are not among the points.
    """

    name: str
    against: str
    axis: str
    cheapest: str
    cheaper: str
    say: Callable[[float | None], str]
    points: tuple[TradePoint, ...]
    notes: tuple[str, ...] = ()
    without_cost: int = 0

    @property
    def front(self) -> tuple[TradePoint, ...]:
        """The systems on the Pareto front, cheapest first."""
        return tuple(sorted((p for p in self.points if p.on_front), key=lambda p: p.cost))


@dataclass(frozen=True, slots=True)
class Pricing:
    """The costs of systems in a currency with their basis, or why they are unknown."""

    currency: str
    costs: Mapping[str, Cost]
    basis: str


def trades(
    table: SystemsTable, higher_is_better: bool, bill: Pricing, decided_by: tuple[str, ...] = ()
) -> tuple[CostQualityPoint, ...]:
    """The trade-offs for which any system has both values; the deciding one comes first."""
    every = _all(table, partial(trade_points, table.rows, higher_is_better=higher_is_better), bill)
    scored = sum(row.primary.value is not None for row in table.rows)
    priced = (replace(trade, without_cost=scored - len(trade.points)) for trade in every if trade.points)
    first = [PREFERRED[name] for name in decided_by if name in PREFERRED]
    return tuple(sorted(priced, key=lambda one: one.name not in first[:1]))


def bill_of(result: Result) -> Pricing:
    """The costs of systems: at the speed under load if that covers whole queries, else from the run's timings."""
    stored = _stored_costs(result)
    prices = prices_of(result) or (stored[0] if stored else None)
    if prices is None:
        return Pricing("", {}, HOW)
    if stored is not None and set(result.done) <= set(stored[1]) and _whole(stored[1]):
        return Pricing(stored[0].currency, stored[1], _basis(stored[0].date, UNDER_LOAD))
    return Pricing(prices.currency, run_costs(result, prices), _basis(prices.date, ONE_THREAD))


def unpriced_reason(trades_shown: tuple[CostQualityPoint, ...], bill: Pricing) -> str:
    """Why the figure of costs is missing or incomplete."""
    if not bill.costs:
        return bill.basis
    missing = [
        what for what, part in PARTS.items() if not any(trade.name == part[0] for trade in trades_shown)
    ]
    reasons = [
        f"No cost of {what} is known: {'; '.join(_notes(_prices_of(bill, PARTS[what][1]))) or 'every price is 0'}."
        for what in missing
    ]
    return " ".join(reasons)


def money(currency: str, value: float | None) -> str:
    """An amount to three digits, with its currency."""
    if value is None:
        return say.ABSENT
    shown = f"{value:,.0f}" if value >= 100 else f"{value:.3g}" if value < 1 else f"{value:.2f}"
    return f"{shown}{say.TIED}{currency}"


def _all(
    table: SystemsTable, points: Callable[[Mapping[str, float | None]], tuple[TradePoint, ...]], bill: Pricing
) -> Iterator[CostQualityPoint]:
    """Every cost: tokens if they were counted, latency, size, bytes per vector if they differ, and money."""

    def trade(
        name: str,
        axis: str,
        cheapest: str,
        say: Callable[[float | None], str],
        costs: Mapping[str, float | None],
        *,
        notes: Sequence[str] = (BY_MEANS,),
        against: str = "",
    ) -> CostQualityPoint:
        return CostQualityPoint(
            name=name,
            against=against or axis,
            axis=axis,
            cheapest=cheapest,
            cheaper=CHEAPER[cheapest],
            say=say,
            points=points(costs),
            notes=tuple(notes),
        )

    place = next((place for place, note in enumerate(table.measures) if not note.quality), None)
    if place is not None:
        tokens = {row.system: row.means[place].value for row in table.rows}
        yield trade("tokens", "tokens per question", "cheapest in tokens", say.whole, tokens)
    speeds = {row.system: row.p50_ms for row in table.rows}
    yield trade(
        "latency",
        "p50 latency",
        "fastest",
        say.milliseconds,
        speeds,
        notes=(f"{BY_MEANS} {CLOSE_MEDIANS}",),
        against="latency",
    )
    sizes = {row.system: row.index_bytes for row in table.rows}
    yield trade("size", "index size", "smallest", say.size, sizes, against="size")
    if table.several_forms:
        vectors = {row.system: row.vector_bytes for row in table.rows}
        rescored = (RESCORED,) if any(row.rescored for row in table.rows) else ()
        yield trade(
            "vectors", "bytes per vector", "smallest", say.whole, vectors, notes=(BY_MEANS, *rescored)
        )
    for what, (name, part) in PARTS.items():
        priced = _prices_of(bill, part)
        amounts = {system: one.amount for system, one in priced.items()}
        notes = (f"{bill.basis}.", *_notes(priced), BY_MEANS)
        shown = partial(money, bill.currency)
        against = f"the cost of {what}"
        yield trade(name, f"cost of {what}", "cheapest", shown, amounts, notes=notes, against=against)


def _notes(priced: Mapping[str, PricedCost]) -> Iterator[str]:
    """The distinct reasons why amounts are missing or estimated."""
    reasons: dict[str, list[str]] = {}
    for system, one in priced.items():
        if one.note:
            reasons.setdefault(one.note, []).append(system)
    for note, names in reasons.items():
        yield f"{note} ({say.name_some(names, 3)})"


def _prices_of(bill: Pricing, part: str) -> dict[str, PricedCost]:
    return {system: getattr(cost, part) for system, cost in bill.costs.items()}


def _stored_costs(result: Result) -> tuple[Prices, dict[str, Cost]] | None:
    """The prices and costs stored by the run's newest load."""
    if not all_loads(result.path):
        return None
    try:
        record = open_load(result.path).record
    except BakeoffError:
        return None  # the section on load explains it
    if not record["prices"] or not record["costs"]:
        return None
    costs = {
        system: Cost(
            *(PricedCost(**stored[part]) for part in ("million_queries", "refresh", "storage_month"))
        )
        for system, stored in record["costs"].items()
    }
    return Prices.model_validate(record["prices"]), costs


def _whole(costs: Mapping[str, Cost]) -> bool:
    """Whether queries were embedded at search time; otherwise an expensive model would look cheap."""
    return not any(WITHOUT_MODEL in cost.million_queries.note for cost in costs.values())


def _basis(date: object, speed: str) -> str:
    return f"At prices of {date}, {speed}"


def trade_chart(trade: CostQualityPoint, table: SystemsTable) -> ScatterChart:
    """Quality against a cost on a log scale; letters are those of the table of systems."""
    means = {row.place: row.primary.interval for row in table.rows}
    dots = [
        Dot(
            place=point.place,
            name=point.system,
            x=point.cost,
            y=point.quality,
            on_front=point.on_front,
            interval=_ends(means[point.place]),
            chosen=table.rows[point.place - 1].chosen,
        )
        for point in trade.points
    ]
    note = table.measures[0]
    return ScatterChart(
        tuple(dots),
        Axis(trade.axis, trade.say, log=True, higher_is_better=False),
        Axis(note.label, say.score, log=False, higher_is_better=note.higher_is_better),
    )


def _ends(interval: Interval) -> tuple[float, float] | None:
    return None if interval.low is None or interval.high is None else (interval.low, interval.high)
