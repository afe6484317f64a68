"""The bundled experiments with their corpora and queries."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from bakeoff.errors import SettingError


@dataclass(frozen=True, slots=True)
class Example:
    """A bundled experiment."""

    name: str
    title: str

    @property
    def experiment(self) -> Path:
        """Its experiment file."""
        return Path(__file__).parent / self.name / "bakeoff.yaml"


_ALL = (
    Example("stdlib", "questions about Python's standard library, answered by its source code"),
    Example("lineage", "questions about a SQL warehouse: joins, schemas, data flow, transformations"),
    Example(
        "incidents",
        "S4's fifty questions over synthetic accident reports: truth by SQL, signals and sections",
    ),
)


def examples() -> tuple[Example, ...]:
    """Every example that is installed."""
    return tuple(example for example in _ALL if example.experiment.exists())


def find(name: str) -> Example:
    """The example of a name."""
    known = {example.name: example for example in examples()}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise SettingError(f"no example is called {name!r}.{hint} Known: {', '.join(known)}.")
