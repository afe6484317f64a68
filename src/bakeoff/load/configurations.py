"""Every configuration measured anew in each repeat, ingestion and index included, at each depth."""

from __future__ import annotations

import datetime
import json
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bakeoff import __version__
from bakeoff.analysis import Result, open_run
from bakeoff.cache import write_file
from bakeoff.errors import BakeoffError
from bakeoff.events import Emit, StageAdvanced, StageFinished, StageStarted
from bakeoff.fingerprint import fingerprint
from bakeoff.load.apart import apart
from bakeoff.load.configuration_trial import (
    Figure,
    Ingestion,
    IngestionJob,
    SystemJob,
    ingest_documents,
    measure_configuration,
)
from bakeoff.load.speeds import SpeedComparison, compare_speeds
from bakeoff.plan import Part, Plan, System
from bakeoff.results import RunFolder, read_table, require_unchanged
from bakeoff.scratch import Scratch
from bakeoff.stats.runs import RunSummary, summarise
from bakeoff.types import Schema

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

STAGE = ("repeat", "configurations")

Pids = Callable[[str, Any], Iterable[int]]


@dataclass(frozen=True, slots=True)
class Configurations:
    """The figures of all repeats, by system, depth and figure."""

    rows: tuple[Mapping[str, Any], ...]

    def across_runs(self, system: str, figure: str, top_k: int | None = None) -> RunSummary:
        """A figure over the repeats that measured it."""
        found = [row["value"] for row in self._of(system, figure, top_k) if row["value"] is not None]
        return summarise(found)

    def note(self, system: str, figure: str, top_k: int | None = None) -> str:
        """Why a figure is null, '' where some repeat has it."""
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
        """The systems that a repeat could not measure, with the reason."""
        return {row["system"]: row["note"] for row in self.rows if row["figure"] == FAILED}

    def measured(self, system: str) -> tuple[str, str] | None:
        """When the first and the last repeat of a system were measured."""
        times = sorted(row["measured"] for row in self.rows if row["system"] == system)
        return (times[0], times[-1]) if times else None

    def compare(self, figure: str, top_k: int | None, seed: int) -> tuple[SpeedComparison, ...]:
        """All pairs of systems by a time or rate over repeats: Welch's test on logarithms, Holm-corrected."""
        runs = {one: self.across_runs(one, figure, top_k).values for one in self.systems}
        return compare_speeds({system: found for system, found in runs.items() if found}, seed)

    def _of(self, system: str, figure: str, top_k: int | None) -> list[Mapping[str, Any]]:
        wanted = (system, figure, top_k)
        return [row for row in self.rows if (row["system"], row["figure"], row["top_k"]) == wanted]


def read_configurations(result: Result) -> Configurations | None:
    """What was measured of a run's configurations; None where its experiment asks for no depths."""
    if CONFIGURATIONS.name not in result.record.tables:
        return None
    require_unchanged(result.path, CONFIGURATIONS, result.record)
    return Configurations(tuple(read_table(result.path, CONFIGURATIONS).to_pylist()))


def repeat_configurations(plan: Plan, result: Result, emit: Emit, pids: Pids) -> Result:
    """Measure every finished system in fresh processes, as often as the plan says; finished repeats are kept."""
    labels = dict(zip(result.record.systems, plan.systems, strict=True))
    systems = {label: labels[label] for label in result.done}
    repeats = _Repeats(plan, result, systems, emit, pids)
    begin = time.perf_counter()
    emit(StageStarted(*STAGE, plan.settings.runs * len(systems), "configurations"))
    rows = [row for number in range(plan.settings.runs) for row in repeats.measure(number)]
    emit(StageFinished(*STAGE, time.perf_counter() - begin, f"{plan.settings.runs} runs"))
    return _record(result, rows)


def _record(result: Result, rows: Sequence[Mapping[str, Any]]) -> Result:
    """The result with the rows as a table, and a note on each system that a repeat could not measure."""
    folder, record = RunFolder(result.path), result.record
    tables = {**record.tables, CONFIGURATIONS.name: folder.table(CONFIGURATIONS, [_table(rows)])}
    failures = Configurations(tuple(rows)).failures()
    notes = [
        f"{system}: its configuration could not be measured anew: {why}" for system, why in failures.items()
    ]
    folder.record(record.model_copy(update={"tables": tables, "notes": [*record.notes, *notes]}))
    return open_run(result.path)


