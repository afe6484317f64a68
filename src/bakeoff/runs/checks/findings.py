"""The findings of validation, independent of how they are printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from bakeoff.corpus.skipped_files import SkippedFiles

Level = Literal["error", "warning", "note"]
LEVELS: tuple[Level, ...] = ("error", "warning", "note")
Automated = Literal["yes", "mostly", "partly", "no"]
AUTOMATED: tuple[Automated, ...] = ("yes", "mostly", "partly", "no")
"""How far rules can judge without people: places named by a person; words with counted hits; words; nothing."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: `code` is its kind, `where` its place; the message gives problem and remedy."""

    level: Level
    code: str
    where: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthRow:
    """What a query's truth resolves to; `hits` by chunker ('' if bound to none), `share` of all units."""

    id: str
    category: str
    difficulty: str
    state: Literal["judged", "negative", "unjudged"]
    synthetic: bool
    documents: int
    hits: Mapping[str, int]
    share: float | None


@dataclass(frozen=True, slots=True)
class AutomationRow:
    """Queries of one category ('' if none) by how far rules alone can judge them."""

    category: str
    counts: Mapping[Automated, int]


@dataclass(frozen=True, slots=True)
class RuleRow:
    """How often one rule of a query was true, and in how many documents."""

    query: str
    rule: str
    source: str
    chunker: str
    hits: int
    documents: int


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Best mean any system could reach on a measure; None if it can't be known beforehand."""

    measure: str
    chunker: str
    best: float | None
    queries: int


@dataclass(frozen=True, slots=True)
class TargetCheck:
    """A target mean and the best possible one; `query` is '' for a target over all queries.

    `origin` is the experiment, a preset or the query file.
    """

    measure: str
    wanted: float
    best: float
    origin: str
    query: str
    reachable: bool


@dataclass(frozen=True, slots=True)
class Power:
    """Smallest mean difference, in points, that this many queries can detect: in one pair, and among all pairs.

    `spread` is the standard deviation of paired differences, `basis` its source. `clusters` of dependent
    queries multiply the variance of a mean by the `design_effect`.
    """

    measure: str
    queries: int
    pairs: int
    spread: float
    basis: str
    detectable: float
    detectable_of_all: float
    clusters: int
    design_effect: float


@dataclass(frozen=True, slots=True)
class CorpusFacts:
    """What was read."""

    documents: int
    characters: int
    language: str
    skipped: tuple[SkippedFiles, ...]
    chunks: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """Everything validation found; `corpus` and `power` are None if it stopped before them."""

    name: str
    findings: tuple[Finding, ...]
    systems: int = 0
    corpus: CorpusFacts | None = None
    queries: tuple[TruthRow, ...] = ()
    rules: tuple[RuleRow, ...] = ()
    automation: tuple[AutomationRow, ...] = ()
    ceilings: tuple[Ceiling, ...] = ()
    targets: tuple[TargetCheck, ...] = ()
    power: Power | None = None
    declared_mix: Mapping[str, float] = field(default_factory=dict)
    conventions: Mapping[str, object] = field(default_factory=dict)

    def of(self, level: Level) -> tuple[Finding, ...]:
        """The findings of a level."""
        return tuple(finding for finding in self.findings if finding.level == level)

    def faults(self, *, strict: bool = False) -> int:
        """Number of findings that stop the run; `strict` also counts warnings."""
        return len(self.of("error")) + (len(self.of("warning")) if strict else 0)
