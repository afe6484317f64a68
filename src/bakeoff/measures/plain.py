"""Scores small inputs in plain Python: below a few thousand results, importing numpy costs more than scoring."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from bakeoff.measures.definitions import Bounds
from bakeoff.measures.names import Measure
from bakeoff.measures.reference import RankedGrades, bounds, score, supports
from bakeoff.measures.result import Column, Evaluation, OmittedQuery
from bakeoff.measures.task import Task, check_grades, scored_order

SMALL = 5_000


def evaluate_plain(task: Task) -> Evaluation | None:
    """The result, or None if the input is large or has ties, which need arrays."""
    size = sum(len(task.results(query)) for query in task.queries)
    if size > SMALL or not all(supports(measure) for measure in task.measures):
        return None
    orders = [scored_order(task, query) for query in task.queries]
    if any(_has_ties(task, query, order) for query, order in zip(task.queries, orders, strict=True)):
        return None
    return _score(task, orders)


def _has_ties(task: Task, query: str, order: list[str]) -> bool:
    scores = [task.results(query)[item] for item in order]
    if task.conventions.score_precision == "single":
        # Scores this close may be equal in single precision; the vectorised code decides.
        return any(abs(a - b) <= 2e-7 * max(abs(a), abs(b), 1e-30) for a, b in pairwise(scores))
    return any(a == b for a, b in pairwise(scores))


def _score(task: Task, orders: list[list[str]]) -> Evaluation:
    rows: list[RankedGrades] = []
    left: list[OmittedQuery] = []
    for query, order in zip(task.queries, orders, strict=True):
        judged = task.judged_grades(query)
        check_grades(query, judged)
        ranked = RankedGrades(
            [judged.get(item) for item in order], list(judged.values()), task.conventions.rel
        )
        rows.append(ranked)
        left += [OmittedQuery(query, reason) for reason in _reasons(ranked, task)]
    columns = tuple(tuple(_value(ranked, measure, task) for ranked in rows) for measure in task.measures)
    ends = cache(lambda: _ends(rows, task))
    return Evaluation(
        queries=task.queries,
        measures=task.measures,
        columns=columns,
        ends=ends,
        excluded=tuple(left),
        conventions=task.conventions,
        ties={},
    )


def _value(ranked: RankedGrades, measure: Measure, task: Task) -> float | None:
    """Value of one query; None if it is left out."""
    if not ranked.grades and task.conventions.no_results == "exclude":
        return None
    if not measure.definition.needs_relevant:
        return score(ranked, measure)
    if not ranked.judged:
        return None
    if ranked.relevant(measure) == 0:
        return None if task.conventions.empty_truth == "exclude" else 0.0
    return score(ranked, measure)


def _ends(rows: list[RankedGrades], task: Task) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    """Lower and upper values, by measure."""
    pairs = [[_pair(ranked, measure, task) for ranked in rows] for measure in task.measures]
    lower, upper = (tuple(tuple(pair[end] for pair in column) for column in pairs) for end in (0, 1))
    return lower, upper


def _pair(ranked: RankedGrades, measure: Measure, task: Task) -> tuple[float, float] | tuple[None, None]:
    if measure.definition.bounds is Bounds.NONE or _value(ranked, measure, task) is None:
        return None, None
    if ranked.relevant(measure) == 0:
        return 0.0, 0.0
    return bounds(ranked, measure) or (None, None)


def _reasons(ranked: RankedGrades, task: Task) -> Iterator[str]:
    if not ranked.grades and task.conventions.no_results == "exclude":
        yield "no results"
    elif not ranked.judged:
        yield "no judgments"
    elif task.conventions.empty_truth == "exclude":
        thresholds = sorted(
            {ranked.threshold(measure) for measure in task.measures if measure.definition.needs_relevant}
        )
        yield from (f"no item of grade {rel} or higher" for rel in thresholds if max(ranked.judged) < rel)
