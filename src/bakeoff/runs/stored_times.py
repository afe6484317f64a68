"""Stored times of a run: seconds of each ingestion phase, and embedding speeds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.pipeline.timing import PER_SECOND, START_SECONDS
from bakeoff.runs.analysis import Result

WHOLE = "all"
PHASES = {
    "read": "read",
    "chunk": "chunk",
    "embed_chunks": "embed",
    "insert": "insert",
    "index": "index",
    "ready": "ready",
    "ingest": WHOLE,
}
"""Phases in display order; the whole ingestion has its own clock."""

START, SPEED = "model start", "embeddings/s"
"""Column headings: a model's start in seconds, and chunks embedded per second after it."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class StoredTime:
    """A stored time, or None with the reason."""

    value: float | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class PhaseRow:
    """Seconds of each phase of building a system's index, its model's start, and chunks embedded per second."""

    system: str
    phases: tuple[StoredTime, ...]
    start: StoredTime = StoredTime(None)
    speed: StoredTime = StoredTime(None)

    @property
    def start_text(self) -> str:
        """The model's start, formatted."""
        return "–" if self.start.value is None else f"{self.start.value:,.2f} s"

    @property
    def speed_text(self) -> str:
        """The speed, formatted, with a date if an earlier run measured it."""
        if self.speed.value is None:
            return "–"
        dated = _DATE.search(self.speed.note)
        return f"{self.speed.value:,.1f}" + (f" ({dated[0]})" if dated else "")


StoredTimes = dict[tuple[str, str, str], tuple[float | None, int, str]]


def phase_rows(result: Result, systems: Sequence[str]) -> tuple[tuple[str, ...], tuple[PhaseRow, ...]]:
    """The phases that occur, and their seconds by system."""
    stored = read_times(result)
    happened = [phase for phase in PHASES if any((s, phase, "seconds") in stored for s in systems)]
    rows = tuple(
        PhaseRow(
            system,
            tuple(stored_time(stored, system, phase, "seconds") for phase in happened),
            stored_time(stored, system, "embed_chunks", START_SECONDS),
            stored_time(stored, system, "embed_chunks", PER_SECOND),
        )
        for system in systems
    )
    return tuple(PHASES[phase] for phase in happened), rows if happened else ()


def earlier_phases(phases: Sequence[str], rows: Sequence[PhaseRow]) -> list[str]:
    """Phases whose time comes from an earlier run, with its date; the total is their sum."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        for phase, time in zip(phases, row.phases, strict=True):
            if time.value is not None and time.note and phase != WHOLE:
                found.setdefault(time.note, {})[phase] = None
    return [f"{', '.join(names)}: {note}" for note, names in found.items()]


def embed_speeds(result: Result) -> dict[str, PhaseRow]:
    """Rows of systems with an embedding speed; {} if none was measured."""
    _, rows = phase_rows(result, result.done)
    return {row.system: row for row in rows if row.speed.value is not None}


def read_times(result: Result) -> StoredTimes:
    """All stored times by system, phase and statistic: value, samples, note."""
    rows = result.timings.to_pylist()
    return {
        (row["system"], row["phase"], row["statistic"]): (row["value"], row["count"], row["note"] or "")
        for row in rows
    }


def stored_time(stored: StoredTimes, system: str, phase: str, statistic: str) -> StoredTime:
    """One stored time, or None with the reason."""
    value, _, note = stored.get((system, phase, statistic), (None, 0, "this system has no such step"))
    return StoredTime(value, note)
