"""Means by category and difficulty, and ranks of the first relevant result."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from bakeoff.measures.names import Measure, parse
from bakeoff.runs.score_grid import GridMean, ScoreGrid, resampled_group
from bakeoff.stats.arrays import BoolArray, FloatArray, IntArray
from bakeoff.types import Unit

GROUPS_SHOWN = 12
NOT_GIVEN = "(not given)"


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Means by a label of the queries, one column per group: `rows` of the primary measure, `others` of the rest."""

    label: str
    groups: tuple[str, ...]
    excluded: tuple[int, ...]
    """For each group, the queries that the primary measure excludes for every system."""
    rows: tuple[tuple[str, tuple[GridMean, ...]], ...]
    hidden: int
    others: tuple[tuple[str, str, tuple[GridMean, ...]], ...] = ()
    """Measure, system, means."""


@dataclass(frozen=True, slots=True)
class RankRow:
    """How many queries have their first relevant result in each span of ranks."""

    system: str
    counts: tuple[int, ...]
    n: int
    excluded: int


@dataclass(frozen=True, slots=True)
class RankTable:
    """Ranks of the first relevant result (C-24); the last span is "none found"."""

    measure: str
    unit: str
    spans: tuple[str, ...]
    rows: tuple[RankRow, ...]


@dataclass(frozen=True, slots=True)
class Grouping:
    """The input of a breakdown: measures with their labels, primary first, and incomplete queries."""

    measures: Mapping[str, str]
    systems: tuple[str, ...]
    seed: int
    incomplete: Mapping[str, Collection[str]] = field(default_factory=dict)


def breakdown(grid: ScoreGrid, grouping: Grouping, label: str) -> Breakdown | None:
    """Means by category, difficulty, intent or a tag; None if the queries have fewer than two values of it."""
    names = [query.label(label) or NOT_GIVEN for query in grid.queries]
    groups = sorted(set(names), key=lambda name: (name == NOT_GIVEN, names.index(name)))
    if len(groups) < 2:
        return None
    shown = groups[:GROUPS_SHOWN]
    members = [np.array([name == group for name in names]) for group in shown]
    means = [_group_means(grid, grouping, inside) for inside in members]
    primary, *others = grouping.measures
    row: Callable[[str, str], tuple[GridMean, ...]] = lambda m, s: tuple(mean[m, s] for mean in means)  # noqa: E731
    rows = tuple((system, row(primary, system)) for system in grouping.systems)
    excluded = tuple(
        min(mean.excluded for mean in column) for column in zip(*(r[1] for r in rows), strict=True)
    )
    rest = tuple(
        (grouping.measures[name], system, row(name, system)) for name in others for system in grouping.systems
    )
    return Breakdown(label, tuple(shown), excluded, rows, len(groups) - len(shown), rest)


def _group_means(grid: ScoreGrid, grouping: Grouping, inside: BoolArray) -> dict[tuple[str, str], GridMean]:
    """The means of one group, each with its number of queries with unread truth."""
    means = resampled_group(
        grid, tuple(grouping.measures), grouping.systems, inside=inside, seed=grouping.seed
    )
    own = {query.id for query, is_inside in zip(grid.queries, inside, strict=True) if is_inside}
    marks = {name: len(own.intersection(grouping.incomplete.get(name, ()))) for name in grouping.measures}
    return {key: replace(mean, incomplete=marks[key[0]]) for key, mean in means.items()}


def rank_table(grid: ScoreGrid, primary: str, systems: Sequence[str], depth: int) -> RankTable | None:
    """The ranks of first relevant results, from RR or else from Hit at several depths; None without either."""
    unit = parse(primary).unit
    measures = [measure for measure in map(parse, grid.values) if measure.budget is None]
    reciprocal = _preferred_measure([m for m in measures if m.name == "RR"], unit)
    if reciprocal is not None:
        return _from_reciprocal(grid, reciprocal, systems, depth)
    hits = [m for m in measures if m.name == "Hit" and (m.unit == unit or unit is None)]
    return _from_hits(grid, hits, systems) if len(hits) > 1 else None


def first_ranks(values: FloatArray) -> IntArray:
    """The rank of the first relevant result from reciprocal ranks; 0 is none, −1 not scored."""
    with np.errstate(divide="ignore"):
        ranks = np.where(values > 0, np.rint(1 / np.where(values > 0, values, 1.0)), 0.0)
    first: IntArray = np.where(np.isnan(values), -1, ranks).astype(np.int64)
    return first


def reciprocal_measure(grid: ScoreGrid, unit: Unit | None) -> Measure | None:
    """The RR measure whose ranks are known, at that unit if there is one."""
    ranked = [m for m in map(parse, grid.values) if m.name == "RR" and m.budget is None]
    return _preferred_measure(ranked, unit)


def _preferred_measure(measures: list[Measure], unit: Unit | None) -> Measure | None:
    """The measures at the primary measure's unit, deepest first."""
    key: Callable[[Measure], tuple[bool, float]] = lambda m: (m.unit != unit, -(m.k or float("inf")))  # noqa: E731
    return min(measures, key=key, default=None)


def _from_reciprocal(grid: ScoreGrid, measure: Measure, systems: Sequence[str], depth: int) -> RankTable:
    deepest = min(measure.k or depth, depth)
    edges = [edge for edge in (1, 3, 10) if edge < deepest] + [deepest]
    rows = []
    for system in systems:
        ranks = first_ranks(grid.row(str(measure), system))
        positive, scored = ranks[ranks > 0], int((ranks >= 0).sum())
        below = np.searchsorted(np.sort(positive), edges, side="right")
        counts = [int(n) for n in np.diff(below, prepend=0)]
        rows.append(RankRow(system, (*counts, scored - sum(counts)), scored, len(ranks) - scored))
    return RankTable(str(measure), str(measure.unit or "result"), _spans(edges), tuple(rows))


def _from_hits(grid: ScoreGrid, measures: list[Measure], systems: Sequence[str]) -> RankTable:
    ordered = sorted(measures, key=lambda m: m.k or 0)
    rows = []
    for system in systems:
        values = np.stack([grid.row(str(m), system) for m in ordered])
        values = values[:, ~np.isnan(values).any(axis=0)]
        counts = [int(n) for n in np.diff((values > 0).sum(axis=1), prepend=0)]
        n = values.shape[1]
        rows.append(RankRow(system, (*counts, n - sum(counts)), n, len(grid.queries) - n))
    names = ", ".join(str(m) for m in ordered)
    return RankTable(
        names, str(ordered[0].unit or "result"), _spans([m.k or 0 for m in ordered]), tuple(rows)
    )


def _spans(edges: Sequence[int]) -> tuple[str, ...]:
    """Names of the spans between edges: 1, 2–3, 4–10, none in 10."""
    spans, start = [], 1
    for edge in edges:
        spans.append(str(edge) if start == edge else f"{start}–{edge}")
        start = edge + 1
    return (*spans, f"none in {edges[-1]}")
