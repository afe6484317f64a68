"""The progress of a run, stored in its folder for other terminals and pages. progress.json is replaced
atomically, at most twice a second; the run itself never reads it back."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from bakeoff.runtime.events import (
    Emit,
    Event,
    StageAdvanced,
    StageFinished,
    StageStarted,
    SystemFinished,
    WarningRaised,
)

FILE = "progress.json"
EVERY_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class StageState:
    """One stage: `done` of `total` items since `started` (seconds since 1970), of which `cached` took no work."""

    stage: str
    label: str
    total: int
    what: str
    started: float
    done: int = 0
    cached: int = 0
    finished: float | None = None
    summary: str = ""

    def rate(self, now: float) -> float | None:
        """Items per second that took work; None before there are any."""
        worked, seconds = self.done - self.cached, (self.finished or now) - self.started
        return worked / seconds if worked > 0 and seconds > 0 else None

    def left(self, now: float) -> float | None:
        """Remaining seconds at that rate."""
        rate = self.rate(now)
        return (self.total - self.done) / rate if rate and self.finished is None else None


@dataclass(frozen=True, slots=True)
class RunProgress:
    """The stages so far, the finished systems, and the process."""

    pid: int
    updated: float
    stages: tuple[StageState, ...] = ()
    done: int = 0
    total: int = 0
    failed: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    ended: bool = False


class ProgressFile:
    """Listens to a run's events and keeps progress.json up to date."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._path, self._clock = folder / FILE, clock
        self._lock = threading.Lock()
        self._written = 0.0
        self._stages: dict[tuple[str, str], StageState] = {}
        self._state = RunProgress(os.getpid(), clock())
        self._write()

    def __call__(self, event: Event) -> None:
        """Handle one event; fast, because it is called between measurements."""
        with self._lock:
            self._note(event)
            if self._clock() - self._written >= EVERY_SECONDS:
                self._write()

    def close(self) -> None:
        """Write the final state when the run has ended."""
        with self._lock:
            self._state = replace(self._state, ended=True)
            self._write()

    def _note(self, event: Event) -> None:
        now = self._clock()
        match event:
            case StageStarted():
                key = (event.stage, event.label)
                self._stages[key] = StageState(event.stage, event.label, event.total, event.what, now)
            case StageAdvanced():
                self._advance(event)
            case StageFinished():
                key = (event.stage, event.label)
                if key in self._stages:
                    self._stages[key] = replace(self._stages[key], finished=now, summary=event.summary)
            case SystemFinished():
                failed = ((event.system, event.failed),) if event.failed else ()
                self._state = replace(
                    self._state, done=event.done, total=event.total, failed=(*self._state.failed, *failed)
                )
            case WarningRaised():
                self._state = replace(self._state, warnings=(*self._state.warnings, event.message))

    def _advance(self, event: StageAdvanced) -> None:
        key = (event.stage, event.label)
        if key in self._stages:
            old = self._stages[key]
            cached = old.cached + (event.count if event.cached else 0)
            self._stages[key] = replace(old, done=old.done + event.count, cached=cached)

    def _write(self) -> None:
        self._written = self._clock()
        state = replace(self._state, updated=self._written, stages=tuple(self._stages.values()))
        aside = self._path.with_name(f".{FILE}.{os.getpid()}")
        try:
            aside.write_text(json.dumps(asdict(state)), encoding="utf-8")
            aside.replace(self._path)
        except OSError:
            aside.unlink(missing_ok=True)  # a full disk stops the run where it matters, not here


def tee(one: Emit, other: Emit) -> Emit:
    """Two listeners as one."""

    def emit(event: Event) -> None:
        one(event)
        other(event)

    return emit


def read_progress(folder: Path) -> RunProgress | None:
    """The progress of a run, or None if the file is missing or being replaced."""
    try:
        data = json.loads((folder / FILE).read_text(encoding="utf-8"))
        stages = tuple(StageState(**stage) for stage in data.pop("stages"))
        failed = tuple((system, reason) for system, reason in data.pop("failed"))
        return RunProgress(**{**data, "warnings": tuple(data["warnings"])}, stages=stages, failed=failed)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def process_is_alive(progress: RunProgress) -> bool:
    """Whether the process that wrote it still runs on this machine."""
    import psutil

    return not progress.ended and bool(psutil.pid_exists(progress.pid))
