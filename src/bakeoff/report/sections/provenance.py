"""Provenance of the numbers: truth rules, chunk sizes, exclusions, conventions, machine, experiment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import parse
from bakeoff.report.sections.sanity import sanity_notes
from bakeoff.runs.analysis import Result
from bakeoff.runs.record import ChunkingRecord, LengthRecord, RuleHit
from bakeoff.runs.score_grid import ScoreGrid
from bakeoff.runs.verdict import verdict_thresholds
from bakeoff.runtime.count_text import count
from bakeoff.stats.verdict import rule_table

ROWS_SHOWN = 200
NAMES_SHOWN = 40


@dataclass(frozen=True, slots=True)
class ExclusionRow:
    """Queries excluded from the means of some measures, for one reason."""

    reason: str
    measures: tuple[str, ...]
    queries: tuple[str, ...]
    hidden: int


@dataclass(frozen=True, slots=True)
class CappedList:
    """Rows to show, and how many more there are."""

    rows: tuple[tuple[str, str], ...]
    hidden: int


@dataclass(frozen=True, slots=True)
class RuleHitRow:
    """One row of the verdict's table of rules; `applied` is the one that decided."""

    number: int
    name: str
    when: str
    verdict: str
    applied: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Everything about a run except scores and times."""

    rules: tuple[RuleHit, ...]
    rules_hidden: int
    chunkings: tuple[ChunkingRecord, ...]
    lengths: tuple[LengthRecord, ...]
    exclusions: tuple[ExclusionRow, ...]
    skipped: CappedList
    conventions: tuple[tuple[str, str], ...]
    environment: tuple[tuple[str, str], ...]
    identity: tuple[tuple[str, str], ...]
    verdict_rules: tuple[RuleHitRow, ...]
    notes: tuple[str, ...]
    experiment: str
    command: str


def describe_provenance(result: Result, grid: ScoreGrid, applied: str | None) -> Provenance:
    """The record of a run, in reading order."""
    record = result.record
    skipped = record.corpus.skipped if record.corpus else []
    files = sum(group.files for group in record.corpus.left_out) if record.corpus else 0
    return Provenance(
        rules=tuple(record.truth_hits[:ROWS_SHOWN]),
        rules_hidden=max(0, len(record.truth_hits) - ROWS_SHOWN),
        chunkings=tuple(record.chunkings),
        lengths=tuple(record.lengths),
        exclusions=_exclusions(result),
        skipped=CappedList(tuple(skipped[:ROWS_SHOWN]), max(len(skipped), files) - len(skipped[:ROWS_SHOWN])),
        conventions=tuple((name, _plain(value)) for name, value in record.conventions.items()),
        environment=tuple(_environment(result)),
        identity=tuple(_identity(result)),
        verdict_rules=tuple(
            RuleHitRow(*row, row[1] == applied) for row in rule_table(verdict_thresholds(result))
        ),
        notes=(*record.notes, *sanity_notes(result, grid)),
        experiment=record.experiment,
        command=f"bakeoff report {record.run}",
    )


def _exclusions(result: Result) -> tuple[ExclusionRow, ...]:
    """Excluded queries by reason and by the measures they are excluded from."""
    rows = zip(*(result.queries[name].to_pylist() for name in ("query_id", "negative")), strict=True)
    negative = {query: "no right answer (negative)" for query, is_negative in rows if is_negative}
    by_query: dict[tuple[str, str], list[str]] = {}
    for exclusion in result.record.excluded:
        by_query.setdefault(
            (exclusion.query_id, negative.get(exclusion.query_id, exclusion.reason)), []
        ).append(exclusion.measure)
    needing = [
        name
        for name in result.record.measures
        if parse(name).definition.needs is not RequiredInput.TOP_SCORES
    ]
    # other reasons are listed with the scores; no mean counts a negative query, not even the mean of a cost
    by_query |= dict.fromkeys(negative.items(), needing)
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (query, reason), measures in by_query.items():
        groups.setdefault((reason, tuple(dict.fromkeys(measures))), []).append(query)
    return tuple(
        ExclusionRow(reason, measures, tuple(queries[:NAMES_SHOWN]), max(0, len(queries) - NAMES_SHOWN))
        for (reason, measures), queries in groups.items()
    )


def _environment(result: Result) -> Iterable[tuple[str, str]]:
    record = result.record
    yield "bakeoff", record.bakeoff
    for name, value in record.machine.items():
        yield name.replace("_", " "), str(value)
    for name, version in sorted(record.versions.items()):
        yield name, version


def _identity(result: Result) -> Iterable[tuple[str, str]]:
    record, corpus = result.record, result.record.corpus
    yield "run", record.run
    yield "status", record.status
    yield "started", record.started
    yield "finished", record.finished or "not finished"
    yield "seed", str(record.seed)
    yield "chunks retrieved per question", f"{record.depth:,}"
    yield "timing runs", str(record.runs)
    for name, limit in record.limits.items():
        if limit is not None:
            yield f"limit {name}", f"{limit:g}"
    for name, target in record.targets.items():
        yield f"target {name}", f"{target:g}"
    if corpus is not None:
        yield (
            "corpus",
            f"{count(corpus.documents, 'document')}, {corpus.characters:,} characters, {corpus.fingerprint}",
        )
        if corpus.language:
            yield "language", corpus.language
    yield "questions", record.queries_fingerprint
    yield "truth", record.truth_fingerprint
    yield "plan", record.plan


def _plain(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_plain(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
