"""S4's figures of a run: its measures by their short names, the pair it compares, and what it decides."""

from __future__ import annotations

from bakeoff.presetrules import s4_case
from bakeoff.report.exports.material import Material
from bakeoff.stats.comparison import PairComparison
from bakeoff.stats.decisions import DECISION_A, decide_s4

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


def measures_of(material: Material) -> dict[str, str | None]:
    """The measure behind each of S4's short names, where the run has it."""
    return {alias: material.pick(*name) for alias, name in MEASURES.items()}


def pair_of(material: Material) -> PairComparison | None:
    """The second system of the plan against the first, as MIKA against MiniLM; None with fewer than two."""
    systems = [row["system"] for row in material.systems]
    measure = material.pick(*MEASURES["mrr"])
    if len(systems) < 2 or measure is None:
        return None
    return material.result.compare(measure).pair(systems[1], systems[0])


def decision_of(material: Material, pair: PairComparison | None) -> str:
    """S4-71's rule: a model's name, hybrid or inconclusive."""
    if pair is None:
        return "inconclusive"
    measure = material.pick(*MEASURES["mrr"]) or ""
    choice = decide_s4(s4_case(material.result, pair.a, pair.b, measure), DECISION_A).choice
    return material.slugs.get(choice, choice)


def lifts_of(material: Material, system: str) -> dict[str, float | None]:
    """Semantic lift by query, of those that people judged."""
    return material.values(system, material.pick(*LIFT))


def latency_of(material: Material, system: str) -> float | None:
    """The mean time of a query, in milliseconds."""
    return mean_of([step.total for step in material.steps(system).values()])


def mean_of(values: list[float | None]) -> float | None:
    """The mean of what is known."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def yes(value: float | None) -> bool | None:
    """Whether a hit was made."""
    return None if value is None else value > 0
