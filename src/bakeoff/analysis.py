"""Stored rows → comparison and verdict: the same functions serve the run, the report and a script."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.errors import ComparisonError
from bakeoff.measures.conventions import Conventions, check_same
from bakeoff.measures.names import Measure, parse
from bakeoff.results import (
    LATENCIES,
    LOSSES,
    PASSAGES,
    QUERIES,
    TIES,
    Cell,
    RunRecord,
    read_record,
    read_table,
)
from bakeoff.types import RANKINGS, SCORES, SYSTEMS, TIMINGS, Status

if TYPE_CHECKING:
    import pyarrow as pa

    from bakeoff.blocks import Helpers
    from bakeoff.stats.compare import CompareSettings
    from bakeoff.stats.comparison import Comparison, PairComparison, ScoreMatrix, SystemSummary
    from bakeoff.stats.verdict import Verdict


class Result:
    """A run's folder, read when asked: rows as Arrow tables, and what follows from them."""

    def __init__(self, path: Path, workers: Helpers | None = None) -> None:
        self.path, self._workers = path, workers
        self.record: RunRecord = read_record(path)
        self.known: dict[str, Any] = {}
        self._comparisons: dict[str, Comparison] = {}
        self._summaries: dict[str, dict[str, SystemSummary]] = {}

    def __repr__(self) -> str:
        return f"Result({str(self.path)!r}, {len(self.record.systems)} systems, {self.record.status})"

    @cached_property
    def scores(self) -> pa.Table:
        """One row a system, query and measure."""
        return read_table(self.path, SCORES)

    @cached_property
    def timings(self) -> pa.Table:
        """One row a system, phase and statistic."""
        return read_table(self.path, TIMINGS)

    @cached_property
    def systems(self) -> pa.Table:
        """One row a system."""
        return read_table(self.path, SYSTEMS)

    @cached_property
    def queries(self) -> pa.Table:
        """One row a query."""
        return read_table(self.path, QUERIES)

    @cached_property
    def rankings(self) -> pa.Table:
        """One row a system, query and rank."""
        return read_table(self.path, RANKINGS)

    @cached_property
    def latencies(self) -> pa.Table:
        """One row a system, repeat and query, in milliseconds."""
        return read_table(self.path, LATENCIES)

    @cached_property
    def passages(self) -> pa.Table:
        """The text of the chunks among the first ten of a ranking."""
        return read_table(self.path, PASSAGES)

    @cached_property
    def losses(self) -> pa.Table:
        """One row a system, query and step: the best score still reachable after it."""
        return read_table(self.path, LOSSES)

    @cached_property
    def ties(self) -> pa.Table:
        """One row a system, query and measure whose value depends on the order of equal scores."""
        return read_table(self.path, TIES)

    @property
    def done(self) -> tuple[str, ...]:
        """The systems that were measured, in the order of the plan."""
        return self._with_status(Status.DONE)

    @property
    def failed(self) -> dict[str, str]:
        """The systems that failed, each with its reason."""
        rows = self.systems.to_pylist()
        return {row["system"]: row["reason"] for row in rows if row["status"] != Status.DONE}

    @cached_property
    def comparison(self) -> Comparison:
        """All pairs of systems on the primary measure."""
        return self.compare(self.record.primary)

    @cached_property
    def verdict(self) -> Verdict:
        """What to use, or why that can't be told."""
        from bakeoff.judging import judge

        return judge(self)

    def compare(self, measure: str) -> Comparison:
        """All pairs of systems on a measure, paired by query."""
        from bakeoff.stats.compare import compare_all

        name = self.measure(measure)
        if name not in self._comparisons:
            self._comparisons[name] = compare_all([self.matrix(name)], self._settings, self._workers)[0]
        return self._comparisons[name]

    def summaries(self, measure: str) -> dict[str, SystemSummary]:
        """Each system's mean and interval on a measure; cheap where the pairs are not needed."""
        from bakeoff.stats.compare import summarise

        name = self.measure(measure)
        if name not in self._summaries:
            compared = self._comparisons.get(name)
            found = compared.systems if compared else summarise(self.matrix(name), self._settings)
            self._summaries[name] = {one.system: one for one in found}
        return self._summaries[name]

    @property
    def _settings(self) -> CompareSettings:
        from bakeoff.stats.bootstrap import BootstrapSettings
        from bakeoff.stats.compare import CompareSettings

        return CompareSettings(BootstrapSettings(self.record.seed))

    def matrix(self, measure: str) -> ScoreMatrix:
        """The scores of a measure, systems × queries; negative queries are structural."""
        import numpy as np

        from bakeoff.stats.comparison import ScoreMatrix

        name = self.measure(measure)
        definition = parse(name).definition
        rows = self.queries.to_pylist()
        queries = tuple(row["query_id"] for row in rows)
        values = np.full((len(self.done), len(queries)), np.nan)
        place = {query: i for i, query in enumerate(queries)}
        at = {system: i for i, system in enumerate(self.done)}
        for system, query, value in self._values(name):
            if value is not None and system in at:
                values[at[system], place[query]] = value
        return ScoreMatrix(
            systems=self.done,
            queries=queries,
            values=values,
            measure=name,
            categories=tuple(row["category"] or "" for row in rows),
            structural={
                row["query_id"]: "it has no right answer (negative)" for row in rows if row["negative"]
            },
            higher_is_better=definition.higher_is_better,
            bounds=(definition.low, definition.high) if definition.high < float("inf") else None,
        )

    def measure(self, name: str) -> str:
        """The full name of a measure of this run, from a full or short one."""
        wanted = parse(name)
        known = [parse(text) for text in self.record.measures]
        for measure in known:
            if measure == wanted or (
                measure.name == wanted.name and measure == replace(wanted, unit=measure.unit)
            ):
                return str(measure)
        raise ComparisonError(
            f"{name} was not measured in this run. It has: {', '.join(self.record.measures)}."
        )

    def system(self, name: str) -> str:
        """The label of a system, from the label or from words that only it has."""
        if name in self.done:
            return name
        words = name.replace("·", " ").split()
        found = [label for label in self.done if all(word in label for word in words)]
        if len(found) == 1:
            return found[0]
        why = f"fits {len(found)} systems" if found else "fits no system"
        raise ComparisonError(f"{name!r} {why} of this run. Systems: {'; '.join(found or self.done)}.")

    def timing(self, system: str, phase: str, statistic: str) -> float | None:
        """One timing, or None where it was not measured."""
        return self._timing_index.get((system, phase, statistic))

    @cached_property
    def _timing_index(self) -> dict[tuple[str, str, str], float | None]:
        rows = self.timings.to_pylist()
        return {(row["system"], row["phase"], row["statistic"]): row["value"] for row in rows}

    def _values(self, measure: str) -> Iterable[tuple[str, str, float | None]]:
        import pyarrow.compute as pc

        rows = self.scores.filter(pc.equal(self.scores["measure"], measure))
        columns = [rows[name].to_pylist() for name in ("system", "query_id", "value")]
        return zip(*columns, strict=True)

    def _with_status(self, status: Status) -> tuple[str, ...]:
        rows = zip(self.systems["system"].to_pylist(), self.systems["status"].to_pylist(), strict=True)
        return tuple(system for system, state in rows if state == status)


