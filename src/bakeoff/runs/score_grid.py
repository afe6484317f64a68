"""The stored scores as arrays, read once; every per-query figure of the report starts here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.corpus.languages import LANGUAGES, detect_language, main_script
from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import parse
from bakeoff.runs.analysis import Result
from bakeoff.runs.folder import read_tags
from bakeoff.runs.table_rows import score_rows
from bakeoff.stats.arrays import BoolArray, FloatArray
from bakeoff.stats.bootstrap import BootstrapSettings, mean_intervals
from bakeoff.stats.clusters import Clusters
from bakeoff.stats.comparison import SystemSummary
from bakeoff.stats.intervals import Interval

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class GridRow:
    """A stored query; labels that were not set are empty."""

    id: str
    text: str
    category: str
    difficulty: str
    negative: bool
    synthetic: bool
    intent: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    cluster: str = ""

    def label(self, name: str) -> str:
        """Return the category, difficulty, intent, or the value of a tag."""
        return str(getattr(self, name)) if name in LABELS else self.tags.get(name, "")


LABELS = ("category", "difficulty", "intent")
LANGUAGE = "language"
LANGUAGE_SHARE = 0.1
"""Share of queries in a language from which it counts as one of theirs."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreGrid:
    """For each measure, scores of finished systems × queries (NaN if not computed), its units and truth sources."""

    systems: tuple[str, ...]
    queries: tuple[GridRow, ...]
    values: Mapping[str, FloatArray]
    units: Mapping[str, tuple[str, ...]]
    sources: Mapping[str, tuple[str, ...]]

    def row(self, measure: str, system: str) -> FloatArray:
        """One system's scores, one value per query."""
        scores: FloatArray = self.values[measure][self.systems.index(system)]
        return scores


@dataclass(frozen=True, slots=True)
class GridMean:
    """A mean over the scored queries, with its interval over queries and what it leaves out."""

    measure: str
    value: float | None
    interval: Interval
    n: int
    excluded: int
    incomplete: int = 0
    """Number of its queries whose truth names files that were not read."""


def read_grid(result: Result) -> ScoreGrid:
    """Read all scores of the finished systems; negative queries only have measures made for them."""
    queries = tuple(_with_languages(_query_rows(result.queries)))
    measures, rows = tuple(result.record.measures), score_rows(result)
    values = _values(rows, measures, result.done, [query.id for query in queries])
    negative = np.array([query.negative for query in queries], dtype=bool)
    for number, measure in enumerate(measures):
        if parse(measure).definition.needs is not RequiredInput.TOP_SCORES:
            values[number][:, negative] = np.nan
    units, sources = (_distinct_values(rows, measures, name) for name in ("unit", "source"))
    return ScoreGrid(result.done, queries, dict(zip(measures, values, strict=True)), units, sources)


def mean_scores(grid: ScoreGrid, measure: str) -> dict[str, float | None]:
    """Each system's mean over the scored queries; None if there are none."""
    values = grid.values[measure]
    counts = np.sum(~np.isnan(values), axis=1)
    sums = np.nansum(values, axis=1)
    return {
        system: float(total / n) if n else None
        for system, total, n in zip(grid.systems, sums, counts, strict=True)
    }


def compared_means(
    summaries: Mapping[str, SystemSummary], measure: str, systems: Sequence[str]
) -> dict[str, GridMean]:
    """Systems' means from a comparison."""
    means = {}
    for system in systems:
        one = summaries[system]
        means[system] = GridMean(measure, one.mean, one.interval, one.n, len(one.excluded))
    return means


def resampled_means(grid: ScoreGrid, measure: str, systems: Sequence[str], seed: int) -> dict[str, GridMean]:
    """Systems' means without a comparison, with the intervals that one would give."""
    every = np.ones(len(grid.queries), dtype=bool)
    means = resampled_group(grid, [measure], systems, inside=every, seed=seed)
    return {system: means[measure, system] for system in systems}


