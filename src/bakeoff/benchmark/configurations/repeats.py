"""Measures every configuration from scratch in each repeat: ingestion, index, and search at each depth."""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff import __version__
from bakeoff.benchmark.configurations.jobs import TrialFigure
from bakeoff.benchmark.configurations.trial import Servers, Trials
from bakeoff.benchmark.results.configurations import (
    CONFIGURATIONS,
    FAILED,
    Configurations,
)
from bakeoff.benchmark.session import rotate
from bakeoff.benchmark.targets import Pids
from bakeoff.config.plan import Plan, System
from bakeoff.errors import BakeoffError
from bakeoff.fingerprint import fingerprint
from bakeoff.runs.analysis import Result, open_run
from bakeoff.runs.folder import RunFolder
from bakeoff.runtime.events import Emit, StageAdvanced, StageFinished, StageStarted
from bakeoff.storage.cache import write_file
from bakeoff.storage.temp_dir import TempDir
from bakeoff.types import Json, JsonObject

if TYPE_CHECKING:
    import pyarrow as pa


STAGE = ("repeat", "configurations")


def repeat_configurations(plan: Plan, result: Result, emit: Emit, pids: Pids) -> Result:
    """Measure every finished system in fresh processes, as often as planned; finished repeats are kept."""
    labels = dict(zip(result.record.systems, plan.systems, strict=True))
    systems = {label: labels[label] for label in result.done}
    repeats = _Repeats(plan, result, systems, emit, pids)
    begin = time.perf_counter()
    emit(StageStarted(*STAGE, plan.settings.runs * len(systems), "configurations"))
    rows = [row for number in range(plan.settings.runs) for row in repeats.measure(number)]
    emit(
        StageFinished(
            *STAGE,
            time.perf_counter() - begin,
            "1 run" if plan.settings.runs == 1 else f"{plan.settings.runs} runs",
        )
    )
    return _record(result, rows)


def _record(result: Result, rows: Sequence[Mapping[str, object]]) -> Result:
    """The result with the rows as a table, and a note on each system that a repeat could not measure."""
    folder, record = RunFolder(result.path), result.record
    tables = {**record.tables, CONFIGURATIONS.name: folder.table(CONFIGURATIONS, [_table(rows)])}
    failures = Configurations(tuple(rows)).failures()
    notes = [f"{system}: its configuration could not be repeated: {why}" for system, why in failures.items()]
    folder.record(record.model_copy(update={"tables": tables, "notes": [*record.notes, *notes]}))
    return open_run(result.path)


class _Repeats:
    """The repeats of one run; each ingests from scratch, and systems take turns going first."""

    def __init__(
        self, plan: Plan, result: Result, systems: Mapping[str, System], emit: Emit, pids: Pids
    ) -> None:
        self._plan, self._result, self._systems = plan, result, systems
        self._emit, self._servers = emit, Servers(pids)

    def measure(self, number: int) -> list[JsonObject]:
        """The rows of one repeat."""
        order = rotate(list(self._systems), number)
        stored = {label: self._read_stored(label, number) for label in order}
        finished = {label: rows for label, rows in stored.items() if rows is not None}
        self._emit(StageAdvanced(*STAGE, len(finished), cached=True))
        if len(finished) < len(order):
            with TempDir("configurations") as home:
                trials = Trials(self._plan, home, self._servers)
                for label in order:
                    if label not in finished:
                        finished[label] = self._measure_system(label, number, trials)
                        self._emit(StageAdvanced(*STAGE, 1))
        return [row for label in self._systems for row in finished[label]]

    def _measure_system(self, label: str, number: int, trials: Trials) -> list[dict[str, object]]:
        salt = fingerprint("configuration", self._result.record.run, label, number)
        try:
            figures = trials.measure(self._systems[label], salt)
        except BakeoffError as exc:
            return self._rows(label, number, [TrialFigure(FAILED, None, note=str(exc))])
        rows = self._rows(label, number, figures)
        path = self._path(label, number)
        path.parent.mkdir(exist_ok=True)
        write_file(path, json.dumps(rows).encode())
        return rows

    def _read_stored(self, label: str, number: int) -> list[dict[str, object]] | None:
        try:
            rows: list[JsonObject] = json.loads(self._path(label, number).read_bytes())
        except (OSError, ValueError):
            return None
        return rows

    def _path(self, label: str, number: int) -> Path:
        """A key of everything that a repeat's figures depend on."""
        record, settings = self._result.record, self._plan.settings
        inputs = [record.corpus.fingerprint if record.corpus else "", record.queries_fingerprint]
        shaped = [settings.depth, settings.top_k, settings.metric, self._plan.conventions.to_dict()]
        identity = self._systems[label].identity()
        key = fingerprint(
            "configuration", __version__, label, identity, shaped, inputs, record.truth_fingerprint, number
        )
        return self._result.path / CONFIGURATIONS.name / f"{key}.json"

    def _rows(self, label: str, number: int, figures: Sequence[TrialFigure]) -> list[JsonObject]:
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


def _table(rows: Sequence[Mapping[str, Json]]) -> pa.Table:
    return CONFIGURATIONS.table({name: [row[name] for row in rows] for name, _ in CONFIGURATIONS.columns})
