"""What validation finds, apart from how it is printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from bakeoff.corpus.skipped_files import SkippedFiles

Level = Literal["error", "warning", "note"]
LEVELS: tuple[Level, ...] = ("error", "warning", "note")
Automated = Literal["yes", "mostly", "partly", "no"]
AUTOMATED: tuple[Automated, ...] = ("yes", "mostly", "partly", "no")
"""How far rules judge without people: places named by a person; words whose hits were counted; words; nothing."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know: `code` names its kind, `where` its place, the message what it is and what to do."""

    level: Level
    code: str
    where: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthRow:
    """What a query's truth resolves to; `hits` by chunker ('' where bound to none), `share` of all units."""

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
    """The queries of one category ('' where they have none) by how far rules alone can judge them."""

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
    """The best mean that any system could reach on a measure; None where it cannot be known beforehand."""

    measure: str
    chunker: str
    best: float | None
    queries: int


@dataclass(frozen=True, slots=True)
class TargetCheck:
    """A wanted mean held against the best possible one; `query` is '' for one over all queries.

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
    """The smallest mean difference, in points, that this many queries show: in one pair, and among all pairs.

    `spread` is the standard deviation of paired differences; `basis` says whence it is. `clusters` of queries that are
    not independent multiply the variance of a mean by the `design_effect`.
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
    """Everything validation knows; `corpus` and `power` are None where it did not get so far."""

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
        """The number of findings that stop the run; with `strict`, warnings count too."""
        return len(self.of("error")) + (len(self.of("warning")) if strict else 0)
