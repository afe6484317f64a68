"""Recommends one system in every case: how firmly, on which grounds, and what a wrong choice may cost.

Candidates are the systems that give up at most the margin, at 95 %: the line then says "take". If the queries
show that of none, candidates are the best mean and those less than the margin below it: the line says "start
with". The first preference in which candidates differ materially decides between them, then the better mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from bakeoff.stats.comparison import Comparison, ScoreMatrix
from bakeoff.stats.evidence import Evidence
from bakeoff.stats.preferences import DEFAULT_RULE, DecisionRule, PreferenceChoice, choose_by_preference
from bakeoff.stats.regret import Regret, regrets
from bakeoff.stats.verdict import CLEAR_WINNER, LIFT_DECIDES, Verdict
from bakeoff.stats.verdict_input import VerdictInput


class Grounds(StrEnum):
    """Why a system is recommended."""

    ONLY_SYSTEM = "only-system"
    ONLY_WITHIN_LIMITS = "only-within-limits"
    NO_QUALITY = "no-quality"
    """No question is scored for every system: what the systems need decides."""
    BEATS_ALL = "beats-all"
    LIFT = "lift"
    WITHIN_MARGIN = "within-margin"
    TIED = "tied"
    """Its mean is less than the margin below the best, and what it needs decides."""
    BEST_MEAN = "best-mean"
    """Every other mean is lower by the margin or more, though it is not shown to be the best."""


class Strength(StrEnum):
    """How firmly a system is recommended."""

    TAKE = "take"
    """The queries show that no usable system is better by more than the margin."""
    START = "start"
    """They don't; it is the one to start with until more questions decide."""


FIRM = (Grounds.ONLY_WITHIN_LIMITS, Grounds.BEATS_ALL, Grounds.LIFT, Grounds.WITHIN_MARGIN)
"""Grounds which show that at most the margin is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The recommended system and its grounds, with all that their wording may use.

    `best` has the best mean; it is None if nothing is scored.
    """

    case: VerdictInput
    verdict: Verdict
    rule: DecisionRule
    system: str
    best: str | None
    grounds: Grounds
    candidates: tuple[str, ...]
    choice: PreferenceChoice

    @property
    def regret(self) -> Regret | None:
        """What the recommended system may lose."""
        return self.case.evidence.regrets.get(self.system)

    @property
    def strength(self) -> Strength:
        """How firmly the system is recommended; never firmly if no system is within the limits."""
        return Strength.TAKE if self.grounds in FIRM and self.case.eligible else Strength.START

    def with_margin(self, margin: float) -> Decision:
        """The decision with another margin."""
        rule = DecisionRule(margin, self.rule.prefer, self.rule.ratio)
        return choose_system(self.case.evidence, self.verdict, rule)


def find_regrets(matrix: ScoreMatrix, evidence: Evidence, seed: int) -> dict[str, Regret]:
    """Regret of each eligible system, or of the ranked ones if the limits leave none."""
    comparison = evidence.comparison
    systems = VerdictInput.of(evidence).eligible or comparison.ranking
    if not systems:
        return {}
    tied = tuple(
        system for system in systems if system == systems[0] or not _beaten(comparison, systems[0], system)
    )
    margin = evidence.thresholds.margin
    return regrets(matrix, systems, tied, seed, margin=margin, alpha=comparison.alpha)


def choose_system(evidence: Evidence, verdict: Verdict, rule: DecisionRule = DEFAULT_RULE) -> Decision:
    """Choose the system to take or to start with, and the grounds."""
    case = VerdictInput.of(evidence)
    comparison = evidence.comparison
    ranked = case.eligible or comparison.ranking
    systems = ranked or tuple(summary.system for summary in comparison.systems)
    best = ranked[0] if ranked else None
    grounds, candidates = _candidates(case, verdict, systems, rule.margin)
    choice = choose_by_preference(evidence.costs, candidates, rule)
    system = choice.left[0]
    if grounds is Grounds.TIED and len(candidates) == 1:
        grounds = Grounds.BEST_MEAN
    if verdict.rule == CLEAR_WINNER and system == best:
        grounds = Grounds.BEATS_ALL
    return Decision(
        case=case,
        verdict=verdict,
        rule=rule,
        system=system,
        best=best,
        grounds=grounds,
        candidates=candidates,
        choice=choice,
    )


def _candidates(
    case: VerdictInput, verdict: Verdict, systems: tuple[str, ...], margin: float
) -> tuple[Grounds, tuple[str, ...]]:
    """The systems to choose from, and their common grounds."""
    regret: Mapping[str, Regret] = case.evidence.regrets
    if len(systems) == 1:
        return _only_grounds(case), systems
    if not regret:
        return Grounds.NO_QUALITY, systems
    if verdict.rule == LIFT_DECIDES and verdict.system is not None:
        return Grounds.LIFT, (verdict.system,)
    if within := tuple(system for system in systems if regret[system].within(margin)):
        return Grounds.WITHIN_MARGIN, within
    return Grounds.TIED, tuple(system for system in systems if regret[system].ties(margin))


def _only_grounds(case: VerdictInput) -> Grounds:
    """Whether limits leave one of several compared systems, or there is nothing to compare."""
    compared = len(case.comparison.ranking) == len(case.comparison.systems) > 1
    return Grounds.ONLY_WITHIN_LIMITS if case.eligible and compared else Grounds.ONLY_SYSTEM


def _beaten(comparison: Comparison, best: str, other: str) -> bool:
    """Whether the tests show that the best is better, for questions like these."""
    pair = comparison.pair(best, other)
    ahead = (pair.difference or 0.0) * (1 if comparison.higher_is_better else -1) > 0
    return pair.passes_tests and ahead
