"""Compares several runs: the systems two of them share, or all systems of runs with the same truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bakeoff.errors import ComparisonError
from bakeoff.measures.conventions import Conventions, check_same
from bakeoff.runs.analysis import Result
from bakeoff.runs.record import RunRecord

if TYPE_CHECKING:
    from bakeoff.stats.arrays import FloatArray
    from bakeoff.stats.comparison import Comparison, ScoreMatrix


def check_comparable(one: Result, other: Result, *, allow_mixed: bool = False) -> tuple[str, ...]:
    """Raise if results were made under different conventions, unless mixing is allowed; returns the differences."""
    if one.judged_by_people != other.judged_by_people:
        raise ComparisonError(
            f"people judged {len(one.judged_by_people):,} questions of {one.record.run} and "
            f"{len(other.judged_by_people):,} of {other.record.run}: judge the same ones to the same rank in both, or "
            "use the rules' judgments (truth rules)."
        )
    left, right = (Conventions.from_dict(result.record.conventions) for result in (one, other))
    return check_same(left, right, allow_mixed=allow_mixed)


def changed_models(one: RunRecord, other: RunRecord) -> list[str]:
    """One sentence per model whose vectors differ in the second run under the same name."""
    from bakeoff.pipeline.canary import changed_models as compare_canaries
    from bakeoff.pipeline.canary import read_canary

    before, after = ([read_canary(**row.model_dump()) for row in record.canaries] for record in (one, other))
    return compare_canaries(before, after)


def compare_across(
    one: Result, other: Result, measure: str | None = None, *, allow_mixed: bool = False
) -> Comparison:
    """Compare the systems two runs share, as `system @ run`, paired by their common queries (F24)."""
    from bakeoff.stats.compare import compare as compare_systems

    check_comparable(one, other, allow_mixed=allow_mixed)
    name = measure or one.record.primary
    matrix = join_matrices(one.matrix(name), other.matrix(name), one.record.run, other.record.run)
    return compare_systems(matrix, one.record.seed)


def join_matrices(left: ScoreMatrix, right: ScoreMatrix, first: str, second: str) -> ScoreMatrix:
    """One matrix of the systems two runs share; a query missing in one is NaN there."""
    shared = [system for system in left.systems if system in right.systems]
    if not shared:
        raise ComparisonError("the runs share no system. Compare runs of the same experiment.")
    names = [
        (matrix, {system: f"{system} @ {run}" for system in shared})
        for matrix, run in ((left, first), (right, second))
    ]
    return _stack_matrices(names)


@dataclass(frozen=True, slots=True)
class DatedSystem:
    """A system in a comparison of several runs: its name there, its run, when that began, and its own label."""

    name: str
    run: str
    started: str
    label: str


@dataclass(frozen=True, slots=True)
class RunsComparison:
    """All systems of several runs with the same truth, compared by quality as if from one run; not by speed."""

    systems: tuple[DatedSystem, ...]
    comparison: Comparison

    def order_systems(self) -> list[DatedSystem]:
        """The systems, best first; one that shares no query with the others comes last."""
        place = {name: i for i, name in enumerate(self.comparison.ranking)}
        return sorted(self.systems, key=lambda one: place.get(one.name, len(place)))


def compare_runs(
    results: Sequence[Result], measure: str | None = None, *, allow_mixed: bool = False
) -> RunsComparison:
    """Compare all systems of runs that were scored against the same truth, paired by query (S0-48)."""
    from bakeoff.stats.compare import compare as compare_systems

    first = results[0]
    for other in results[1:]:
        if other.record.run == first.record.run:
            raise ComparisonError(f"{first.record.run} is listed twice. Give the folders of different runs.")
        check_comparable(first, other, allow_mixed=allow_mixed)
        if first.record.truth_fingerprint != other.record.truth_fingerprint:
            raise ComparisonError(
                f"{first.record.run} and {other.record.run} were scored against different truth: the queries, the "
                "judgments or the documents changed between them. Run one of them again."
            )
    name = measure or first.record.primary
    names = dated_names(results)
    parts, systems = [], []
    for result in results:
        record = result.record
        named = {one: names[record.run, one] for one in result.done}
        parts.append((result.matrix(name), named))
        systems += [DatedSystem(text, record.run, record.started, label) for label, text in named.items()]
    return RunsComparison(tuple(systems), compare_systems(_stack_matrices(parts), first.record.seed))


def dated_names(results: Sequence[Result]) -> dict[tuple[str, str], str]:
    """Name of each run's systems in the comparison, with the run's name if several use the same label."""
    labels = Counter(system for result in results for system in result.done)
    return {
        (result.record.run, one): one if labels[one] == 1 else f"{one} @ {result.record.run}"
        for result in results
        for one in result.done
    }


def _stack_matrices(parts: Sequence[tuple[ScoreMatrix, Mapping[str, str]]]) -> ScoreMatrix:
    """One matrix of several matrices' systems, under new names; a query missing in one is NaN there."""
    import numpy as np

    matrices = [matrix for matrix, _ in parts]
    measures = list(dict.fromkeys(matrix.measure for matrix in matrices))
    if len(measures) > 1:
        raise ComparisonError(f"the runs measured {' and '.join(measures)}. Compare on a single measure.")
    queries = tuple(dict.fromkeys(query for matrix in matrices for query in matrix.queries))
    categories = {
        query: category
        for matrix in matrices
        for query, category in zip(matrix.queries, matrix.categories, strict=bool(matrix.categories))
    }
    clusters = {
        query: cluster
        for matrix in reversed(matrices)
        for query, cluster in zip(matrix.queries, matrix.clusters, strict=bool(matrix.clusters))
    }

    def join(tables: list[FloatArray]) -> FloatArray:
        """One row per system, in the order of all queries."""
        rows = []
        for (matrix, named), table in zip(parts, tables, strict=True):
            place = {query: i for i, query in enumerate(matrix.queries)}
            for system in named:
                row = table[matrix.systems.index(system)]
                rows.append([row[place[query]] if query in place else np.nan for query in queries])
        return np.array(rows, dtype=float)

    best = [matrix.best for matrix in matrices if matrix.best is not None]
    return replace(
        matrices[0],
        systems=tuple(name for _, named in parts for name in named.values()),
        queries=queries,
        values=join([matrix.values for matrix in matrices]),
        best=join(best) if len(best) == len(matrices) else None,
        categories=tuple(categories.get(query, "") for query in queries),
        structural={query: why for matrix in matrices for query, why in matrix.structural.items()},
        clusters=tuple(clusters.get(query, f"query {query}") for query in queries) if clusters else (),
    )