class _Repeats:
    """The repeats of one run; each ingests anew, and its systems take turns in going first."""

    def __init__(
        self, plan: Plan, result: Result, systems: Mapping[str, System], emit: Emit, pids: Pids
    ) -> None:
        self._plan, self._result, self._systems = plan, result, systems
        self._emit, self._pids = emit, pids

    def measure(self, number: int) -> list[dict[str, Any]]:
        """The rows of one repeat."""
        order = _rotated(list(self._systems), number)
        kept = {label: self._kept(label, number) for label in order}
        found = {label: rows for label, rows in kept.items() if rows is not None}
        self._emit(StageAdvanced(*STAGE, len(found), cached=True))
        if len(found) < len(order):
            with Scratch("configurations") as home:
                for label in order:
                    if label not in found:
                        found[label] = self._measured(label, number, home)
                        self._emit(StageAdvanced(*STAGE, 1))
        return [row for label in self._systems for row in found[label]]

    def _measured(self, label: str, number: int, home: Path) -> list[dict[str, Any]]:
        try:
            figures = self._trial(label, number, home)
        except BakeoffError as exc:
            return self._rows(label, number, [Figure(FAILED, None, note=str(exc))])
        rows = self._rows(label, number, figures)
        path = self._path(label, number)
        path.parent.mkdir(exist_ok=True)
        write_file(path, json.dumps(rows).encode())
        return rows

    def _trial(self, label: str, number: int, home: Path) -> list[Figure]:
        system = self._systems[label]
        made = self._ingestion(system, home)
        store = system.store or system.keyword
        assert store is not None
        own = home / fingerprint(label)[:12]
        own.mkdir()
        pids = tuple(self._pids(store.name, store.params))
        salt = fingerprint("configuration", self._result.record.run, label, number)
        figures = apart(measure_configuration, SystemJob(self._plan, system, made, own, salt, pids))
        engine = next(one.value for one in figures if one.name == "engine_s")
        shared = next(one.value for one in made.figures if one.name == "documents_s")
        total = None if engine is None or shared is None else engine + shared
        return [*made.figures, *figures, Figure("total_s", total)]

    def _ingestion(self, system: System, home: Path) -> Ingestion:
        """Read, cut and embedded once in a repeat for the systems that share it."""
        place = home / fingerprint("ingestion", _names(system.chunker, system.embedder))[:12]
        done = place / "ingestion.json"
        if done.is_file():
            return _stored_ingestion(done)
        shutil.rmtree(
            place, ignore_errors=True
        )  # a failed one is not continued: its times would be of a part
        place.mkdir()
        found = apart(ingest_documents, IngestionJob(self._plan, system.chunker, system.embedder, place))
        kept = {**asdict(found), "home": str(found.home), "queries": str(found.queries or "")}
        write_file(done, json.dumps(kept).encode())
        return found

    def _kept(self, label: str, number: int) -> list[dict[str, Any]] | None:
        try:
            rows: list[dict[str, Any]] = json.loads(self._path(label, number).read_bytes())
        except (OSError, ValueError):
            return None
        return rows

    def _path(self, label: str, number: int) -> Path:
        """Named by everything that a repeat's figures depend on."""
        record, settings = self._result.record, self._plan.settings
        inputs = [record.corpus.fingerprint if record.corpus else "", record.queries_fingerprint]
        shaped = [settings.depth, settings.top_k, settings.metric, self._plan.conventions.to_dict()]
        identity = self._systems[label].identity()
        key = fingerprint(
            "configuration", __version__, label, identity, shaped, inputs, record.truth_fingerprint, number
        )
        return self._result.path / CONFIGURATIONS.name / f"{key}.json"

    def _rows(self, label: str, number: int, figures: Sequence[Figure]) -> list[dict[str, Any]]:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        run = self._result.record.run
        return [
            {
                "run": run,
                "system": label,
                "repeat": number,
                "top_k": one.top_k,
                "figure": one.name,
                "value": one.value,
                "note": one.note,
                "measured": now,
            }
            for one in figures
        ]


def _stored_ingestion(path: Path) -> Ingestion:
    kept = json.loads(path.read_bytes())
    return Ingestion(
        Path(kept["home"]),
        kept["vectors"],
        Path(kept["queries"]) if kept["queries"] else None,
        tuple(Figure(**one) for one in kept["figures"]),
    )


def _names(*parts: Part | None) -> list[str]:
    return [part.label if part else "" for part in parts]


def _rotated(labels: list[str], number: int) -> list[str]:
    at = number % len(labels) if labels else 0
    return [*labels[at:], *labels[:at]]


def _table(rows: Sequence[Mapping[str, Any]]) -> Any:
    return CONFIGURATIONS.table({name: [row[name] for row in rows] for name, _ in CONFIGURATIONS.columns})
