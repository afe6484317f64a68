"""The numbers of presets as data files of the package: thresholds, weights, normalisers, actions."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class PresetFile:
    """What one data file holds."""

    primary: str
    criteria: tuple[Criterion, ...]
    actions: Mapping[str, str]


@cache
def read_preset_file(name: str) -> PresetFile:
    """The data file of a preset."""
    data = tomllib.loads((files(__package__) / f"{name}.toml").read_text(encoding="utf-8"))
    return PresetFile(data["primary"], tuple(Criterion(**one) for one in data["criteria"]), data["actions"])
