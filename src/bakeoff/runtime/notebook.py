"""Notebook output: small HTML tables with escaped values, and the progress of a run."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from html import escape
from typing import Protocol

from bakeoff.runtime.events import (
    Emit,
    Event,
    StageAdvanced,
    StageFinished,
    StageStarted,
    SystemFinished,
    WarningRaised,
)

REFRESH_SECONDS = 0.2
"""Minimum seconds between two updates of the page."""


class DisplayHandle(Protocol):
    """A region of a notebook's output that can be redrawn."""

    def update(self, obj: object) -> None:
        """Replace what is shown."""


def html_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of plain texts."""
    head = "".join(f"<th>{escape(one)}</th>" for one in headers)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def lines_html(sentence: str, lines: Iterable[str]) -> str:
    """A sentence in bold, and a paragraph for each line."""
    return f"<p><strong>{escape(sentence)}</strong></p>" + "".join(f"<p>{escape(line)}</p>" for line in lines)


def notebook_listener() -> Emit | None:
    """A listener that draws a run's progress in the calling notebook; None outside a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import HTML, display

    handle = display(HTML(""), display_id=True)
    return NotebookProgress(handle)


class NotebookProgress:
    """The stages and systems of a run as a table that is redrawn as they advance."""

    def __init__(self, handle: DisplayHandle) -> None:
        self._handle = handle
        self._stages: dict[tuple[str, str], list[float]] = {}
        self._summaries: dict[tuple[str, str], str] = {}
        self._notes: list[str] = []
        self._drawn = 0.0

    def __call__(self, event: Event) -> None:
        """Handle one event; after a recent update, the next one redraws."""
        finished = not isinstance(event, StageAdvanced)
        self._take(event)
        now = time.monotonic()
        if finished or now - self._drawn >= REFRESH_SECONDS:
            self._drawn = now
            self._draw()

    def _take(self, event: Event) -> None:
        match event:
            case StageStarted():
                self._stages[event.stage, event.label] = [0.0, float(max(event.total, 1))]
            case StageAdvanced():
                self._stages[event.stage, event.label][0] += event.count
            case StageFinished():
                place = event.stage, event.label
                self._stages[place][0] = self._stages[place][1]
                self._summaries[place] = f"{event.summary}  {event.seconds:.1f} s".strip()
            case SystemFinished():
                self._stages["measure", "systems"] = [float(event.done), float(event.total)]
                if event.failed:
                    self._notes.append(f"failed: {event.system}: {event.failed}")
            case WarningRaised():
                self._notes.append(f"warning: {event.message}")

    def _draw(self) -> None:
        from IPython.display import HTML

        rows = "".join(self._row(place, done, total) for place, (done, total) in self._stages.items())
        notes = "".join(f"<p>{escape(note)}</p>" for note in self._notes)
        self._handle.update(HTML(f"<table><tbody>{rows}</tbody></table>{notes}"))

    def _row(self, place: tuple[str, str], done: float, total: float) -> str:
        stage, label = place
        text = self._summaries.get(place) or f"{done:,.0f} of {total:,.0f}"
        bar = f'<progress value="{done:.0f}" max="{total:.0f}"></progress>'
        return (
            f"<tr><td>{escape(stage)}</td><td>{escape(label)}</td><td>{bar}</td><td>{escape(text)}</td></tr>"
        )
