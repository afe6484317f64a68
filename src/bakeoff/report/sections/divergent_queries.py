"""The queries on which systems differ most, with the results of each."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.measures.names import parse
from bakeoff.pipeline.system_tables import PASSAGES
from bakeoff.report.sections.breakdown import first_ranks, reciprocal_measure
from bakeoff.runs.analysis import Result
from bakeoff.runs.score_grid import GridRow, ScoreGrid
from bakeoff.runs.table_rows import rows_where
from bakeoff.stats.arrays import FloatArray
from bakeoff.storage.schemas import RANKINGS
from bakeoff.types import TableRow, Unit

QUERIES_SHOWN = 8
PASSAGES_SHOWN = 5
CHARACTERS_SHOWN = 700


@dataclass(frozen=True, slots=True, kw_only=True)
class DivergentPassage:
    """One returned chunk; `text` is cut to fit two columns, `cut` characters are left out."""

    rank: int
    document: str
    lines: str
    section: str
    score: float
    text: str
    cut: int
    first_relevant: bool


@dataclass(frozen=True, slots=True)
class ReturnedRow:
    """What a system returned for a query, and its score on it."""

    system: str
    value: float
    passages: tuple[DivergentPassage, ...]


@dataclass(frozen=True, slots=True)
class DifferingQuery:
    """A query, each shown system's score on it, and the results of the best and worst systems."""

    query: GridRow
    values: tuple[tuple[str, float], ...]
    returned: tuple[ReturnedRow, ...]
    marked: bool


def differing_queries(result: Result, grid: ScoreGrid, ordered: Sequence[str]) -> tuple[DifferingQuery, ...]:
    """The queries whose scores vary most between systems, widest first."""
    measure = result.record.primary
    places = [grid.systems.index(system) for system in ordered]
    values = grid.values[measure][places]
    chosen = _widest(values)
    picks = {
        number: _extremes(values[:, number], parse(measure).definition.higher_is_better) for number in chosen
    }
    queries, pictured = (
        [grid.queries[n].id for n in chosen],
        {place for pick in picks.values() for place in pick},
    )
    lists = _Lists(result, grid, queries, [ordered[place] for place in sorted(pictured)])
    return tuple(_differing(lists, grid.queries[n], values[:, n], picks[n], ordered) for n in chosen)


def _widest(values: FloatArray) -> list[int]:
    """Query numbers by the standard deviation of their scores, without those on which all agree."""
    if len(values) < 2:
        return []
    with warnings.catch_warnings():
        # a query without any score has no spread: NaN
        warnings.simplefilter("ignore", RuntimeWarning)
        spread = np.nan_to_num(np.nanstd(values, axis=0))
    order = np.argsort(-np.round(spread, 9), kind="stable")[:QUERIES_SHOWN]
    return [int(number) for number in order if spread[number] > 1e-9]


def _extremes(values: FloatArray, higher_is_better: bool) -> list[int]:
    """The positions of the overall best, the query's best and its worst system; ties go to the better ranked."""
    merit = np.where(np.isnan(values), np.nan, values if higher_is_better else -values)
    best, worst = int(np.nanargmax(merit)), int(np.nanargmin(merit))
    first = [] if np.isnan(values[0]) else [0]
    return list(dict.fromkeys([*first, best, worst]))


class _Lists:
    """The top passages of some systems for some queries."""

    def __init__(self, result: Result, grid: ScoreGrid, queries: list[str], systems: list[str]) -> None:
        self._grid = grid
        self._reciprocal = reciprocal_measure(grid, parse(result.record.primary).unit)
        rankings = self._rankings(result, queries, systems) if queries else []
        self._rows: dict[tuple[str, str], list[TableRow]] = {}
        for row in sorted(rankings, key=lambda row: row["rank"]):
            self._rows.setdefault((row["system"], row["query_id"]), []).append(row)
        self._texts = self._passages(result, rankings)

    def _rankings(self, result: Result, queries: list[str], systems: list[str]) -> list[TableRow]:
        depth = max(PASSAGES_SHOWN, result.record.depth)
        conditions = [("system", "in", systems), ("query_id", "in", queries), ("rank", "<=", depth)]
        rows: list[TableRow] = rows_where(result, RANKINGS, conditions).to_pylist()
        return rows

    def _passages(self, result: Result, rankings: list[TableRow]) -> dict[str, TableRow]:
        chunks = sorted({row["chunk_id"] for row in rankings if row["rank"] <= PASSAGES_SHOWN})
        if not chunks:
            return {}
        rows = rows_where(result, PASSAGES, [("chunk_id", "in", chunks)]).to_pylist()
        return {row["chunk_id"]: row for row in rows}

    @property
    def marks(self) -> bool:
        """Whether stored rows identify the first relevant result: ranks of documents or chunks."""
        return self._reciprocal is not None and self._reciprocal.unit in (Unit.DOCUMENT, Unit.CHUNK)

    def of(self, system: str, query: GridRow) -> tuple[DivergentPassage, ...]:
        rows = self._rows.get((system, query.id), [])
        relevant = self._first_relevant(system, query, rows)
        return tuple(self._passage(row, relevant) for row in rows[:PASSAGES_SHOWN])

    def _first_relevant(self, system: str, query: GridRow, rows: list[TableRow]) -> str | None:
        """The chunk that holds the first relevant unit, from the stored reciprocal rank."""
        if not self.marks:
            return None
        measure = self._reciprocal
        assert measure is not None
        number = self._grid.queries.index(query)
        rank = int(first_ranks(self._grid.row(str(measure), system)[number : number + 1])[0])
        key = "document_id" if measure.unit is Unit.DOCUMENT else "chunk_id"
        firsts: dict[str, str] = {}
        for row in rows:
            firsts.setdefault(row[key], row["chunk_id"])
        reached = list(firsts.values())
        return reached[rank - 1] if 0 < rank <= len(reached) else None

    def _passage(self, row: TableRow, relevant: str | None) -> DivergentPassage:
        stored = self._texts.get(row["chunk_id"], {})
        text = stored.get("text") or ""
        lines = f"{stored['line_start']}–{stored['line_end']}" if stored.get("line_start") is not None else ""
        return DivergentPassage(
            rank=row["rank"],
            document=row["document_id"],
            lines=lines,
            section=stored.get("symbol") or row["section"] or "",
            score=row["score"],
            text=text[:CHARACTERS_SHOWN],
            cut=max(0, len(text) - CHARACTERS_SHOWN),
            first_relevant=relevant is not None and row["chunk_id"] == relevant,
        )


def _differing(
    lists: _Lists, query: GridRow, values: FloatArray, picks: list[int], ordered: Sequence[str]
) -> DifferingQuery:
    scored = [
        (system, float(value)) for system, value in zip(ordered, values, strict=True) if not np.isnan(value)
    ]
    returned = [ReturnedRow(ordered[p], float(values[p]), lists.of(ordered[p], query)) for p in picks]
    returned.sort(key=lambda one: -one.value)
    return DifferingQuery(query, tuple(scored), tuple(returned), lists.marks)
