"""What a verdict is made from: the comparison, the costs, the limits and the thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bakeoff.stats.comparison import Comparison
from bakeoff.stats.interaction import Interaction
from bakeoff.stats.wording import bytes_text


@dataclass(frozen=True, slots=True)
class Costs:
    """p95 latency in ms, index size and memory in bytes, money per 1,000 queries; None is not measured."""

    p95_ms: float | None = None
    index_bytes: float | None = None
    cost: float | None = None
    memory_bytes: float | None = None
    p95_between: tuple[float, float] | None = None
    """The 95 % interval of the p95; None is not known."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The most a system may cost, in the units of `Costs`; None is no limit."""

    p95_ms: float | None = None
    index_bytes: float | None = None
    cost: float | None = None
    memory_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class CostKind:
    """One way in which systems cost, in words."""

    name: str
    words: str

    def of(self, costs: Costs | Limits) -> float | None:
        """The value of this kind."""
        value: float | None = getattr(costs, self.name)
        return value

    def text(self, value: float) -> str:
        """The value with its unit."""
        if self.name == "p95_ms":
            return f"{value:.3g} ms"
        return bytes_text(value) if self.name.endswith("_bytes") else f"{value:.3g} per 1,000 queries"


COST_KINDS = (
    CostKind("cost", "cost"),
    CostKind("p95_ms", "p95 latency"),
    CostKind("index_bytes", "index size"),
    CostKind("memory_bytes", "memory"),
)
"""In the order in which they decide between systems of equal quality."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Where the rules draw their lines; differences in points of the primary measure."""

    alpha: float = 0.05
    margin: float = 0.02
    fewest_queries: int = 10
    cheaper_by: float = 0.10
    least_difference: float = 0.01


DEFAULT_THRESHOLDS = Thresholds()


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything a verdict may use; what is not here cannot enter its sentence."""

    comparison: Comparison
    interactions: tuple[Interaction, ...] = ()
    lift: Comparison | None = None
    costs: Mapping[str, Costs] = field(default_factory=dict)
    limits: Limits = Limits()
    thresholds: Thresholds = DEFAULT_THRESHOLDS


def beyond_limits(evidence: Evidence, system: str) -> str | None:
    """Why a system may not be used under the limits, or None."""
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
class Cheapest:
    """The cheapest of several systems and what decided it."""

    system: str
    kind: CostKind
    value: float
    next_value: float


def cheapest(evidence: Evidence, systems: tuple[str, ...]) -> Cheapest | None:
    """The cheapest system by the first cost known for all that sets one clearly apart, or None."""
    for kind in COST_KINDS:
        known = [(kind.of(evidence.costs.get(system, Costs())), system) for system in systems]
        ordered = sorted((value, system) for value, system in known if value is not None)
        if len(ordered) < len(systems) or len(ordered) < 2:
            continue
        (first, system), (second, _) = ordered[0], ordered[1]
        clear = second > first * (1 + evidence.thresholds.cheaper_by)
        if clear and all(_beyond_noise(evidence, kind, system, other) for _, other in ordered[1:]):
            return Cheapest(system, kind, first, second)
    return None


def _beyond_noise(evidence: Evidence, kind: CostKind, cheaper: str, other: str) -> bool:
    """Whether a p95 is lower by more than its few samples leave open; sizes and prices are no samples."""
    low, high = (evidence.costs[system].p95_between for system in (cheaper, other))
    return kind.name != "p95_ms" or low is None or high is None or low[1] < high[0]
