"""Presets: the measures, cut-offs, units and thresholds of each source system."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from bakeoff.errors import MeasureError
from bakeoff.measures.conventions import DEFAULT, TREC_EVAL, Conventions
from bakeoff.measures.names import Measure, parse
from bakeoff.measures.preset_settings import read_preset_file
from bakeoff.types import Unit


@dataclass(frozen=True, slots=True)
class PresetTarget:
    """A threshold of a source system: good above `good`, poor below `poor`."""

    measure: str
    good: float
    poor: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """What one source system reports, on this engine."""

    name: str
    source: str
    summary: str
    unit: Unit
    names: tuple[str, ...]
    primary: str
    conventions: Conventions = DEFAULT
    targets: tuple[PresetTarget, ...] = ()
    runs: int = 1
    top_k: tuple[int, ...] = ()
    """Number of repeats and the depths to measure one by one; an experiment can override both."""
    key_measures: tuple[tuple[str, str], ...] = ()
    """Key measures for categories whose name contains a word."""

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures, parsed."""
        return tuple(parse(name) for name in self.names)


_TREC_CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)


def _from_file(name: str) -> Preset:
    """Load the preset of a source system from its data file."""
    data = read_preset_file(name)
    bands = [
        PresetTarget(one.measure, one.good, one.poor)
        for one in data.criteria
        if one.measure and one.good is not None
    ]
    return Preset(
        name=name,
        source=data.source,
        summary=data.summary,
        unit=Unit(data.unit),
        names=data.measures,
        primary=data.primary,
        conventions=DEFAULT.with_values(data.conventions),
        targets=tuple(bands),
        runs=data.runs,
        top_k=data.top_k,
        key_measures=tuple(data.key_measures.items()),
    )


PRESETS: tuple[Preset, ...] = (
    Preset(
        name="trec_eval",
        source="trec_eval",
        summary="As trec_eval scores: sorted by score then id; queries without relevant items score 0.",
        unit=Unit.DOCUMENT,
        names=(
            "AP",
            "Rprec",
            "bpref",
            "RR",
            *(f"{name}@{k}" for name in ("P", "R", "nDCG", "AP") for k in _TREC_CUTS),
            *(f"Hit@{k}" for k in (1, 5, 10)),
            "infAP",
            "nDCG",
        ),
        primary="AP",
        conventions=TREC_EVAL,
    ),
    *map(_from_file, ("lineage", "ann", "code", "vectordb", "goldsql")),
)

_SOURCES = {preset.source.lower(): preset for preset in PRESETS}
BY_NAME: dict[str, Preset] = {preset.name: preset for preset in PRESETS}


def preset(name: str) -> Preset:
    """The preset with that name, or of that source system (s0 … s4)."""
    chosen = BY_NAME.get(name) or _SOURCES.get(name.lower())
    if chosen is None:
        near = difflib.get_close_matches(name, list(BY_NAME), n=1, cutoff=0.4)
        hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(BY_NAME)}."
        raise MeasureError(f"no preset is called {name!r}. {hint}")
    return chosen
