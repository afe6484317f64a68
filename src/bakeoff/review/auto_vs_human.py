"""Automated, human-adjusted and combined figures side by side (S4-53), each with its number of queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bakeoff.errors import ComparisonError
from bakeoff.measures.conventions import DEFAULT, Conventions
from bakeoff.measures.names import Measure, parse
from bakeoff.review.human_scores import JudgedRankings, human_scores
from bakeoff.review.outcomes import ItemOutcome
from bakeoff.review.sheet_reader import Sheet
from bakeoff.runs.analysis import Result

Values = Mapping[tuple[str, str], float | None]
"""(system, query) → value; None if it cannot be computed."""
FOREIGN = {"mrr": "RR@10", "precision_at_10": "P@10", "hit_at_10": "Hit@10"}
"""Figures of other tools in review files → our measures with the same meaning."""


@dataclass(frozen=True, slots=True)
class SideMean:
    """A mean and its number of queries."""

    value: float | None
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoVsHuman:
    """One system on one measure: by rules, by people, and by people where they judged and rules elsewhere."""

    system: str
    measure: str
    category: str
    automated: SideMean
    human: SideMean
    combined: SideMean
    automated_same: SideMean
    """By rules, on the queries people judged: comparable with the human figure."""


def compare_auto_human(
    systems: Iterable[str],
    measure: str,
    automated: Values,
    human: Values,
    categories: Mapping[str, str],
) -> list[AutoVsHuman]:
    """All systems over all queries and by category; people's figures count where every system has one."""
    names = list(systems)
    shared = {q for _, q in human if all((name, q) in human for name in names)}
    queries = list(dict.fromkeys(query for _, query in (*automated, *human)))
    groups: dict[str, list[str]] = {"": queries}
    for query in queries:
        if categories.get(query):
            groups.setdefault(categories[query], []).append(query)
    return [
        _side(
            name=name,
            measure=measure,
            category=label,
            queries=members,
            automated=automated,
            human=human,
            shared=shared,
        )
        for label, members in groups.items()
        for name in names
    ]


def human_values(
    rankings: JudgedRankings,
    settled: Mapping[str, ItemOutcome],
    measure: str,
    conventions: Conventions = DEFAULT,
    documents: Mapping[str, str] | None = None,
) -> dict[tuple[str, str], float | None]:
    """The measure of every completely judged query by the run's conventions; None if they exclude the query."""
    parsed = parse(measure)
    scores = human_scores(rankings, settled, [parsed], conventions, documents)
    return {place: values[parsed] for place, values in scores.items() if parsed in values}


def run_values(result: Result, measure: str) -> dict[tuple[str, str], float | None]:
    """The scores by a run's rules."""
    matrix = result.matrix(measure)
    return {
        (system, query): None if value != value else float(value)  # noqa: PLR0124 - NaN is not computed
        for system, row in zip(matrix.systems, matrix.without_structural(), strict=True)
        for query, value in zip(matrix.queries, row, strict=True)
    }


def sheet_values(sheets: Iterable[Sheet], name: str) -> dict[tuple[str, str], float | None]:
    """The scores by another tool's rules, from its files."""
    return {
        (sheet.system, sheet.query_id): sheet.automated[name] for sheet in sheets if name in sheet.automated
    }


def matching_measure(measure: str) -> Measure:
    """The measure; SettingError if human labels do not determine it."""
    parsed = parse(measure)
    if parsed.definition.needs.value != "judgments":
        raise ComparisonError(f"{measure} does not use judgments, so a review does not affect it.")
    return parsed


def _side(
    name: str,
    measure: str,
    category: str,
    queries: Iterable[str],
    automated: Values,
    human: Values,
    shared: set[str],
) -> AutoVsHuman:
    members = list(queries)
    judged = [q for q in members if q in shared]
    rest = [q for q in members if q not in shared]
    by_people = [human[name, q] for q in judged]
    by_rules = [automated.get((name, q)) for q in members]
    both = [*by_people, *(automated.get((name, q)) for q in rest)]
    same = [automated.get((name, q)) for q in judged]
    return AutoVsHuman(
        system=name,
        measure=measure,
        category=category,
        automated=_mean(by_rules),
        human=_mean(by_people),
        combined=_mean(both),
        automated_same=_mean(same),
    )


def _mean(values: Iterable[float | None]) -> SideMean:
    there = [value for value in values if value is not None]
    return SideMean(sum(there) / len(there) if there else None, len(there))
