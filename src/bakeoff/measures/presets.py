"""Presets as data: the measures, cut-offs, units and thresholds of each source system."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace

from bakeoff.errors import MeasureError
from bakeoff.measures.conventions import DEFAULT, TREC_EVAL, Conventions
from bakeoff.measures.names import Measure, parse
from bakeoff.preset_files import read_preset_file
from bakeoff.types import Unit


@dataclass(frozen=True, slots=True)
class Target:
    """A threshold of a source system: good above `good`, poor below `poor`."""

    measure: str
    good: float
    poor: float | None = None


@dataclass(frozen=True, slots=True)
class Preset:
    """What one source system reports, on this engine."""

    name: str
    source: str
    summary: str
    unit: Unit
    names: tuple[str, ...]
    primary: str
    conventions: Conventions = DEFAULT
    targets: tuple[Target, ...] = ()
    runs: int = 1
    top_k: tuple[int, ...] = ()
    """How often a run repeats its measurement, and the depths it measures by themselves, unless the file says so."""

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures, parsed."""
        return tuple(parse(name) for name in self.names)


_TREC_CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_S3_CUTS = (1, 3, 5, 10, 20)

_LINEAGE = read_preset_file("lineage")

PRESETS: tuple[Preset, ...] = (
    Preset(
        "trec_eval",
        "trec_eval",
        "As trec_eval scores: sorted by score then id; queries without relevant items score 0.",
        Unit.DOCUMENT,
        (
            "AP",
            "Rprec",
            "bpref",
            "RR",
            *(f"{name}@{k}" for name in ("P", "R", "nDCG", "AP") for k in _TREC_CUTS),
            *(f"Hit@{k}" for k in (1, 5, 10)),
            "infAP",
            "nDCG",
        ),
        "AP",
        TREC_EVAL,
    ),
    Preset(
        "lineage",
        "S0",
        "Embedding models for SQL-lineage questions, judged by file.",
        Unit.DOCUMENT,
        tuple(one.measure for one in _LINEAGE.criteria if one.measure),
        _LINEAGE.primary,
        targets=tuple(
            Target(one.measure, one.good, one.poor)
            for one in _LINEAGE.criteria
            if one.measure and one.good is not None
        ),
    ),
    Preset(
        "ann",
        "S1",
        "Approximate against exact nearest neighbours.",
        Unit.VECTOR,
        (
            "kNN@10(vector)",
            "kNN@100(vector)",
            "R100@10(vector)",
            "R100@100(vector)",
            "P@10(vector)",
            "RR(vector)",
        ),
        "kNN@10(vector)",
    ),
    Preset(
        "code",
        "S2",
        "Code search: ranked by file, and by whether the answer itself was retrieved.",
        Unit.DOCUMENT,
        (
            "nDCG@10(document)",
            "RR(document)",
            "R@10(document)",
            "P@1(document)",
            "Hit@1(answer)",
            "Hit@3(answer)",
            "Hit@5(answer)",
            "RR@10(answer)",
        ),
        "nDCG@10(document)",
    ),
    Preset(
        "vectordb",
        "S3",
        "Vector databases by the documents behind the first k chunks.",
        Unit.DOCUMENT,
        (
            *(f"R@{k}(document)" for k in _S3_CUTS),
            *(f"P_unique@{k}(document)" for k in _S3_CUTS),
            *(f"RR@{k}(document)" for k in _S3_CUTS),
            "RR(document)",
            "nDCG@10(document)",
        ),
        "R@10(document)",
        replace(DEFAULT, k_counts="chunks"),
        runs=3,
        top_k=_S3_CUTS,
    ),
    Preset(
        "goldsql",
        "S4",
        "Queries with SQL truth, section targets and human review.",
        Unit.CHUNK,
        (
            "RR(chunk)",
            "Hit@1(chunk)",
            "Hit@5(chunk)",
            "Hit@10(chunk)",
            "P@5(chunk)",
            "R@10(chunk)",
            "nDCG@10(chunk)",
            "SecAcc@10(chunk)",
            "SecAcc_primary@10(chunk)",
            "SemPrec@10(chunk)",
            "SemLift@10(chunk)",
            "FalsePos@10(chunk)",
            "Judged@10(chunk)",
        ),
        "RR(chunk)",
        replace(DEFAULT, section_match="contains"),
    ),
)

_SOURCES = {preset.source.lower(): preset for preset in PRESETS}
BY_NAME: dict[str, Preset] = {preset.name: preset for preset in PRESETS}


def preset(name: str) -> Preset:
    """The preset of that name, or of that source system (s0 … s4)."""
    found = BY_NAME.get(name) or _SOURCES.get(name.lower())
    if found is None:
        near = difflib.get_close_matches(name, list(BY_NAME), n=1, cutoff=0.4)
        hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(BY_NAME)}."
        raise MeasureError(f"no preset is called {name!r}. {hint}")
    return found