def resampled_group(
    grid: ScoreGrid, measures: Sequence[str], systems: Sequence[str], *, inside: BoolArray, seed: int
) -> dict[tuple[str, str], GridMean]:
    """Means of several measures over the queries `inside`, by measure and system, with intervals."""
    # a comparison resamples queries in order of their ids
    order = np.argsort(np.array([query.id for query in grid.queries], dtype=object), kind="stable")
    order = order[inside[order]]
    labels = [grid.queries[place].cluster for place in order]
    clusters = Clusters.of(labels if any(labels) else (), len(labels))
    means: dict[tuple[str, str], GridMean] = {}
    for bounds, names in _by_bounds(measures).items():
        keys = [(name, system) for name in names for system in systems]
        rows = [grid.row(name, system)[order] for name, system in keys]
        intervals = (
            mean_intervals(np.stack(rows, 1), BootstrapSettings(seed), bounds, clusters) if rows else []
        )
        for key, row, interval in zip(keys, rows, intervals, strict=True):
            means[key] = _mean(key[0], row, interval)
    return means


def _by_bounds(measures: Sequence[str]) -> dict[tuple[float, float] | None, list[str]]:
    """Group measures with the same bounds: one resampling serves each group."""
    groups: dict[tuple[float, float] | None, list[str]] = {}
    for name in measures:
        definition = parse(name).definition
        bounds = (definition.low, definition.high) if definition.high < float("inf") else None
        groups.setdefault(bounds, []).append(name)
    return groups


def _mean(measure: str, row: FloatArray, interval: Interval) -> GridMean:
    scores = row[~np.isnan(row)]
    value = float(scores.mean()) if len(scores) else None
    return GridMean(measure, value, interval, len(scores), len(row) - len(scores))


def _values(
    rows: pa.Table, measures: tuple[str, ...], systems: tuple[str, ...], queries: list[str]
) -> FloatArray:
    """Measures × systems × queries, filled in one pass over the rows."""
    axes = (("measure", measures), ("system", systems), ("query_id", queries))
    places = [_places(rows[name], labels) for name, labels in axes]
    found = np.full([len(labels) for _, labels in axes], np.nan)
    ours = np.logical_and.reduce([place >= 0 for place in places])
    values = rows["value"].to_numpy().astype(np.float64)
    found[tuple(place[ours] for place in places)] = values[ours]
    return found


def _places(column: pa.ChunkedArray, labels: Sequence[str]) -> np.ndarray:
    """Position of each value among the known ones; −1 if unknown."""
    position = {name: number for number, name in enumerate(labels)}
    parts = [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in column.chunks]
    names = column.chunk(0).dictionary.to_pylist() if column.num_chunks else []
    lookup = np.array([*(position.get(name, -1) for name in names), -1], dtype=np.int64)
    return lookup[np.concatenate([np.zeros(0, dtype=np.int64), *parts])]


def _distinct_values(rows: pa.Table, measures: tuple[str, ...], name: str) -> dict[str, tuple[str, ...]]:
    """Distinct values of a column for each measure."""
    groups = rows.select(["measure", name]).group_by(["measure", name]).aggregate([]).to_pylist()
    distinct = {
        measure: {row[name] for row in groups if row["measure"] == measure and row[name]}
        for measure in measures
    }
    return {measure: tuple(sorted(values)) for measure, values in distinct.items()}


def _with_languages(rows: list[GridRow]) -> list[GridRow]:
    """Tag queries with their language if there are several; the user's own tags are kept.

    A question too short to detect takes the language of the others in its script, if they share one.
    """
    if any(LANGUAGE in row.tags for row in rows):
        return rows
    languages = [detect_language([row.text]) for row in rows]
    counts = Counter(filter(None, languages))
    frequent = [name for name, number in counts.items() if number >= max(2, LANGUAGE_SHARE * len(rows))]
    if len(frequent) < 2:
        return rows
    scripts = Counter(LANGUAGES[name].script for name in frequent)
    alone = {script: name for name in frequent if scripts[script := LANGUAGES[name].script] == 1}
    languages = [
        name or alone.get(main_script(row.text), "") for name, row in zip(languages, rows, strict=True)
    ]
    return [
        replace(row, tags={**row.tags, LANGUAGE: name.capitalize()}) if name else row
        for row, name in zip(rows, languages, strict=True)
    ]


def _query_rows(table: pa.Table) -> list[GridRow]:
    return [
        GridRow(
            id=row["query_id"],
            text=row["text"] or "",
            category=row["category"] or "",
            difficulty=row["difficulty"] or "",
            negative=bool(row["negative"]),
            synthetic=bool(row["synthetic"]),
            intent=row["intent"] or "",
            tags=read_tags(row["tags"]),
            cluster=row["cluster"] or "",
        )
        for row in table.to_pylist()
    ]
