"""Compares the targets of an experiment, its preset and its query file with the best mean any system could
reach (C-26)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bakeoff.errors import MeasureError
from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import Measure, parse
from bakeoff.runs.checks.ceilings import Ceilings, mean_of_known
from bakeoff.runs.checks.context import ValidationContext
from bakeoff.runs.checks.findings import Finding, TargetCheck
from bakeoff.runs.checks.text import name_some
from bakeoff.runtime.count_text import count
from bakeoff.truth.minimums import accuracy_measure, accuracy_minimum
from bakeoff.types import Unit

EXPERIMENT = "experiment"


@dataclass(frozen=True, slots=True)
class RequestedTarget:
    """A target before it is checked; `query` is its index, None for a target over all queries."""

    measure: Measure
    value: float
    where: str
    origin: str
    query: int | None = None


def check_targets(material: ValidationContext, ceilings: Ceilings) -> tuple[list[TargetCheck], list[Finding]]:
    """Check every target against the best possible mean; the experiment's own must be reachable."""
    targets, findings = [], []
    requested, wrong = _collect_targets(material)
    for each in requested:
        best = _best(ceilings, each)
        if best is None:
            continue
        higher = each.measure.definition.higher_is_better
        reachable = best >= each.value - 1e-9 if higher else best <= each.value + 1e-9
        of = "" if each.query is None else material.queries.queries[each.query].id
        targets.append(TargetCheck(str(each.measure), each.value, best, each.origin, of, reachable))
        if not reachable:
            findings.append(_unreachable(material, each, best))
    return targets, [*wrong, *findings]


def _collect_targets(material: ValidationContext) -> tuple[list[RequestedTarget], list[Finding]]:
    """Targets of experiment, preset and query file; unknown measures are findings."""
    found, wrong = [], []
    for name, value in material.plan.settings.targets.items():
        where = material.where(("targets", name))
        try:
            found.append(RequestedTarget(_at_unit(material, parse(name)), value, where, EXPERIMENT))
        except MeasureError as exc:
            wrong.append(Finding("error", "target", where, str(exc)))
    own = {each.measure for each in found}
    if material.preset is not None:
        origin, where = f"preset {material.preset.name}", material.where(("preset",))
        targets = ((parse(target.measure), target) for target in material.preset.targets)
        found += [RequestedTarget(m, t.good, where, origin) for m, t in targets if m not in own]
    return [*found, *_minimums(material)], wrong


def _minimums(material: ValidationContext) -> Iterator[RequestedTarget]:
    """Minimum section accuracies that the query file sets for single queries."""
    name = accuracy_measure(material.plan.measures)
    for place, query in enumerate(material.queries.queries if name else ()):
        if (least := accuracy_minimum(query.tags)) is not None:
            where = material.queries.where(place)
            yield RequestedTarget(parse(name or ""), least, where, material.queries.name, place)


def _at_unit(material: ValidationContext, measure: Measure) -> Measure:
    """A target's measure at the unit the experiment uses, else by document."""
    if measure.unit is not None or measure.definition.needs is not RequiredInput.JUDGMENTS:
        return measure
    measured = [parse(name) for name in material.plan.measures]
    same = (each for each in measured if each.unit and measure.at_unit(each.unit) == each)
    return next(same, measure.at_unit(Unit.DOCUMENT))


def _best(ceilings: Ceilings, target: RequestedTarget) -> float | None:
    """Best mean over the target's queries, under the best chunker; None if there are none."""
    chosen = slice(None) if target.query is None else [target.query]
    means = [mean_of_known(values[chosen]) for values in ceilings.values(target.measure).values()]
    scored_means = [mean for mean in means if mean is not None]
    if not scored_means:
        return None
    return max(scored_means) if target.measure.definition.higher_is_better else min(scored_means)


def _unreachable(material: ValidationContext, target: RequestedTarget, best: float) -> Finding:
    measure = target.measure
    text = (
        f"{measure} ≥ {target.value:g} can't be reached: on this truth the best possible mean is {best:.3f}."
    )
    if not measure.definition.higher_is_better:
        text = f"{measure} ≤ {target.value:g} can't be reached: its lowest value is {best:.3f}."
    if measure.name == "P" and measure.definition.needs is RequiredInput.JUDGMENTS:
        text += f" {_short_of(material, measure, target.value)}"
    if target.origin == EXPERIMENT:
        return Finding("error", "target", target.where, f"{text} Lower it, or use another measure.")
    text = f"{target.origin}: {text} No system will reach it."
    return Finding("warning", "target", target.where, text)


def _short_of(material: ValidationContext, measure: Measure, value: float) -> str:
    """Number of queries with too few relevant items for a precision, and a measure without that ceiling."""
    needed = int(np.ceil(value * (measure.k or 1) - 1e-9))
    counts = max(material.relevant(measure.unit or Unit.DOCUMENT).values(), key=lambda each: int(each.sum()))
    few = [q.id for q, n in zip(material.queries.queries, counts, strict=True) if 0 < n < needed]
    have = "has" if len(few) == 1 else "have"
    return (
        f"{count(len(few), 'query', 'queries')} {have} fewer than {needed} relevant {measure.unit}s "
        f"({name_some(few)}). Rprec can always reach 1."
    )
