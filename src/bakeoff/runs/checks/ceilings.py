"""The best mean any system could reach, and whether the targets lie below it (F05, C-26)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bakeoff.measures.arrays import JudgmentArrays
from bakeoff.measures.ceilings import ceiling, describe_exhausted_depth, fixed_ceiling, items_within
from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import Measure, parse
from bakeoff.measures.neighbours import TRUE_NEIGHBOURS
from bakeoff.measures.sections import matches
from bakeoff.pipeline.scoring.scorable import searches_vectors, unscorable_reason
from bakeoff.runs.checks.blocking import chunk_unit_conflict
from bakeoff.runs.checks.context import ValidationContext, chunkers
from bakeoff.runs.checks.findings import Ceiling, Finding
from bakeoff.truth.rules import section_titles
from bakeoff.types import Unit

IMPOSSIBLE = (RequiredInput.LABELS,)
"""Inputs that a run lacks until people have reviewed it."""


class Ceilings:
    """Best value of each query on a measure, by chunker."""

    def __init__(self, material: ValidationContext) -> None:
        self._material = material
        self._known: dict[Measure, dict[str, np.ndarray]] = {}

    def values(self, measure: Measure) -> dict[str, np.ndarray]:
        """NaN for queries without a value; empty if the best value can't be known beforehand."""
        if measure not in self._known:
            self._known[measure] = self._values(measure)
        return self._known[measure]

    def scorable(self, measure: Measure) -> int:
        """Number of queries with a value on a measure, under the chunker with most."""
        if found := self.values(measure):
            return max(_count(values) for values in found.values())
        if measure.needs is RequiredInput.JUDGMENTS:
            counts = self._material.relevant(measure.unit or Unit.DOCUMENT, measure.rel).values()
            return max((int((each > 0).sum()) for each in counts), default=0)
        return 0 if measure.needs in IMPOSSIBLE else int(self._has_value(measure.needs).sum())

    def rows(self, measure: Measure) -> list[Ceiling]:
        """Best means, one per chunker if they differ; None if unknown."""
        rows = [
            Ceiling(str(measure), label, mean_of_known(values), _count(values))
            for label, values in self.values(measure).items()
        ]
        alike = {(row.best, row.queries) for row in rows}
        if not rows:
            return [Ceiling(str(measure), "", None, self.scorable(measure))]
        return [Ceiling(str(measure), "", *next(iter(alike)))] if len(alike) == 1 else rows

    def _values(self, measure: Measure) -> dict[str, np.ndarray]:
        needs = measure.needs
        if needs is RequiredInput.JUDGMENTS:
            return self._by_judgments(measure)
        if needs is RequiredInput.SECTIONS:
            return self._by_sections(measure)
        best = _of_neighbours(measure) if measure.unit is Unit.VECTOR else fixed_ceiling(measure)
        if best is None or needs in IMPOSSIBLE:
            return {}
        return {"": np.where(self._has_value(needs), best, np.nan)}

    def _reachable(self, measure: Measure, query: np.ndarray, item: np.ndarray) -> np.ndarray | None:
        """Mask of judged documents that pass a query's filter; None if all do, or at other units."""
        left = self._material.filtered if measure.unit in (None, Unit.DOCUMENT) else {}
        if not left:
            return None
        there = np.ones(len(query), bool)
        for place, kept in left.items():
            own = query == place
            there[own] = kept[item[own]]
        return there

    def _by_judgments(self, measure: Measure) -> dict[str, np.ndarray]:
        ceilings, plan = {}, self._material.plan
        depth = max(system.depth or plan.settings.depth for system in plan.systems)
        unit = measure.unit or Unit.DOCUMENT
        for label, judged in self._material.unit_judgments(unit, measure.source).items():
            values = ceiling(
                measure,
                JudgmentArrays(judged.query, judged.item, judged.grade),
                conventions=self._material.conventions,
                queries=np.arange(len(self._material.queries.queries)),
                depth=items_within(depth, measure.unit),
                reachable=self._reachable(measure, judged.query, judged.item),
            )
            if values is not None:
                ceilings[label] = values
        return ceilings

    def _has_value(self, needs: RequiredInput) -> np.ndarray:
        """Mask of queries with what a measure needs: vectors, no right answer, or spans."""
        queries = self._material.queries.queries
        if needs is RequiredInput.NEIGHBOURS:
            return np.full(len(queries), any(map(searches_vectors, self._material.plan.systems)))
        if needs is RequiredInput.TOP_SCORES:
            return np.array([query.negative for query in queries])
        if needs is RequiredInput.TOKENS:
            return np.ones(len(queries), bool)
        table = self._material.truth.judgments
        spans = table["query"].to_numpy()[table["start"].is_valid().to_numpy(zero_copy_only=False)]
        return np.isin(np.arange(len(queries)), spans)

    def _by_sections(self, measure: Measure) -> dict[str, np.ndarray]:
        """Number of chunks in the target sections, which bounds how many can be in the top k."""
        return {
            label: self._section_values(measure, chunking.chunks["section"].to_pylist())
            for label, chunking in self._material.chunkings.items()
        }

    def _section_values(self, measure: Measure, sections: list[str]) -> np.ndarray:
        conventions = self._material.conventions
        names, counts = np.unique(np.array(sections, dtype=object), return_counts=True)
        values = np.full(len(self._material.queries.queries), np.nan)
        for place, rule in enumerate(self._material.queries.rules):
            titles, universal = section_titles(rule, conventions.universal_sections)
            accepted = (*titles, *universal) if measure.name == "SecAcc" else titles
            if titles:
                there = sum(
                    c for n, c in zip(names, counts, strict=True) if matches(n, accepted, conventions)
                )
                values[place] = min(1.0, there / (measure.k or 1))
        return values


