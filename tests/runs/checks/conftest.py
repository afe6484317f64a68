"""A small experiment to break in one place at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bakeoff.runs.checks.checking import validate
from bakeoff.runs.checks.findings import Finding, ValidationReport

TEXTS = {
    "auth.md": "# Signing in\n\nTokens are checked for their signature and for the time at which they end.\n",
    "mail.md": "# Post\n\nLetters are sorted by district before the carriers take them out in the morning.\n",
    "trains.md": "# Rail\n\nA timetable change is announced two weeks ahead on every platform of the line.\n",
}
TEXTS |= {
    f"other/{i}.md": f"# Part {i}\n\nNothing of interest stands in part number {i} of this manual.\n"
    for i in range(9)
}

QUERIES = """\
queries:
  - {id: sign, text: how long may a session last, truth: {documents: [auth.md]}}
  - {id: post, text: who brings parcels in town, truth: {documents: [mail.md]}}
  - {id: rail, text: when do passengers learn of new departures, truth: {documents: [trains.md]}}
  - {id: none, text: recipe for bread with seeds, truth: negative}
"""

EXPERIMENT = """\
name: small
corpus: {folder: docs}
queries: queries.yaml
chunkers: [line]
embedders: [wordllama]
modes: [bm25]
measures: {primary: nDCG@5(document), also: [P@5(document)]}
"""


Change = str | tuple[tuple[str, str], ...]
"""A whole text, or what to replace in the sound one."""


def _changed(text: str, change: Change) -> str:
    if isinstance(change, str):
        return change
    for old, new in change:
        assert old in text, old
        text = text.replace(old, new)
    return text


@dataclass(frozen=True)
class Lab:
    """An experiment in a folder of its own."""

    folder: Path

    @property
    def experiment(self) -> Path:
        return self.folder / "bakeoff.yaml"

    def write(self, *, queries: Change = (), experiment: Change = (), **texts: str) -> None:
        for name, text in (TEXTS | texts).items():
            path = self.folder / "docs" / name.replace("__", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        (self.folder / "queries.yaml").write_text(_changed(QUERIES, queries), encoding="utf-8")
        self.experiment.write_text(_changed(EXPERIMENT, experiment), encoding="utf-8")

    def report(self, pilot: Path | None = None) -> ValidationReport:
        return validate(self.experiment, home=self.folder / "home", pilot=pilot)

    def found(self, code: str) -> list[Finding]:
        return [finding for finding in self.report().findings if finding.code == code]


@pytest.fixture
def lab(tmp_path: Path) -> Callable[..., Lab]:
    """Writes the experiment, changed as asked, and gives it."""

    def make(**changes: Any) -> Lab:
        made = Lab(tmp_path)
        made.write(**changes)
        return made

    return make
