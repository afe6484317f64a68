"""Measures of judged results, by the conventions of their run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from bakeoff.measures.conventions import DEFAULT, Conventions
from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import Measure
from bakeoff.review.outcomes import ItemOutcome
from bakeoff.review.pool import ReviewPool
from bakeoff.types import Unit


@dataclass(frozen=True, slots=True)
class JudgedResult:
    """One returned result and the item that was judged for it."""

    item: str
    document: str = ""
    score: float = 0.0
    chunk: str = ""


JudgedRankings = Mapping[str, Mapping[str, Sequence[JudgedResult]]]
"""System → query → results by rank; a passage returned twice occurs twice."""
Scores = dict[tuple[str, str], dict[Measure, float | None]]
"""(system, completely judged query) → values; None if the conventions exclude the query."""


def judged_rankings(pool: ReviewPool) -> JudgedRankings:
    """The results of a pool by system and query, in the order of ranks."""
    rows: dict[str, dict[str, list[tuple[int, JudgedResult]]]] = {system: {} for system in pool.systems}
    for item in pool.items:
        for one in item.returned:
            result = JudgedResult(item.id, item.document_id, one.score, one.chunk_id)
            rows[one.system].setdefault(item.query_id, []).append((one.rank, result))
    return {
        system: {
            query: [one for _, one in sorted(ranked, key=lambda row: (row[0], row[1].chunk))]
            for query, ranked in by_query.items()
        }
        for system, by_query in rows.items()
    }


def can_judge(measure: Measure) -> bool:
    """Whether people's judgments of passages determine a measure."""
    return (
        measure.definition.needs is RequiredInput.JUDGMENTS
        and measure.budget is None
        and measure.unit in _UNITS
    )


_UNITS = (None, Unit.CHUNK, Unit.DOCUMENT, Unit.ANSWER)


def human_scores(
    rankings: JudgedRankings,
    settled: Mapping[str, ItemOutcome],
    measures: Iterable[Measure],
    conventions: Conventions = DEFAULT,
    documents: Mapping[str, str] | None = None,
) -> Scores:
    """The measures of every completely judged query; `documents` maps judged items to their documents."""
    judged = [measure for measure in measures if can_judge(measure)]
    grades: dict[str, dict[str, int]] = {}
    for one in settled.values():
        if one.relevance is not None:
            grades.setdefault(one.query, {})[one.item] = one.relevance
    scores: Scores = {}
    for system, by_query in rankings.items():
        for query, results in by_query.items():
            if results and all(_is_judged(one.item, settled) for one in results):
                scores[system, query] = _query_scores(
                    results, grades.get(query, {}), judged, conventions, documents or {}
                )
    return scores


def _is_judged(item: str, settled: Mapping[str, ItemOutcome]) -> bool:
    return item in settled and settled[item].relevance is not None


def _query_scores(
    results: Sequence[JudgedResult],
    grades: Mapping[str, int],
    measures: Sequence[Measure],
    conventions: Conventions,
    documents: Mapping[str, str],
) -> dict[Measure, float | None]:
    """All measures of one query; measures of the same unit share a pass."""
    values: dict[Measure, float | None] = {}
    groups: dict[tuple[Unit | None, bool], list[Measure]] = {}
    for measure in measures:
        by_chunks = conventions.k_counts == "chunks" or measure.definition.chunk_depth
        groups.setdefault((measure.unit, by_chunks), []).append(measure)
    for (unit, by_chunks), chosen in groups.items():
        names, ranks = _units(results, unit, conventions)
        judged = _unit_grades(names, results, grades, unit, documents)
        values |= _evaluate(names, ranks if by_chunks else None, judged, chosen, conventions)
    return values


def _units(
    results: Sequence[JudgedResult], unit: Unit | None, conventions: Conventions
) -> tuple[list[str], list[int]]:
    """The ranked units and the ranks of their first results; passages keep their places, repeats included."""
    order = list(results)
    if conventions.order == "score_id":
        order.sort(key=lambda one: (one.score, one.document, one.chunk), reverse=True)
    names: list[str] = []
    ranks: list[int] = []
    for rank, one in enumerate(order, start=1):
        name = _unit_name(one, rank, unit, names)
        if name not in names:
            names.append(name)
            ranks.append(rank)
    return names, ranks


def _unit_name(one: JudgedResult, rank: int, unit: Unit | None, before: Sequence[str]) -> str:
    if unit is Unit.DOCUMENT:
        return one.document
    repeated = unit is not Unit.ANSWER and one.item in before
    return f"{one.item}#{rank}" if repeated else one.item


def _unit_grades(
    names: Sequence[str],
    results: Sequence[JudgedResult],
    grades: Mapping[str, int],
    unit: Unit | None,
    documents: Mapping[str, str],
) -> dict[str, int]:
    """The grade of every judged unit of the query; a document has the highest grade of its passages."""
    if unit is not Unit.DOCUMENT:
        repeats = {name: grades[name.rpartition("#")[0]] for name in names if name not in grades}
        return {**grades, **repeats}
    all_documents = {**documents, **{one.item: one.document for one in results}}
    found: dict[str, int] = {}
    for item, grade in grades.items():
        if item in all_documents:
            found[all_documents[item]] = max(grade, found.get(all_documents[item], 0))
    return found


def _evaluate(
    names: Sequence[str],
    ranks: Sequence[int] | None,
    judged: Mapping[str, int],
    measures: Sequence[Measure],
    conventions: Conventions,
) -> dict[Measure, float | None]:
    import numpy as np

    from bakeoff.measures.arrays import JudgmentArrays, RankingArrays
    from bakeoff.measures.evaluate import evaluate

    number = {name: place for place, name in enumerate(dict.fromkeys((*names, *judged)))}
    rankings = RankingArrays(
        np.zeros(len(names), np.int32),
        np.array([number[name] for name in names], np.int64),
        -np.arange(len(names), dtype=np.float64),
        None if ranks is None else np.array(ranks, np.int64),
    )
    items = np.array([number[name] for name in judged], np.int64)
    grades = np.array(list(judged.values()), np.int8)
    truth = JudgmentArrays.from_columns(np.zeros(len(items), np.int32), items, grades)
    # the rows already follow the conventions
    rules = replace(conventions, order="served", score_precision="double")
    row = evaluate(rankings, truth, list(measures), conventions=rules, queries=np.zeros(1, np.int32)).values[
        0
    ]
    return {
        measure: None if value != value else float(value)  # noqa: PLR0124 - NaN is not computed
        for measure, value in zip(measures, row, strict=True)
    }
