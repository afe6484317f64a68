"""How far a model's suggestions agree with people, on the passages both judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bakeoff.review.agreement import Coefficient, kappa, raw_agreement
from bakeoff.review.outcomes import ItemOutcome
from bakeoff.review.suggestions import PEOPLE, GradeStability

HIGHEST = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAgreement:
    """Cohen's kappa on relevant or not, weighted kappa on grades where people gave some, and who found more relevant.

    `suggested` counts the model's grades, `missing` what it was asked and gave no grade for.
    """

    model: str
    suggested: int
    missing: int
    same: float | None
    relevant: Coefficient
    graded: Coefficient
    only_model: int
    only_people: int
    stability: GradeStability


def model_agreement(
    model: str,
    grades: Mapping[str, int],
    missing: int,
    settled: Mapping[str, ItemOutcome],
    stability: GradeStability,
) -> ModelAgreement:
    """The model against people's outcomes; what rules filled in is not a judgment by a person."""
    people = {item: one for item, one in settled.items() if one.state in PEOPLE and one.relevance is not None}
    both = sorted(set(people) & set(grades))
    theirs = [float((people[item].relevance or 0) > 0) for item in both]
    ours = [float(grades[item] > 0) for item in both]
    ranked = [item for item in both if people[item].grade is not None]
    return ModelAgreement(
        model=model,
        suggested=len(grades),
        missing=missing,
        same=raw_agreement(ours, theirs),
        relevant=kappa(ours, theirs),
        graded=kappa(
            [float(grades[item]) for item in ranked],
            [float(min(people[item].relevance or 0, HIGHEST)) for item in ranked],
            "linear",
        ),
        only_model=sum(our > their for our, their in zip(ours, theirs, strict=True)),
        only_people=sum(our < their for our, their in zip(ours, theirs, strict=True)),
        stability=stability,
    )
