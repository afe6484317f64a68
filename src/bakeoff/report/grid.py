"""The stored scores as arrays, read once: everything the report counts per query starts here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.analysis import Result
from bakeoff.measures.definitions import Needs
from bakeoff.measures.names import parse
from bakeoff.stats.arrays import FloatArray
from bakeoff.stats.bootstrap import BootstrapSettings, mean_intervals
from bakeoff.stats.intervals import Interval

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class QueryRow:
    """A query as it was stored; an empty label was not given."""

    id: str
    text: str
    category: str
    difficulty: str
    negative: bool
    synthetic: bool


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """For each measure the scores of finished systems × queries; NaN is not computed."""

    systems: tuple[str, ...]
    queries: tuple[QueryRow, ...]
    values: Mapping[str, FloatArray]

    def row(self, measure: str, system: str) -> FloatArray:
        """One system's scores, a value a query."""
        found: FloatArray = self.values[measure][self.systems.index(system)]
        return found


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over the queries that have a score, with its interval over queries and what it leaves out."""

    measure: str
    value: float | None
    interval: Interval
    n: int
    excluded: int


def read_grid(result: Result) -> Grid:
    """All scores of the finished systems; a negative query has none, but for measures made for negatives."""
    queries = tuple(_query_rows(result.queries))
    measures = tuple(result.record.measures)
    values = _values(result, measures, [query.id for query in queries])
    negative = np.array([query.negative for query in queries], dtype=bool)
    for number, measure in enumerate(measures):
        if parse(measure).definition.needs is not Needs.TOP_SCORES:
            values[number][:, negative] = np.nan
    return Grid(result.done, queries, dict(zip(measures, values, strict=True)))


def means(grid: Grid, measure: str, seed: int) -> dict[str, Mean]:
    """Each system's mean with the interval that a comparison of the same seed gives it."""
    definition, values = parse(measure).definition, grid.values[measure]
    bounds = (definition.low, definition.high) if definition.high < float("inf") else None
    intervals = mean_intervals(values.T, BootstrapSettings(seed), bounds) if len(values) else []
    return {
        system: _mean(measure, row, interval)
        for system, row, interval in zip(grid.systems, values, intervals, strict=True)
    }


def _mean(measure: str, row: FloatArray, interval: Interval) -> Mean:
    kept = row[~np.isnan(row)]
    value = float(kept.mean()) if len(kept) else None
    return Mean(measure, value, interval, len(kept), len(row) - len(kept))


def _values(result: Result, measures: tuple[str, ...], queries: list[str]) -> FloatArray:
    """Measures × systems × queries, filled in one pass over the rows."""
    rows = result.scores
    shape = (len(measures), len(result.done), len(queries))
    places = [_places(rows[name], known) for name, known in _axes(measures, result.done, queries)]
    found = np.full(shape, np.nan)
    known = np.logical_and.reduce([place >= 0 for place in places])
    values = rows["value"].to_numpy().astype(np.float64)
    found[tuple(place[known] for place in places)] = values[known]
    return found


def _axes(
    measures: tuple[str, ...], systems: tuple[str, ...], queries: list[str]
) -> tuple[tuple[str, list[str]], ...]:
    return ("measure", list(measures)), ("system", list(systems)), ("query_id", queries)


def _places(column: pa.ChunkedArray, known: list[str]) -> np.ndarray:
    """The position of each value among the known ones, −1 for a stranger."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.index_in(column, value_set=pa.array(known, pa.string()))
    return np.asarray(pc.fill_null(found, -1).to_numpy(), dtype=np.int64)


def _query_rows(table: pa.Table) -> list[QueryRow]:
    names = ("query_id", "text", "category", "difficulty", "negative", "synthetic")
    columns = [table[name].to_pylist() for name in names]
    return [
        QueryRow(query, text or "", category or "", difficulty or "", bool(negative), bool(synthetic))
        for query, text, category, difficulty, negative, synthetic in zip(*columns, strict=True)
    ]
