"""The presets of the source systems as data files of the package: measures, bands, weights, lines of decisions."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """One value a preset decides by: its bands, and its weight in the score; `per` is what a cost is divided by."""

    name: str
    title: str
    measure: str = ""
    unit: str = ""
    good: float | None = None
    poor: float | None = None
    weight: float | None = None
    per: float | None = None
    smaller_is_better: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PresetFile:
    """What one data file holds; `measures` are those of the criteria where a file has such, and `decision` the lines
    that its rules draw."""

    source: str
    summary: str
    unit: str
    primary: str
    measures: tuple[str, ...] = ()
    conventions: Mapping[str, str] = field(default_factory=dict)
    criteria: tuple[Criterion, ...] = ()
    actions: Mapping[str, str] = field(default_factory=dict)
    decision: Mapping[str, float] = field(default_factory=dict)
    key_measures: Mapping[str, str] = field(default_factory=dict)
    runs: int = 1
    top_k: tuple[int, ...] = ()
    true_neighbours: int = 0
    table_k: int = 0


@cache
def read_preset_file(name: str) -> PresetFile:
    """The data file of a preset."""
    data = tomllib.loads((files("bakeoff") / "presets" / name / "settings.toml").read_text(encoding="utf-8"))
    criteria = tuple(Criterion(**one) for one in data.pop("criteria", ()))
    measures = data.pop("measures", [one.measure for one in criteria if one.measure])
    top_k = tuple(data.pop("top_k", ()))
    return PresetFile(**data, criteria=criteria, measures=tuple(measures), top_k=top_k)
