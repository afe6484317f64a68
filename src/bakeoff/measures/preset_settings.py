"""Data files of the source systems' presets: measures, bands, weights, decision thresholds."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """One value a preset decides by: its bands and weight; `per` is the divisor of a cost."""

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
    """Contents of one data file; `measures` come from the criteria if there are any, and `decision` holds the
    thresholds of its rules."""

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
    """Read the data file of a preset."""
    data = tomllib.loads((files("bakeoff") / "presets" / name / "settings.toml").read_text(encoding="utf-8"))
    criteria = tuple(Criterion(**one) for one in data.pop("criteria", ()))
    measures = data.pop("measures", [one.measure for one in criteria if one.measure])
    top_k = tuple(data.pop("top_k", ()))
    return PresetFile(**data, criteria=criteria, measures=tuple(measures), top_k=top_k)
