"""S4's figures of a run: measures by short name, the compared pair, and the decision."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.presets.decisions import leading_pair, s4_case
from bakeoff.presets.export_context import ExportContext
from bakeoff.presets.goldsql.decision import choose_s4
from bakeoff.stats.comparison import PairComparison

MEASURES = {
    "mrr": ("RR", None),
    "hit_at_1": ("Hit", 1),
    "hit_at_5": ("Hit", 5),
    "hit_at_10": ("Hit", 10),
    "precision_at_5": ("P", 5),
    "recall_at_10": ("R", 10),
    "ndcg_at_10": ("nDCG", 10),
}
LIFT = ("SemLift", 10)


def measures_of(material: ExportContext) -> dict[str, str | None]:
    """The measure behind each of S4's short names, if the run has it."""
    return {alias: material.pick(*name) for alias, name in MEASURES.items()}


def pair_of(material: ExportContext) -> PairComparison | None:
    """The requested pair, or the two leaders, the larger index first; None with fewer than two systems."""
    measure = material.pick(*MEASURES["mrr"])
    if len(material.systems) < 2 or measure is None:
        return None
    return material.result.compare(measure).pair(*(material.pair or leading_pair(material.result, measure)))


def decision_of(material: ExportContext, pair: PairComparison | None) -> str:
    """A model's name, hybrid or inconclusive: by S4-71's rule, else by S4-72's, which reads the review."""
    if pair is None:
        return "inconclusive"
    case = s4_case(material.result, pair.a, pair.b, material.pick(*MEASURES["mrr"]) or "")
    choice = choose_s4(case)
    return material.slugs.get(choice, choice)


def lifts_of(material: ExportContext, system: str) -> dict[str, float | None]:
    """Semantic lift of each judged query."""
    return material.values(system, material.pick(*LIFT))


def lift_means(material: ExportContext, systems: Sequence[str]) -> dict[str, float | None]:
    """Mean semantic lift on the queries that are judged completely for all these systems."""
    lifts = {system: lifts_of(material, system) for system in systems}
    common = [
        row["query_id"]
        for row in material.queries
        if all(lifts[system][row["query_id"]] is not None for system in systems)
    ]
    return {system: mean_of([lifts[system][query] for query in common]) for system in systems}


def reviewed_systems(material: ExportContext) -> list[str]:
    """The systems with a completely reviewed query."""
    names = [row["system"] for row in material.systems]
    return [name for name in names if any(v is not None for v in lifts_of(material, name).values())]


def latency_of(material: ExportContext, system: str) -> float | None:
    """The mean time of a query, in milliseconds."""
    return mean_of([step.total for step in material.steps(system).values()])


def mean_of(values: list[float | None]) -> float | None:
    """The mean of the known values."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def as_yes_no(value: float | None) -> bool | None:
    """Whether there was a hit."""
    return None if value is None else value > 0
