"""The input of scoring: judgments and a run as mappings of string ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from numbers import Integral, Real

from bakeoff.errors import DataError
from bakeoff.measures.conventions import Conventions
from bakeoff.measures.names import Measure
from bakeoff.storage.ranking_files import Judgments, RunFileRow


@dataclass(frozen=True, slots=True)
class Task:
    """What to score, and how."""

    judgments: Judgments
    run: RunFileRow
    queries: tuple[str, ...]
    measures: tuple[Measure, ...]
    conventions: Conventions

    def results(self, query: str) -> Mapping[str, float]:
        """Scores of a query's results; empty if it has none."""
        return self.run.by_query.get(query, {})

    def judged_grades(self, query: str) -> Mapping[str, int]:
        """Grades of a query's judged items; empty if it has none."""
        return self.judgments.get(query, {})


def scored_order(task: Task, query: str) -> list[str]:
    """Items of a query in scored order; without ranks by score, ties in input order."""
    scores = task.results(query)
    for item, value in scores.items():
        # The exact type is the common case, and faster to test than an abstract class.
        if (type(value) is not float and not isinstance(value, Real)) or isnan(value):
            raise DataError(f"query {query!r}, item {item!r}: the score is {value!r}; it must be a number.")
    if task.conventions.order == "score_id":
        return sorted(scores, key=lambda item: (scores[item], item), reverse=True)
    return list(scores) if task.run.ordered else sorted(scores, key=scores.__getitem__, reverse=True)


def check_grades(query: str, judged: Mapping[str, object]) -> None:
    """Raise for grades that are not whole numbers."""
    for item, grade in judged.items():
        if type(grade) is not int and not isinstance(grade, Integral):
            raise DataError(
                f"query {query!r}, item {item!r}: the grade is {grade!r}; grades are whole numbers."
            )
