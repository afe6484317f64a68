"""Small inputs in plain Python: below a few thousand results numpy's import costs more than the scoring."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from bakeoff.measures.conventions import Conventions
from bakeoff.measures.definitions import Bounds
from bakeoff.measures.names import Measure
from bakeoff.measures.result import LeftOut, Result
from bakeoff.measures.single import Ranked, bounds, relevant, score, supports
from bakeoff.measures.task import Task, check_grades, scored_order

SMALL = 5_000
Cell = tuple[float | None, float | None, float | None]


def evaluate_plain(task: Task) -> Result | None:
    """The result, or None where the input is large or has ties, which need arrays."""
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
        # Scores this near may be equal in single precision; the vectorised way decides.
        return any(abs(a - b) <= 2e-7 * max(abs(a), abs(b), 1e-30) for a, b in pairwise(scores))
    return any(a == b for a, b in pairwise(scores))


def _score(task: Task, orders: list[list[str]]) -> Result:
    rows, left = [], []
    for query, order in zip(task.queries, orders, strict=True):
        judged = task.judged(query)
        check_grades(query, judged)
        ranked = Ranked([judged.get(item) for item in order], list(judged.values()), task.conventions.rel)
        rows.append([_one(ranked, measure, task.conventions) for measure in task.measures])
        left += [LeftOut(query, reason) for reason in _reasons(ranked, task)]
    columns = [tuple(zip(*(cells[at] for cells in rows), strict=True)) for at in range(len(task.measures))]
    value, low, high = (tuple(column[layer] for column in columns) for layer in range(3))
    return Result(task.queries, task.measures, value, low, high, tuple(left), task.conventions, {})


def _one(ranked: Ranked, measure: Measure, conventions: Conventions) -> Cell:
    """Value, lower and upper of one query, None where it is left out."""
    if not ranked.grades and conventions.no_results == "exclude":
        return None, None, None
    if measure.name == "Judged":
        return score(ranked, measure), None, None
    empty = relevant(ranked, measure) == 0
    if not ranked.judged or (empty and conventions.empty_truth == "exclude"):
        return None, None, None
    low, high = (None, None) if empty else bounds(ranked, measure) or (None, None)
    if empty:
        return (0.0, 0.0, 0.0) if measure.definition.bounds is not Bounds.NONE else (0.0, None, None)
    return score(ranked, measure), low, high


def _reasons(ranked: Ranked, task: Task) -> Iterator[str]:
    if not ranked.grades and task.conventions.no_results == "exclude":
        yield "no results"
    elif not ranked.judged:
        yield "no judgments"
    elif task.conventions.empty_truth == "exclude":
        thresholds = sorted(
            {ranked.threshold(measure) for measure in task.measures if measure.name != "Judged"}
        )
        yield from (f"no item of grade {rel} or higher" for rel in thresholds if max(ranked.judged) < rel)
