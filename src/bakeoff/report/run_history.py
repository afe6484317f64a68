"""Runs over time: what each measured, which system led and what changed; systems of several runs in one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from bakeoff.errors import ComparisonError, UserError
from bakeoff.report.render import number_text as say
from bakeoff.report.sections.parts import ReportSection, TextTable
from bakeoff.review.reviewed_run import Truth, open_reviewed, same_truth
from bakeoff.runs.analysis import Result
from bakeoff.runs.compare_runs import DatedSystem, RunsComparison, compare_across
from bakeoff.runs.folder import UNFINISHED, read_record, run_state
from bakeoff.runtime.count_text import decimal

SHORT = 20
"""Characters of a note that fit into a cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One run; `change` compares it with the previous run on the queries they share."""

    run: str
    started: str
    status: str
    measure: str
    system: str | None
    mean: float | None
    change: float | None
    told_apart: bool
    note: str
    truth: str = ""
    """Whose judgments the mean uses: `reviewed` or `rules`; the change uses what both runs have."""


def list_runs(
    folder: Path, measure: str | None = None, system: str | None = None, truth: Truth = "reviewed"
) -> list[HistoryEntry]:
    """The runs in a folder, oldest first; an unreadable run is an entry with its reason."""
    paths = sorted((path.parent for path in folder.glob("*/run.json")), key=_start_key)
    if not paths:
        raise ComparisonError(
            f"{folder} contains no runs. Give the folder that holds runs, or start one: bakeoff run"
        )
    entries: list[tuple[HistoryEntry, Result | None]] = []
    for path in paths:
        before = entries[-1] if entries else None
        entries.append(_read(path, measure, system, before, truth))
    return [entry for entry, _ in entries]


def table(entries: list[HistoryEntry]) -> tuple[list[str], list[list[str]]]:
    """Headers and rows for the terminal, one per run; a reason too long for a cell becomes a footnote."""
    headers = ["run", "started", "status", "truth", "system", "mean", "since", ""]
    references = {note: f"see [{number}]" for number, note in enumerate(footnotes(entries), start=1)}
    return headers, [_cells(entry, references) for entry in entries]


def footnotes(entries: list[HistoryEntry]) -> list[str]:
    """The reasons too long for a cell, once each, in the order of the runs."""
    return list(dict.fromkeys(entry.note for entry in entries if len(entry.note) > SHORT))


def _start_key(path: Path) -> tuple[str, str]:
    """Sort key: start time, then name; unreadable runs come first."""
    try:
        return read_record(path).started, path.name
    except UserError:
        return "", path.name


def _read(
    path: Path,
    measure: str | None,
    system: str | None,
    before: tuple[HistoryEntry, Result | None] | None,
    truth: Truth,
) -> tuple[HistoryEntry, Result | None]:
    try:
        result = open_reviewed(path, truth=truth)
        if not result.done:
            return _unread(path, result.record.status, result.record.started, "no system finished"), None
        return _entry(result, measure, system, before), result
    except UserError as exc:
        status, started = _recorded_state(path)
        return _unread(path, status, started, str(exc)), None


def _recorded_state(path: Path) -> tuple[str, str]:
    """State and start of a run that can't be read as a result: an unfinished run is not damaged."""
    try:
        record = read_record(path)
    except UserError:
        return "unreadable", ""
    return (run_state(path, record), record.started) if record.status in UNFINISHED else ("unreadable", "")


def _entry(
    result: Result, measure: str | None, system: str | None, before: tuple[HistoryEntry, Result | None] | None
) -> HistoryEntry:
    name = result.measure(measure or result.record.primary)
    comparison = result.compare(name)
    chosen = result.system(system) if system else comparison.best
    mean = comparison.summary(chosen).mean if chosen else None
    change, separated, note = _change(result, name, chosen, before)
    record = result.record
    return HistoryEntry(
        run=record.run,
        started=record.started,
        status=record.status,
        measure=name,
        system=chosen,
        mean=mean,
        change=change,
        told_apart=separated,
        note=note,
        truth=result.truth,
    )


def _change(
    result: Result, measure: str, system: str | None, before: tuple[HistoryEntry, Result | None] | None
) -> tuple[float | None, bool, str]:
    """A system's paired difference from the previous run, whether it is significant, and what prevents a test."""
    if before is None or before[1] is None or system is None:
        return None, False, ""
    earlier = before[1]
    if system not in earlier.done:
        return None, False, "new system"
    try:
        one, other = same_truth((earlier, result)).results
        pair = compare_across(one, other, measure).pair(
            f"{system} @ {result.record.run}", f"{system} @ {earlier.record.run}"
        )
    except ComparisonError as exc:
        return None, False, str(exc)
    return pair.difference, pair.better is not None, "" if pair.better else "tied"


def _unread(path: Path, status: str, started: str, note: str) -> HistoryEntry:
    return HistoryEntry(
        run=path.name,
        started=started,
        status=status,
        measure="",
        system=None,
        mean=None,
        change=None,
        told_apart=False,
        note=note,
    )


def _cells(entry: HistoryEntry, references: Mapping[str, str]) -> list[str]:
    change = decimal(entry.change, 4, "+").replace("-", "−")
    facts = [
        entry.run,
        entry.started[:16].replace("T", " "),
        entry.status,
        entry.truth or "–",
        entry.system or "–",
    ]
    return [*facts, decimal(entry.mean, 4), change, references.get(entry.note, entry.note)]


NOTE = "Scores are paired by question. Compare latencies and speeds within one run only."


def runs_section(comparison: RunsComparison, truth: str) -> ReportSection:
    """The section of a report; `truth` is whose judgments were used."""
    grid = runs_grid(comparison)
    best = comparison.comparison.best
    runs = len({system.run for system in comparison.systems})
    finding = (
        f"{best} has the best mean of all systems in {runs} runs" if best else "The runs share no question"
    )
    return ReportSection("runs", "Runs of different days", f"{finding}.", (grid,), (truth, NOTE))


def runs_grid(comparison: RunsComparison) -> TextTable:
    """One row per system."""
    headings = (
        "system", "run", "date", comparison.comparison.measure, "difference", "interval", "better / worse / equal",
        "Holm p",
    )  # fmt: skip
    return TextTable(headings, tuple(_row(comparison, row) for row in comparison.order_systems()), left=3)


def _row(found: RunsComparison, one: DatedSystem) -> tuple[str, ...]:
    comparison = found.comparison
    first = (one.name, one.run, one.started[:10], say.score(comparison.summary(one.name).mean))
    if comparison.best is None or one.name == comparison.best:
        return (*first, "–", "–", "–", "–")
    pair = comparison.pair(one.name, comparison.best)
    interval = say.interval(pair.interval.low, pair.interval.high) or "no spread"
    wins = f"{pair.wins} / {pair.losses} / {pair.ties}"
    return (*first, say.format_signed(pair.difference), interval, wins, say.p_value(pair.p_holm))


def comparison_json(found: RunsComparison) -> dict[str, object]:
    """The comparison for a script."""
    comparison = found.comparison
    return {
        "measure": comparison.measure,
        "best": comparison.best,
        "systems": [
            {**asdict(row), "mean": comparison.summary(row.name).mean} for row in found.order_systems()
        ],
        "pairs": [{**asdict(pair), "effective_n": pair.effective_n} for pair in comparison.pairs],
    }
