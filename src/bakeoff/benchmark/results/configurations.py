"""Stored results of repeated configurations: figures by system, repeat and depth."""

from __future__ import annotations

from dataclasses import dataclass

from bakeoff.benchmark.results.speeds import SpeedComparison, compare_speeds
from bakeoff.runs.analysis import Result
from bakeoff.runs.folder import read_table, require_unchanged
from bakeoff.stats.repeat_summary import RunSummary, summarise
from bakeoff.storage.schemas import Schema
from bakeoff.types import TableRow

CONFIGURATIONS = Schema(
    "configurations",
    (
        ("run", "string"),
        ("system", "string"),
        ("repeat", "int32"),
        ("top_k", "int32"),
        ("figure", "string"),
        ("value", "double"),
        ("note", "string"),
        ("measured", "string"),
    ),
)
"""One row per (system, repeat, depth, figure); `top_k` is null for ingestion, `measured` says when."""
FAILED = "failed"
PHASES = ("read_s", "chunk_s", "embed_s", "insert_s", "index_s", "ready_s")


@dataclass(frozen=True, slots=True)
class Configurations:
    """The figures of all repeats, by system, depth and figure."""

    rows: tuple[TableRow, ...]

    def across_runs(self, system: str, figure: str, top_k: int | None = None) -> RunSummary:
        """A figure over the repeats that measured it."""
        values = [row["value"] for row in self._of(system, figure, top_k) if row["value"] is not None]
        return summarise(values)

    def note(self, system: str, figure: str, top_k: int | None = None) -> str:
        """Why a figure is null; '' if some repeat has it."""
        rows = self._of(system, figure, top_k)
        if any(row["value"] is not None for row in rows):
            return ""
        return next((row["note"] for row in rows if row["note"]), "not measured")

    def depths(self, system: str) -> tuple[int, ...]:
        """The depths of a system, in order."""
        return tuple(sorted({row["top_k"] for row in self.rows if row["system"] == system and row["top_k"]}))

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems with any figure of a search, in the order measured."""
        return tuple(dict.fromkeys(row["system"] for row in self.rows if row["top_k"]))

    def failures(self) -> dict[str, str]:
        """The systems that could not be repeated, with the reason."""
        return {row["system"]: row["note"] for row in self.rows if row["figure"] == FAILED}

    def measured_between(self, system: str) -> tuple[str, str] | None:
        """When the first and the last repeat of a system were measured."""
        times = sorted(row["measured"] for row in self.rows if row["system"] == system)
        return (times[0], times[-1]) if times else None

    def compare(self, figure: str, top_k: int | None, seed: int) -> tuple[SpeedComparison, ...]:
        """All pairs of systems by a time or rate over repeats: Welch's test on logarithms, Holm-corrected."""
        runs = {one: self.across_runs(one, figure, top_k).values for one in self.systems}
        return compare_speeds({system: values for system, values in runs.items() if values}, seed)

    def _of(self, system: str, figure: str, top_k: int | None) -> list[TableRow]:
        key = (system, figure, top_k)
        return [row for row in self.rows if (row["system"], row["figure"], row["top_k"]) == key]


def read_configurations(result: Result) -> Configurations | None:
    """The repeated configurations of a run; None if its experiment has no depths."""
    if CONFIGURATIONS.name not in result.record.tables:
        return None
    require_unchanged(result.path, CONFIGURATIONS, result.record)
    return Configurations(tuple(read_table(result.path, CONFIGURATIONS).to_pylist()))
