"""The evidence as the rules use it: eligible systems, the best, and those not beaten."""

from __future__ import annotations

from dataclasses import dataclass

from bakeoff.stats.comparison import Comparison, PairComparison, share_at_best
from bakeoff.stats.correction import holm
from bakeoff.stats.evidence import CostChoice, Evidence, beyond_limits, choose_by_cost
from bakeoff.stats.interaction import Interaction
from bakeoff.stats.number_format import questions


@dataclass(frozen=True, slots=True)
class VerdictInput:
    """The input of a decision; `eligible` systems are within the limits, best mean first."""

    evidence: Evidence
    eligible: tuple[str, ...]
    ruled_out: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, evidence: Evidence) -> VerdictInput:
        """Build the input from the evidence."""
        reasons = {system: beyond_limits(evidence, system) for system in evidence.comparison.ranking}
        eligible = tuple(system for system, reason in reasons.items() if reason is None)
        ruled_out = [(system, reason) for system, reason in reasons.items() if reason is not None]
        for summary in evidence.comparison.systems:
            if summary.system not in reasons:
                ruled_out.append((summary.system, f"only {questions(summary.n)} scored for it"))
        return cls(evidence, eligible, tuple(ruled_out))

    @property
    def comparison(self) -> Comparison:
        """The comparison on the primary measure."""
        return self.evidence.comparison

    @property
    def best(self) -> str:
        """The eligible system with the best mean."""
        return self.eligible[0]

    @property
    def rivals(self) -> tuple[str, ...]:
        """The other eligible systems, best first."""
        return self.eligible[1:]

    def pair(self, other: str) -> PairComparison:
        """The best system against another."""
        return self.comparison.pair(self.best, other)

    @property
    def unbeaten(self) -> tuple[str, ...]:
        """Rivals that the best is not shown to beat at its level."""
        return tuple(other for other in self.rivals if self.pair(other).better != self.best)

    @property
    def group(self) -> tuple[str, ...]:
        """The best and the rivals it is not shown to beat."""
        return (self.best, *self.unbeaten)

    @property
    def doubtful_rival(self) -> str | None:
        """First rival that the best leads by the tests, though rare questions not sampled could undo it."""
        return next((other for other in self.unbeaten if self.pair(other).passes_tests), None)

    @property
    def compared_rivals(self) -> int:
        """Number of comparisons of one system, over which a level is corrected."""
        return max(1, len(self.comparison.systems) - 1)

    @property
    def beaten(self) -> tuple[str, ...]:
        """Rivals that the best is shown to beat."""
        unbeaten = set(self.unbeaten)
        return tuple(other for other in self.rivals if other not in unbeaten)

    @property
    def equal(self) -> bool:
        """Whether all systems of the group are shown to be within the margin of each other."""
        margin = self.evidence.thresholds.margin
        pairs = self.group_pairs
        return bool(pairs) and all(pair.equivalent(margin) for pair in pairs)

    @property
    def group_pairs(self) -> tuple[PairComparison, ...]:
        """All pairs of the group."""
        return tuple(
            self.comparison.pair(a, b) for i, a in enumerate(self.group) for b in self.group[i + 1 :]
        )

    @property
    def share_at_best(self) -> float | None:
        """Share of the group's scores that are the best possible; None without a best."""
        return share_at_best(self.comparison, self.group)

    @property
    def saturated(self) -> bool:
        """Whether the unbeaten systems have too many perfect scores for the measure to separate them."""
        share = self.share_at_best if self.rivals and self.unbeaten else None
        return share is not None and share >= self.evidence.thresholds.saturated

    @property
    def separating_pair(self) -> tuple[str, PairComparison] | None:
        """Another measure of the run and the pair of the group it separates most clearly, corrected over all
        pairs."""
        pairs = [(other.measure, pair) for other in self.evidence.other_measures for pair in other.pairs]
        corrected = holm([pair.p_randomisation for _, pair in pairs])
        found = [
            (p, place)
            for place, ((_, pair), p) in enumerate(zip(pairs, corrected, strict=True))
            if pair.separated and p <= pair.alpha
        ]
        return pairs[min(found)[1]] if found else None

    @property
    def least_saturated(self) -> tuple[str, float] | None:
        """The run's other measure with the fewest best possible scores, unless it is saturated too."""
        shares = [
            (share, place)
            for place, other in enumerate(self.evidence.other_measures)
            if (share := share_at_best(other, self.group)) is not None
        ]
        if not shares or min(shares)[0] >= self.evidence.thresholds.saturated:
            return None
        share, place = min(shares)
        return self.evidence.other_measures[place].measure, share

    @property
    def by_cost(self) -> CostChoice:
        """Systems of the group that are not shown to cost more than the cheapest."""
        return choose_by_cost(self.evidence, self.group)

    @property
    def crossing_interaction(self) -> Interaction | None:
        """A pair of the best and another system, each significantly better on some category."""
        for one in self.evidence.interactions:
            concerns = self.best in (one.a, one.b) and {one.a, one.b} <= set(self.eligible)
            if concerns and one.p_holm <= self.evidence.thresholds.alpha and one.crosses:
                return one
        return None

    @property
    def lift_winner(self) -> str | None:
        """The system of the group that beats all others on semantic lift and is shown to be no worse, or None."""
        lift = self.evidence.lift
        names = set() if lift is None else {summary.system for summary in lift.systems}
        if lift is None or len(self.group) < 2 or not set(self.group) <= names:
            return None
        margin = self.evidence.thresholds.margin
        for system in self.group:
            others = [other for other in self.group if other != system]
            ahead = all(lift.pair(system, other).better == system for other in others)
            if ahead and all(self.comparison.pair(system, other).no_worse(margin) for other in others):
                return system
        return None