def open_run(folder: str | Path, workers: Helpers | None = None) -> Result:
    """The result in a run's folder; a very large comparison is given to the workers, where there are some."""
    return Result(Path(folder), workers)


def compare(result: Result, a: str, b: str, measure: str | None = None) -> PairComparison:
    """Two systems of a run, paired by query; names may be words that fit one system only."""
    comparison = result.compare(measure or result.record.primary)
    return comparison.pair(result.system(a), result.system(b))


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
    )


def identical_rankings(cells: list[Cell]) -> list[str]:
    """Notes on systems that returned the very same rows in the same order for every query (F50)."""
    groups: dict[str, list[str]] = {}
    for cell in cells:
        if cell.rankings.num_rows:
            system = cell.rankings["system"][0].as_py()
            groups.setdefault(_digest(cell.rankings), []).append(system)
    return [
        f"{', '.join(same)} returned identical rankings for every query: this run cannot tell them apart."
        for same in groups.values()
        if len(same) > 1
    ]


def _digest(rankings: pa.Table) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name in ("query_id", "chunk_id"):
        digest.update("\n".join(rankings[name].to_pylist()).encode())
    return digest.hexdigest()


def short(measure: str | Measure) -> str:
    """A measure's name without its unit, for a narrow column."""
    parsed = parse(measure)
    return str(parsed).split("(")[0]


def unit_of(measure: str | Measure) -> str:
    """The unit in a measure's name, or nothing."""
    unit: Any = parse(measure).unit
    return str(unit) if unit else ""
