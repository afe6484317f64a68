"""S0's decision matrix: the system in use today against its candidates, by weighted criteria (S0-23, S0-24)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.config.plan import match_labels
from bakeoff.errors import ComparisonError
from bakeoff.measures.preset_settings import Criterion, read_preset_file
from bakeoff.measures.presets import preset
from bakeoff.presets.rules import WeightedScore, weighted_score
from bakeoff.runs.analysis import Result
from bakeoff.runs.compare_runs import dated_names

CURRENT = "Current"
CANDIDATE = "Candidate"


@dataclass(frozen=True, slots=True)
class MatrixColumn:
    """One system: its value of each criterion, None if unknown, and its weighted score."""

    system: str
    values: tuple[float | None, ...]
    score: WeightedScore


@dataclass(frozen=True, slots=True)
class DecisionMatrix:
    """The criteria that have a weight, the current system, and the candidates, best score first."""

    criteria: tuple[Criterion, ...]
    current: MatrixColumn
    candidates: tuple[MatrixColumn, ...]

    @property
    def headings(self) -> tuple[str, ...]:
        """The heading of each column."""
        named = [f"{CURRENT}: {self.current.system}", *(f"{CANDIDATE}: {c.system}" for c in self.candidates)]
        return ("criterion", "weight", *named)

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The rows as text, the score last."""
        columns = (self.current, *self.candidates)
        found = [
            (one.title, f"{one.weight:.0%}", *(shown_value(one, column.values[i]) for column in columns))
            for i, one in enumerate(self.criteria)
        ]
        scores = ("–" if c.score.value is None else f"{c.score.value:.3f}" for c in columns)
        return (*found, ("Score", "100%", *scores))

    @property
    def finding(self) -> str:
        """Whether a candidate has a higher score than the current system."""
        own, known = self.current.score.value, [c for c in self.candidates if c.score.value is not None]
        if own is None:
            return f"{self.current.system} has no score: {', '.join(self.current.score.missing)} missing."
        if not known:
            return f"{self.current.system} scores {own:.3f}; no candidate has a score."
        best = known[0]
        difference = round(best.score.value or 0.0, 3) - round(own, 3)
        verb = (
            "a higher score than"
            if difference > 0
            else "a lower score than"
            if difference
            else "the same score as"
        )
        return (
            f"{best.system} has {verb} {self.current.system}, which is in use: {best.score.value:.3f} "
            f"against {own:.3f}. The score has no interval; the verdict has."
        )


def is_lineage(result: Result) -> bool:
    """Whether a run's preset has a decision matrix."""
    return bool(result.record.preset) and preset(str(result.record.preset)).name == "lineage"


def decision_matrix(*results: Result) -> DecisionMatrix | None:
    """The current system against all others, by the lineage preset; None if no run names a current system.

    The first of several runs that names one counts; a system that several have is shown with its run.
    """
    owner = next((result for result in results if result.record.current), None)
    if owner is None:
        return None
    current = owner.system(str(owner.record.current))
    criteria = tuple(
        criterion for criterion in read_preset_file("lineage").criteria if criterion.weight is not None
    )
    names = dated_names(results)
    columns = {
        (result, system): _column(result, system, names[result.record.run, system], criteria)
        for result in results
        for system in result.done
    }
    own = columns.pop((owner, current))
    others = sorted(columns.values(), key=lambda one: (one.score.value is None, -(one.score.value or 0.0)))
    return DecisionMatrix(criteria, own, tuple(others))


def name_current(results: Sequence[Result], name: str | None) -> list[Result]:
    """The same runs with another current system, in the first run that has it."""
    if name is None:
        return list(results)
    for place, result in enumerate(results):
        if len(match_labels(name, result.done, results[0].letters if place == 0 else {})) == 1:
            return [result.with_current(name), *results[:place], *results[place + 1 :]]
    return [results[0].with_current(name), *results[1:]]  # the error lists the systems


def lineage_values(result: Result, system: str) -> dict[str, float | None]:
    """A system's value of every criterion of the lineage preset, by the criterion's name."""
    found = {
        criterion.name: _mean(result, system, criterion.measure)
        for criterion in read_preset_file("lineage").criteria
        if criterion.measure
    }
    dims = dict(zip(result.systems["system"].to_pylist(), result.systems["dims"].to_pylist(), strict=True))
    return {**found, "latency_ms": result.timing(system, "total", "mean_ms"), "dims": dims[system]}


def shown_value(criterion: Criterion, value: float | None) -> str:
    """A value as the matrix shows it: scores with three digits, costs as whole numbers with their unit."""
    if value is None:
        return "–"
    if not criterion.per:
        return f"{value:.3f}"
    shown = f"{value:.1f}" if value >= 10 else f"{value:.2g}"
    return f"{shown} {criterion.unit}" if criterion.unit else f"{value:,.0f}"


def _column(result: Result, system: str, name: str, criteria: tuple[Criterion, ...]) -> MatrixColumn:
    values = lineage_values(result, system)
    return MatrixColumn(name, tuple(values[criterion.name] for criterion in criteria), weighted_score(values))


def _mean(result: Result, system: str, measure: str) -> float | None:
    try:
        return result.summaries(measure)[system].mean
    except ComparisonError:
        return None