def refused_measures(material: ValidationContext, ceilings: Ceilings) -> dict[str, Finding]:
    """Measures that stop a run, by name: those it can't score, and a primary one that can't decide anything."""
    plan = material.plan
    reasons = dict(_unknown_sources(material)) | dict(unscorable_reason(plan, material.chunk_counts))
    labels = [part.label for part in chunkers(plan)]
    primary = parse(plan.primary)
    if why := chunk_unit_conflict(primary, labels):
        reasons.setdefault(plan.primary, why)
    # a failed chunker is reported separately: without its chunks the truth is unknown
    if len(material.chunkings) in (0, len(labels)) and _has_no_value(primary, ceilings):
        reasons.setdefault(plan.primary, _no_value(primary))
    places = {name: _place(material, at) for at, name in enumerate(plan.measures)}
    return {name: Finding("error", "measure", places[name], why) for name, why in reasons.items()}


def _unknown_sources(material: ValidationContext) -> Iterator[tuple[str, str]]:
    """Measures by a truth source that no judgment has (listing those that exist), or that use no judgments."""
    sources = sorted(material.truth.judgments["source"].unique().to_pylist())
    for name in material.plan.measures:
        measure = parse(name)
        if measure.source and measure.needs not in (RequiredInput.JUDGMENTS, RequiredInput.SPANS):
            yield name, f"{measure.name} uses {measure.needs}, which have no source. Remove source=."
        elif measure.source and measure.source not in sources:
            yield (
                name,
                f'no judgment has the source "{measure.source}". Sources: {", ".join(sources) or "none"}.',
            )


def check_measures(material: ValidationContext, ceilings: Ceilings) -> Iterator[Finding]:
    """Measures that stop a run, have no value on this truth, or look deeper than the retrieval depth."""
    depth = material.plan.settings.depth
    refused = refused_measures(material, ceilings)
    yield from refused.values()
    for position, name in enumerate(material.plan.measures):
        measure, where = parse(name), _place(material, position)
        if name not in refused and _has_no_value(measure, ceilings):
            yield Finding("warning", "measure", where, _no_value(measure))
        if why := describe_exhausted_depth(measure, material.corpus.documents.num_rows):
            yield Finding("note" if position else "warning", "depth", where, why)
        elif measure.k is not None and measure.k > depth:
            text = (
                f"{name} looks at {measure.k} results, but depth is {depth}. Set depth: {measure.k} or more."
            )
            yield Finding("warning", "depth", where, text)


def _place(material: ValidationContext, position: int) -> str:
    return material.where(("measures", "also", position - 1) if position else ("measures", "primary"))


def _has_no_value(measure: Measure, ceilings: Ceilings) -> bool:
    return measure.needs is not RequiredInput.TOKENS and not ceilings.scorable(measure)


def _no_value(measure: Measure) -> str:
    return f"{measure} has no value for any query: {_lacking(measure)}. Remove it, or add such truth."


def _lacking(measure: Measure) -> str:
    needs = measure.needs
    if needs is RequiredInput.SECTIONS:
        return "no query's truth names sections"
    if needs is RequiredInput.TOP_SCORES:
        return "no query is negative"
    if needs is RequiredInput.NEIGHBOURS:
        return "no system searches by vector"
    if needs is RequiredInput.SPANS or measure.unit is Unit.ANSWER:
        return "no query's truth locates the answer in a document"
    return f"no {measure.unit} is relevant to any"


def _of_neighbours(measure: Measure) -> float | None:
    """Best value if each of a query's 100 exact neighbours is relevant."""
    if measure.definition.needs is not RequiredInput.JUDGMENTS:
        return fixed_ceiling(measure)
    one = np.ones(TRUE_NEIGHBOURS, np.int64)
    best = ceiling(measure, JudgmentArrays(one, np.arange(TRUE_NEIGHBOURS), one))
    return None if best is None else float(best[0])


def mean_of_known(values: np.ndarray) -> float | None:
    """Mean of the known values; None if there are none."""
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else None


def _count(values: np.ndarray) -> int:
    return int((~np.isnan(values)).sum())
