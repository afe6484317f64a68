"""Derives comparison and verdict from stored rows, for the run itself, the report and scripts."""

from __future__ import annotations

import copy
from collections.abc import Collection
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.config.plan import match_labels
from bakeoff.errors import ComparisonError
from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import parse
from bakeoff.pipeline.system_tables import LATENCIES, LOSSES, PASSAGES, PLACEMENTS, TIES
from bakeoff.runs.folder import (
    QUERIES,
    describe_changes,
    read_record,
    read_table,
    require_finished,
    require_unchanged,
)
from bakeoff.runs.record import ReviewedTruth, RunRecord
from bakeoff.storage.schemas import RANKINGS, SCORES, SYSTEMS, TIMINGS, Schema
from bakeoff.types import Status

if TYPE_CHECKING:
    import pyarrow as pa

    from bakeoff.runtime.scheduler import WorkerPool
    from bakeoff.stats.compare import CompareSettings
    from bakeoff.stats.comparison import Comparison, PairComparison, ScoreMatrix, SystemSummary
    from bakeoff.stats.recommendation_text import Recommendation
    from bakeoff.stats.verdict import Verdict


class Result:
    """A run's folder, read lazily: rows as Arrow tables, and what follows from them."""

    def __init__(self, path: Path, workers: WorkerPool | None = None, *, trust: bool = False) -> None:
        self.path, self._workers, self._trust = path, workers, trust
        record = read_record(path)
        self.trusted_changes = describe_changes(path, record) if trust else ()
        self.record: RunRecord = record.model_copy(update={"notes": [*record.notes, *self.trusted_changes]})
        self.reviewed: ReviewedTruth | None = None
        self.review_folder: Path | None = None
        self.known: dict[str, object] = {}
        self._left_out: frozenset[str] = frozenset()
        self._replaced: dict[str, pa.Table] = {}
        self._unchanged: set[str] = set()
        self._comparisons: dict[str, Comparison] = {}
        self._summaries: dict[str, dict[str, SystemSummary]] = {}

    def __repr__(self) -> str:
        return f"Result({str(self.path)!r}, {len(self.record.systems)} systems, {self.record.status})"

    def _repr_html_(self) -> str:
        """The recommendation and the systems, as a notebook shows them."""
        from bakeoff.runtime.notebook import lines_html

        recommendation = self.recommendation
        failed = [f"failed: {system}: {reason}" for system, reason in self.failed.items()]
        lines = [f"{label}: {text}" for label, text in recommendation.lines] if recommendation else []
        lead = lines_html(
            recommendation.sentence if recommendation else "No system finished.", [*lines, *failed]
        )
        return lead + (self.comparison._repr_html_() if self.done else "")

    @cached_property
    def scores(self) -> pa.Table:
        """One row per system, query and measure."""
        return self._table(SCORES)

    @cached_property
    def timings(self) -> pa.Table:
        """One row per system, phase and statistic."""
        return self._table(TIMINGS)

    @cached_property
    def systems(self) -> pa.Table:
        """One row per system."""
        return self._table(SYSTEMS)

    @cached_property
    def queries(self) -> pa.Table:
        """One row per query."""
        import pyarrow as pa
        import pyarrow.compute as pc

        table = self._table(QUERIES)
        left_out = pa.array(sorted(self._left_out), pa.string())
        return table.filter(pc.invert(pc.is_in(table["query_id"], left_out))) if self._left_out else table

    def with_current(self, name: str | None) -> Result:
        """The same run with another system as the one in use today; None restores the recorded one."""
        if name is None:
            return self
        other = copy.copy(self)
        other.record = self.record.model_copy(update={"current": self.system(name)})
        return other

    def with_name(self, name: str) -> Result:
        """The same run under another name, for comparing several."""
        other = copy.copy(self)
        other.record = self.record.model_copy(update={"run": name})
        return other

    def without(self, queries: Collection[str]) -> Result:
        """The same run without some of its queries."""
        other = self._copy()
        other._left_out = self._left_out | frozenset(queries)
        return other

    def with_review(self, reviewed: ReviewedTruth | None, scores: pa.Table, record: RunRecord) -> Result:
        """The same run with reviewed scores; losses and ties, computed from rules, are dropped for reviewed
        queries."""
        import pyarrow as pa
        import pyarrow.compute as pc

        other = self._copy()
        other.record, other.reviewed = record, reviewed
        other._replaced[SCORES.name] = scores
        if reviewed is not None:
            names = pa.array(reviewed.queries, pa.string())
            other._replaced[TIES.name] = self.ties.filter(pc.invert(pc.is_in(self.ties["query_id"], names)))
            other._replaced[LOSSES.name] = self.losses.slice(0, 0)
        return other

    def with_review_folder(self, folder: Path | None) -> Result:
        """The same run with its review in another folder; None means the folder below `reviews`."""
        other = self._copy()
        other.review_folder = folder
        return other

    def by_rules(self) -> Result:
        """The same run scored by its rules alone, as stored in the folder."""
        other = Result(self.path, self._workers, trust=self._trust)
        other.review_folder = self.review_folder
        return other

    @property
    def judged_by_people(self) -> frozenset[tuple[str, int]]:
        """Queries scored by people's judgments, each with the rank down to which results were judged."""
        return (
            frozenset((query, self.reviewed.k) for query in self.reviewed.queries)
            if self.reviewed
            else frozenset()
        )

    @property
    def truth(self) -> str:
        """Source of the judgments: `reviewed` if people's replace those of rules, else `rules`."""
        return "reviewed" if self.reviewed else "rules"

    @property
    def rescored(self) -> bool:
        """Whether the scores differ from those stored in the run's folder."""
        return SCORES.name in self._replaced

    def _copy(self) -> Result:
        """A copy of the run with its replaced tables."""
        other = self.by_rules()
        other.record, other.reviewed = self.record, self.reviewed
        other._left_out, other._replaced = self._left_out, dict(self._replaced)
        return other

    @cached_property
    def rankings(self) -> pa.Table:
        """One row per system, query and rank."""
        return self._table(RANKINGS)

    @cached_property
    def latencies(self) -> pa.Table:
        """One row per system, repeat and query, in milliseconds."""
        return self._table(LATENCIES)

    @cached_property
    def passages(self) -> pa.Table:
        """The text of the chunks among the first ten of any ranking."""
        return self._table(PASSAGES)

    @cached_property
    def losses(self) -> pa.Table:
        """One row per system, query and step: the best score still reachable after it."""
        return self._table(LOSSES)

    @cached_property
    def ties(self) -> pa.Table:
        """One row per system, query and measure whose value depends on the order of equal scores."""
        return self._table(TIES)

    @cached_property
    def placements(self) -> pa.Table:
        """One row per retriever and query; empty for runs of version 0.1."""
        stored = PLACEMENTS.name in self.record.tables
        return self._table(PLACEMENTS) if stored else PLACEMENTS.arrow().empty_table()

    @property
    def done(self) -> tuple[str, ...]:
        """Labels of the measured systems, in the order of the plan."""
        return self._with_status(Status.DONE)

    @cached_property
    def ordered(self) -> tuple[str, ...]:
        """Labels of the measured systems, best first: the order of every table of this run (F24)."""
        from bakeoff.stats.compare import rank_systems

        if not self.done:
            return ()
        primary = self.record.primary
        matrix = self.matrix(primary)
        place = {system: number for number, system in enumerate(rank_systems(matrix))}
        means = {system: one.mean for system, one in self.summaries(primary).items()}
        sign = -1.0 if matrix.higher_is_better else 1.0

        def key(system: str) -> tuple[float, bool, float]:
            return place.get(system, len(place)), means[system] is None, sign * (means[system] or 0.0)

        return tuple(sorted(self.done, key=key))

    @property
    def letters(self) -> dict[str, str]:
        """Label of each letter in the table of systems: A is the first of `ordered`."""
        from bakeoff.stats.number_format import letter

        return {letter(place): system for place, system in enumerate(self.ordered, start=1)}

    @property
    def failed(self) -> dict[str, str]:
        """Failed systems, each with its reason."""
        rows = self.systems.to_pylist()
        return {row["system"]: row["reason"] for row in rows if row["status"] != Status.DONE}

    @cached_property
    def comparison(self) -> Comparison:
        """All pairs of systems on the primary measure."""
        return self.compare(self.record.primary)

    @cached_property
    def verdict(self) -> Verdict:
        """Which system to use, or why the data can't decide."""
        from bakeoff.runs.verdict import decide_run

        return decide_run(self)

    @cached_property
    def recommendation(self) -> Recommendation | None:
        """The system to take, what that may cost, and why; None if no system finished."""
        from bakeoff.runs.recommend import recommend_run

        return recommend_run(self)

    def compare(self, measure: str) -> Comparison:
        """All pairs of systems on a measure, paired by query."""
        from bakeoff.stats.compare import compare_systems

        name = self.measure(measure)
        if name not in self._comparisons:
            self._comparisons[name] = compare_systems(self.matrix(name), self._settings, self._workers)
        return self._comparisons[name]

    def summaries(self, measure: str) -> dict[str, SystemSummary]:
        """Each system's mean and interval on a measure; cheaper than `compare` if pairs are not needed."""
        from bakeoff.stats.compare import summarise

        name = self.measure(measure)
        if name not in self._summaries:
            compared = self._comparisons.get(name)
            summaries = compared.systems if compared else summarise(self.matrix(name), self._settings)
            self._summaries[name] = {one.system: one for one in summaries}
        return self._summaries[name]

    @property
    def _settings(self) -> CompareSettings:
        from bakeoff.stats.bootstrap import BootstrapSettings
        from bakeoff.stats.compare import CompareSettings

        return CompareSettings(BootstrapSettings(self.record.seed))

    def matrix(self, measure: str) -> ScoreMatrix:
        """The scores of a measure, systems × queries."""
        from bakeoff.runs.score_matrix import score_matrix

        return score_matrix(self, self.measure(measure))

    def incomplete(self, measure: str) -> tuple[str, ...]:
        """Queries in a measure's means whose truth names files that were not read (F55)."""
        if parse(self.measure(measure)).definition.needs not in (
            RequiredInput.JUDGMENTS,
            RequiredInput.SPANS,
        ):
            return ()
        return tuple(dict.fromkeys(one.query_id for one in self.record.unread_truth))

    def measure(self, name: str) -> str:
        """Full name of a measure of this run, from a full or short one."""
        requested = parse(name)
        measures = [parse(text) for text in self.record.measures]
        # an explicit unit is binding: RR@10(answer) never resolves to RR@10(document) (F15)
        open_level = [
            one for one in measures if one.name == requested.name and None in (one.unit, requested.unit)
        ]
        alike = [one for one in open_level if one == replace(requested, unit=one.unit)]
        for measure in (*(one for one in measures if one == requested), *alike):
            return str(measure)
        raise ComparisonError(
            f"{name} was not measured in this run. It has: {', '.join(self.record.measures)}."
        )

    def system(self, name: str) -> str:
        """Label of a system, from its label, its letter in the table, or words only it contains."""
        if name in self.done:
            return name
        if not self.done:
            raise ComparisonError(f"no system of {self.path.name} finished, so {name!r} names none.")
        matches = match_labels(name, self.done, self.letters)
        if len(matches) == 1:
            return matches[0]
        why = f"matches {len(matches)} systems" if matches else "matches no system"
        raise ComparisonError(f"{name!r} {why} of this run. Systems: {'; '.join(matches or self.done)}.")

    def timing(self, system: str, phase: str, statistic: str) -> float | None:
        """One timing, or None if it was not measured."""
        return self._timing_index.get((system, phase, statistic))

    @cached_property
    def _timing_index(self) -> dict[tuple[str, str, str], float | None]:
        rows = self.timings.to_pylist()
        return {(row["system"], row["phase"], row["statistic"]): row["value"] for row in rows}

    def table_file(self, schema: Schema) -> Path:
        """Path of a table, for reading parts of it; raises if the run is unfinished or the table was changed."""
        require_finished(self.path, self.record)
        if not self._trust and schema.name not in self._unchanged:
            require_unchanged(self.path, schema, self.record)
            self._unchanged.add(schema.name)
        return self.path / f"{schema.name}.parquet"

    def _table(self, schema: Schema) -> pa.Table:
        if schema.name in self._replaced:
            return self._replaced[schema.name]
        return read_table(self.table_file(schema).parent, schema)

    def _with_status(self, status: Status) -> tuple[str, ...]:
        rows = zip(self.systems["system"].to_pylist(), self.systems["status"].to_pylist(), strict=True)
        return tuple(system for system, state in rows if state == status)


def open_run(folder: str | Path, workers: WorkerPool | None = None, *, trust: bool = False) -> Result:
    """Open the result in a run's folder, scored by its rules; `trust` accepts tables that were edited."""
    return Result(Path(folder), workers, trust=trust)


def compare(result: Result, a: str, b: str, measure: str | None = None) -> PairComparison:
    """Compare two systems of a run, paired by query; a name may be words that match one system only."""
    comparison = result.compare(measure or result.record.primary)
    return comparison.pair(result.system(a), result.system(b))
