"""The evidence for a verdict: the comparison, the costs, the limits and the thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bakeoff.stats.comparison import Comparison
from bakeoff.stats.interaction import Interaction
from bakeoff.stats.number_format import bytes_text
from bakeoff.stats.regret import Regret


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Latencies in ms, index size and memory in bytes, money per 1,000 queries; None if not measured."""

    p95_ms: float | None = None
    index_bytes: float | None = None
    cost: float | None = None
    memory_bytes: float | None = None
    p95_between: tuple[float, float] | None = None
    """95 % interval of the p95; None if unknown."""
    p50_ms: float | None = None
    p50_between: tuple[float, float] | None = None
    """95 % interval of the median, which needs fewer samples than the p95's."""
    tokens: float | None = None
    """Tokens of the results returned per query."""
    tokens_between: tuple[float, float] | None = None
    parts: tuple[str, ...] | None = None
    """What must run besides the program itself: model, server, reranker, second index."""

    def between(self, name: str) -> tuple[float, float] | None:
        """Interval of a latency; None for a cost without sampling noise."""
        return {"p95_ms": self.p95_between, "p50_ms": self.p50_between}.get(name)


@dataclass(frozen=True, slots=True)
class CostLimits:
    """The most a system may cost, in the units of `Costs`; None means unlimited."""

    p95_ms: float | None = None
    index_bytes: float | None = None
    cost: float | None = None
    memory_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class CostKind:
    """One kind of cost, with its wording."""

    name: str
    words: str

    def of(self, costs: Costs | CostLimits) -> float | None:
        """The value of this kind; medians have no limit."""
        value: float | None = getattr(costs, self.name, None)
        return value

    def text(self, value: float) -> str:
        """The value with its unit."""
        if self.name.endswith("_ms"):
            return f"{value:.3g} ms"
        return bytes_text(value) if self.name.endswith("_bytes") else f"{value:.3g} per 1,000 queries"


COST_KINDS = (
    CostKind("cost", "cost"),
    CostKind("p95_ms", "p95 latency"),
    CostKind("p50_ms", "median latency"),
    CostKind("index_bytes", "index size"),
    CostKind("memory_bytes", "memory"),
)
"""In order of precedence between systems of equal quality."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Thresholds of the rules; differences in points of the primary measure."""

    alpha: float = 0.05
    margin: float = 0.02
    fewest_queries: int = 10
    cheaper_by: float = 0.10
    least_difference: float = 0.01
    saturated: float = 0.90


DEFAULT_THRESHOLDS = Thresholds()


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything a verdict may use; nothing else can enter its sentence."""

    comparison: Comparison
    interactions: tuple[Interaction, ...] = ()
    lift: Comparison | None = None
    costs: Mapping[str, Costs] = field(default_factory=dict)
    limits: CostLimits = CostLimits()
    thresholds: Thresholds = DEFAULT_THRESHOLDS
    regrets: Mapping[str, Regret] = field(default_factory=dict)
    """What each eligible system would lose against the best; empty if no query is shared."""
    other_measures: tuple[Comparison, ...] = ()
    """The run's other quality measures, used if the primary one is saturated."""


def beyond_limits(evidence: Evidence, system: str) -> str | None:
    """Why the limits exclude a system, or None."""
    costs = evidence.costs.get(system, Costs())
    for kind in COST_KINDS:
        limit, value = kind.of(evidence.limits), kind.of(costs)
        if limit is None:
            continue
        if value is None:
            return f"{kind.words} was not measured, so the limit of {kind.text(limit)} cannot be checked"
        if value > limit:
            return f"{kind.words} {kind.text(value)} is over the limit of {kind.text(limit)}"
    return None


@dataclass(frozen=True, slots=True)
class CostStep:
    """One cost that excluded systems: the lowest value, and the excluded systems' values, ascending."""

    kind: CostKind
    lowest: float
    ruled_out: tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True)
class CostChoice:
    """The systems that remain after comparing costs, cheapest first, and the costs that excluded others."""

    left: tuple[str, ...]
    steps: tuple[CostStep, ...]

    @property
    def system(self) -> str:
        """The cheapest system by the first cost that decided."""
        return self.left[0]


def choose_by_cost(evidence: Evidence, systems: tuple[str, ...]) -> CostChoice:
    """Compare systems by one cost after another; a system is excluded if it is shown to cost more than the lowest.

    A system whose cost was not measured stays.
    """
    left, steps = systems, list[CostStep]()
    for kind in COST_KINDS:
        costs = [(kind.of(evidence.costs.get(system, Costs())), system) for system in left]
        ordered = sorted((value, system) for value, system in costs if value is not None)
        dearer = tuple(one for one in ordered[1:] if _costs_more(evidence, kind, ordered[0], one))
        if dearer:
            excluded = {system for _, system in dearer}
            names = [*(system for _, system in ordered), *left] if not steps else left
            left = tuple(system for system in dict.fromkeys(names) if system not in excluded)
            steps.append(CostStep(kind, ordered[0][0], dearer))
    return CostChoice(left, tuple(steps))


def cost_range(evidence: Evidence, kind: CostKind, systems: tuple[str, ...]) -> tuple[float, float] | None:
    """Lowest and highest known cost of a kind; None if fewer than two systems have one."""
    costs = [kind.of(evidence.costs.get(system, Costs())) for system in systems]
    values = [value for value in costs if value is not None]
    return (min(values), max(values)) if len(values) > 1 else None


def _costs_more(
    evidence: Evidence, kind: CostKind, lowest: tuple[float, str], other: tuple[float, str]
) -> bool:
    """Whether a cost is higher by the threshold and, for a latency, by more than its sampling noise."""
    low, high = (evidence.costs[system].between(kind.name) for _, system in (lowest, other))
    clear = other[0] > lowest[0] * (1 + evidence.thresholds.cheaper_by)
    return clear and (low is None or high is None or low[1] < high[0])
