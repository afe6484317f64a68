"""The first lines of a report: the question, the verdict, and what could change it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bakeoff.measures.names import parse
from bakeoff.report.render.number_text import count, describe_counts, name_some, questions, score
from bakeoff.report.sections.systems import MeasureNote, SystemsTable, queries_by_words
from bakeoff.runs.analysis import Result
from bakeoff.runs.empty_searches import empty_search_sentences
from bakeoff.runs.placements import placement_sentences
from bakeoff.runs.score_grid import ScoreGrid
from bakeoff.runs.verdict import leak_sentence, tie_notes
from bakeoff.stats.recommendation import Strength
from bakeoff.stats.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """The first screen of a report."""

    name: str
    question: str
    summary: str
    heading: str
    sentence: str
    lines: tuple[tuple[str, str], ...]
    """How sure, what would change it, warnings: each with its label."""
    banner: str
    reasons: tuple[str, ...]
    without_leaks: str
    could_change: tuple[str, ...]
    decided: bool


def headline(
    result: Result,
    grid: ScoreGrid,
    table: SystemsTable,
    means: Mapping[str, Mapping[str, float | None]],
    verdict: Verdict | None,
    notes: Sequence[str],
) -> Headline:
    """The first screen: the recommendation, then its evidence; `notes` are about the run and its figures."""
    advice = result.recommendation
    return Headline(
        name=result.record.name,
        question=question(result),
        summary=" · ".join(_summary(result, grid)),
        heading="Recommendation" if advice else "No recommendation",
        sentence=advice.sentence if advice else _nothing_finished(result),
        lines=advice.lines if advice else (),
        banner=advice.banner if advice else "",
        reasons=_reasons(verdict) if verdict else (),
        without_leaks=leak_sentence(result) if verdict else "",
        could_change=(*_could_change(result, grid, table, means, verdict), *notes, *tie_notes(result)),
        decided=advice is not None and advice.strength is Strength.TAKE,
    )


def question(result: Result) -> str:
    """The question in the first line of the experiment file, or the default one."""
    first = result.record.experiment.lstrip().partition("\n")[0]
    comment = first.lstrip("# ").strip()
    if first.startswith("#") and comment.endswith("?"):
        return comment
    return f"Which of {count(len(result.record.systems), 'system')} should be used for {result.record.name}?"


def _summary(result: Result, grid: ScoreGrid) -> Iterator[str]:
    negative = sum(query.negative for query in grid.queries)
    yield questions(len(grid.queries)) + (
        f", {negative:,} of them without a right answer" if negative else ""
    )
    if result.record.corpus is not None:
        yield count(result.record.corpus.documents, "document")
    failed = len(result.failed)
    yield count(len(result.record.systems), "system") + (f", {failed:,} failed" if failed else "")
    yield result.record.started.partition("T")[0]


def _reasons(verdict: Verdict) -> tuple[str, ...]:
    """What is shown and what is not, what would settle it, and the evidence."""
    settle = (verdict.would_settle,) if verdict.would_settle else ()
    return (verdict.sentence, *settle, *verdict.reasons)


def _nothing_finished(result: Result) -> str:
    return (
        f"No system finished: {len(result.failed):,} of {count(len(result.record.systems), 'system')} failed."
    )


def _could_change(
    result: Result,
    grid: ScoreGrid,
    table: SystemsTable,
    means: Mapping[str, Mapping[str, float | None]],
    verdict: Verdict | None,
) -> Iterator[str]:
    if verdict is None:
        yield from empty_search_sentences(result.record.empty_searches)
        yield from placement_sentences(result.record.placements, result.record.primary)
    yield from _other_measures(table, means)
    if result.failed and result.done:
        failures = name_some(list(result.failed))
        yield f"{count(len(result.failed), 'system')} failed and could not be compared: {failures}."
    yield from _lower_bounds(result, table)
    synthetic = sum(query.synthetic for query in grid.queries)
    if synthetic:
        of = questions(len(grid.queries))
        yield f"{synthetic:,} of {of} are synthetic: a program drafted them."
    stand_ins = [row.system for row in table.rows if row.stand_in]
    if stand_ins:
        named = name_some(stand_ins)
        yield f"{named} use a stand-in instead of the real model: their numbers do not describe that model."
    if result.record.runs == 1 and any(row.p50_ms is not None for row in table.rows):
        yield "Latency was measured in one run, so its variation between runs is unknown."


def _lower_bounds(result: Result, table: SystemsTable) -> Iterator[str]:
    """Which means are lower bounds, because keywords alone decide what is relevant to some questions (C-23)."""
    named = queries_by_words(result)
    bounds = [note.label for note in table.measures if note.lower_bound]
    others = [note.label for note in table.measures if parse(note.key).name in ("R", "nDCG", "AP")]
    if named and bounds:
        rest = f"; {name_some(others)} and differences between systems are not" if others else ""
        yield (
            f"{name_some(bounds)} are lower bounds: keywords alone decide what is relevant to {questions(len(named))}, "
            "and a "
            f"right answer in other words counts as wrong{rest}. Human judgments replace the keywords: bakeoff review."
        )


def _other_measures(table: SystemsTable, means: Mapping[str, Mapping[str, float | None]]) -> Iterator[str]:
    """Quality measures by which another system has the best mean."""
    if len(table.rows) < 2 or table.rows[0].primary.value is None:
        return
    first = table.rows[0]
    for note, own in zip(table.measures[1:], first.means[1:], strict=True):
        leader, value = _leader(note, means[note.key])
        if note.quality and own.value is not None and round(value - own.value, 9):
            yield (
                f"By {note.label}, {leader} is best: {score(value)} against {score(own.value)} "
                f"for {first.system} ({describe_counts(own.n, own.excluded)}; not tested)."
            )


def _leader(note: MeasureNote, means: Mapping[str, float | None]) -> tuple[str, float]:
    scored = {system: value for system, value in means.items() if value is not None}
    best = max if note.higher_is_better else min
    leader = best(scored, key=lambda system: scored[system], default="")
    return leader, scored.get(leader, 0.0)
