"""Two runs as one comparison: the systems and queries they share, if they were scored alike."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bakeoff.analysis import Result
from bakeoff.errors import ComparisonError
from bakeoff.measures.conventions import Conventions, check_same

if TYPE_CHECKING:
    from bakeoff.stats.comparison import Comparison, ScoreMatrix


def check_comparable(one: Result, other: Result, *, allow_mixed: bool = False) -> tuple[str, ...]:
    """Refuse results made under different conventions, unless mixing them is allowed; returns what differs."""
    left, right = (Conventions.from_dict(result.record.conventions) for result in (one, other))
    return check_same(left, right, allow_mixed=allow_mixed)


def across(
    one: Result, other: Result, measure: str | None = None, *, allow_mixed: bool = False
) -> Comparison:
    """The systems two runs share, as `system @ run`, paired by the queries they share (F24)."""
    from bakeoff.stats.compare import compare as compare_systems

    check_comparable(one, other, allow_mixed=allow_mixed)
    name = measure or one.record.primary
    matrix = joined(one.matrix(name), other.matrix(name), one.record.run, other.record.run)
    return compare_systems(matrix, one.record.seed)


def joined(left: ScoreMatrix, right: ScoreMatrix, first: str, second: str) -> ScoreMatrix:
    """One matrix of two runs; a query that only one has is not computed for the other."""
    import numpy as np

    if left.measure != right.measure:
        raise ComparisonError(
            f"the runs measured {left.measure} and {right.measure}. Compare one and the same measure."
        )
    shared = [system for system in left.systems if system in right.systems]
    if not shared:
        raise ComparisonError("the runs share no system. Compare runs of the same experiment.")
    queries = tuple(dict.fromkeys((*left.queries, *right.queries)))
    categories = {
        query: category
        for matrix in (left, right)
        for query, category in zip(matrix.queries, matrix.categories, strict=bool(matrix.categories))
    }
    clusters = {
        query: cluster
        for matrix in (right, left)
        for query, cluster in zip(matrix.queries, matrix.clusters, strict=bool(matrix.clusters))
    }
    rows = []
    for matrix in (left, right):
        place = {query: i for i, query in enumerate(matrix.queries)}
        for system in shared:
            row = matrix.values[matrix.systems.index(system)]
            rows.append([row[place[query]] if query in place else np.nan for query in queries])
    names = tuple(f"{system} @ {run}" for run in (first, second) for system in shared)
    return replace(
        left,
        systems=names,
        queries=queries,
        values=np.array(rows, dtype=float),
        categories=tuple(categories.get(query, "") for query in queries),
        structural={**left.structural, **right.structural},
        clusters=tuple(clusters.get(query, f"query {query}") for query in queries) if clusters else (),
    )
