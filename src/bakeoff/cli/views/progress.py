"""A run's progress: one bar per stage on a terminal, one line per stage elsewhere."""

from __future__ import annotations

import threading
import time

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.table import Column
from rich.text import Text

from bakeoff.cli.console import plain
from bakeoff.cli.views.sanitise import one_line
from bakeoff.runtime.count_text import per_second
from bakeoff.runtime.events import (
    Event,
    StageAdvanced,
    StageFinished,
    StageStarted,
    SystemFinished,
    WarningRaised,
)

LINE_SECONDS = 10.0
BAR, SHORT_BAR, WIDE = 16, 6, 100
"""Characters of a bar on a terminal of at least `WIDE` characters, and on a narrower one."""


class _Rate(ProgressColumn):
    """Rate and time left while a stage runs; summary and seconds afterwards."""

    def render(self, task: Task) -> Text:
        if task.fields["summary"]:
            return Text(f"{one_line(task.fields['summary'])}  {task.fields['seconds']:.1f} s", style="dim")
        if not task.speed:
            return Text("")
        left = f"{task.time_remaining:.0f} s left" if task.time_remaining else ""
        return Text(f"{task.completed:,.0f}/{task.total or 0:,.0f}  {per_second(task.speed)}  {left}")


class ProgressBars:
    """Progress bars."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("{task.fields[stage]:<9}"),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=BAR if console.width >= WIDE else SHORT_BAR),
            _Rate(table_column=Column(no_wrap=True)),
            console=console,
            transient=False,
        )
        self._tasks: dict[tuple[str, str], TaskID] = {}
        self._console = console
        self._lock = threading.Lock()
        self._progress.start()

    def __call__(self, event: Event) -> None:
        with self._lock:
            self._show(event)

    def close(self) -> None:
        """Stop updating the bars and leave them on the screen."""
        self._progress.stop()

    def _show(self, event: Event) -> None:
        match event:
            case StageStarted():
                self._tasks[event.stage, event.label] = self._progress.add_task(
                    one_line(event.label),
                    total=max(event.total, 1),
                    stage=event.stage,
                    summary="",
                    seconds=0.0,
                )
            case StageAdvanced():
                self._progress.advance(self._tasks[event.stage, event.label], event.count)
            case StageFinished():
                task = self._tasks[event.stage, event.label]
                total = self._progress.tasks[task].total
                self._progress.update(
                    task, completed=total, summary=event.summary or "done", seconds=event.seconds
                )
            case SystemFinished():
                self._system(event)
            case WarningRaised():
                self._progress.console.print(Text.assemble(("warning", "yellow"), "  ", plain(event.message)))

    def _system(self, event: SystemFinished) -> None:
        if event.failed:
            words = ("   ", plain(event.system), "  ", plain(event.failed))
            self._progress.console.print(Text.assemble(("failed", "bold red"), *words))
        key = ("measure", "systems")
        if key not in self._tasks:
            self._tasks[key] = self._progress.add_task(
                "systems", total=event.total, stage="measure", summary="", seconds=0.0
            )
        self._progress.update(self._tasks[key], completed=event.done)


class ProgressLines:
    """One line when a stage ends, and one every ten seconds while it runs."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lock = threading.Lock()
        self._running: dict[tuple[str, str], list[float]] = {}

    def __call__(self, event: Event) -> None:
        with self._lock:
            line = self._line(event)
            if line:
                self._console.print(plain(line), soft_wrap=True)

    def _line(self, event: Event) -> str:
        match event:
            case StageStarted():
                now = time.monotonic()
                self._running[event.stage, event.label] = [0.0, float(event.total), now, now]
            case StageAdvanced():
                return self._on_advance(event)
            case StageFinished():
                words = (event.label, event.summary, f"{event.seconds:.1f} s")
                return f"{event.stage:<9} " + "  ".join(word for word in words if word)
            case SystemFinished() if event.failed:
                return f"failed    {event.system}  {event.failed}"
            case SystemFinished():
                origin = ", from the earlier run" if event.resumed else ""
                return f"measured  {event.system}  ({event.done} of {event.total}{origin})"
            case WarningRaised():
                return f"warning   {event.message}"
        return ""

    def _on_advance(self, event: StageAdvanced) -> str:
        state = self._running[event.stage, event.label]
        state[0] += event.count
        now = time.monotonic()
        if event.cached or now - state[3] < LINE_SECONDS:
            return ""
        state[3] = now
        rate = state[0] / max(now - state[2], 1e-9)
        left = (state[1] - state[0]) / rate if rate else 0.0
        return f"{event.stage:<9} {event.label}  {state[0]:,.0f}/{state[1]:,.0f}  {per_second(rate)}  {left:.0f} s left"
