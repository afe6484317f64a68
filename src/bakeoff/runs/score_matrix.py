"""One measure's stored scores as a matrix of systems × queries, ready for the statistics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypedDict

from bakeoff.measures.ceilings import fixed_ceiling
from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import parse
from bakeoff.stats.arrays import FloatArray
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.loss import CEILING

if TYPE_CHECKING:
    from bakeoff.runs.analysis import Result


class QueryRow(TypedDict):
    """The columns of the queries table that the statistics need."""

    query_id: str
    category: str | None
    negative: bool
    cluster: str | None


def score_matrix(result: Result, measure: str) -> ScoreMatrix:
    """Scores of a measure by its full name; missing scores are NaN, and negative queries are structural gaps."""
    import numpy as np

    definition = parse(measure).definition
    rows: list[QueryRow] = result.queries.to_pylist()
    queries = tuple(row["query_id"] for row in rows)
    values = np.full((len(result.done), len(queries)), np.nan)
    column = {query: i for i, query in enumerate(queries)}
    line = {system: i for i, system in enumerate(result.done)}
    for system, query, value in _values(result, measure):
        if value is not None and system in line and query in column:
            values[line[system], column[query]] = value
    excluded = {one.query_id: one.reason for one in result.record.excluded if one.measure == measure}
    return ScoreMatrix(
        systems=result.done,
        queries=queries,
        values=values,
        measure=measure,
        categories=tuple(row["category"] or "" for row in rows),
        structural=_not_asked(rows, definition.needs),
        missing={(system, query): why for query, why in excluded.items() for system in result.done},
        higher_is_better=definition.higher_is_better,
        bounds=(definition.low, definition.high) if definition.high < float("inf") else None,
        clusters=_clusters(rows),
        best=_best_possible(result, measure, line, column),
    )


def _best_possible(result: Result, measure: str, line: dict[str, int], column: dict[str, int]) -> FloatArray:
    """Best possible value of each score on this truth: P@5 with one right document is at most .2.

    Stored by the run for its primary measure; for others known only if it doesn't depend on the truth.
    """
    import numpy as np
    import pyarrow.compute as pc

    fixed = fixed_ceiling(parse(measure))
    best = np.full((len(line), len(column)), np.nan if fixed is None else fixed)
    if measure == result.record.primary:
        rows = result.losses.filter(pc.equal(result.losses["step"], CEILING)).to_pylist()
        for row in rows:
            if row["system"] in line and row["query_id"] in column and row["reachable"] is not None:
                best[line[row["system"]], column[row["query_id"]]] = row["reachable"]
    return best


def _values(result: Result, measure: str) -> Iterable[tuple[str, str, float | None]]:
    import pyarrow.compute as pc

    rows = result.scores.filter(pc.equal(result.scores["measure"], measure))
    columns = [rows[name].to_pylist() for name in ("system", "query_id", "value")]
    return zip(*columns, strict=True)


def _clusters(rows: list[QueryRow]) -> tuple[str, ...]:
    """Cluster of each query; empty if the run predates clusters."""
    if not any(row["cluster"] for row in rows):
        return ()
    return tuple(row["cluster"] or f"query {row['query_id']}" for row in rows)


def _not_asked(rows: list[QueryRow], needs: RequiredInput) -> dict[str, str]:
    """Queries that a measure does not apply to, with the reason: negative ones, or all others for some measures."""
    if needs is RequiredInput.TOP_SCORES:
        return {row["query_id"]: "applies to negative queries only" for row in rows if not row["negative"]}
    return {row["query_id"]: "no right answer (negative)" for row in rows if row["negative"]}
