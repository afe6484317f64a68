"""The wording of a recommendation: one line that answers and three below it, for every screen, file and export.

"Take" is written in one place, for a system that gives up at most the margin; everywhere else the line says
"Start with".
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from bakeoff.stats.comparison import PairComparison
from bakeoff.stats.evidence import Costs, Evidence
from bakeoff.stats.number_format import (
    advantage,
    equality_needs,
    join_names,
    points,
    points_to_three,
    questions,
    round_count,
    short_names,
    undetected,
)
from bakeoff.stats.preferences import (
    DEFAULT_RULE,
    DecisionRule,
    choose_by_preference,
    describe_expense,
    describe_saving,
)
from bakeoff.stats.recommendation import Decision, Grounds, Strength, choose_system
from bakeoff.stats.regret import Regret
from bakeoff.stats.verdict import Verdict
from bakeoff.stats.verdict_text import advise_saturated

LEAST_BOUND = 0.0005
"""Smaller bounds are written as 0."""
LARGEST_MARGIN = 0.1
"""Larger margins are not suggested: they would give up too much."""
OPENINGS = {Strength.TAKE: "Take", Strength.START: "Start with"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """What to take or start with, in one line; how sure, what would change it, and warnings."""

    system: str
    strength: Strength
    grounds: Grounds
    sentence: str
    sure: str
    change: str
    expected: float | None
    bound: float | None
    candidates: tuple[str, ...]
    decided_by: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    banner: str = ""
    """A warning that outweighs the recommendation: the evidence is of another kind than it looks."""
    vectors: str = ""
    """The smallest vector form shown to be within the margin, or that there is none; '' without forms."""

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """The labelled lines below the sentence, without empty ones."""
        lines = (
            ("How sure", self.sure),
            ("Would change", self.change),
            ("Vectors", self.vectors),
            ("Mind", " ".join(self.warnings)),
        )
        return tuple((label, text) for label, text in lines if text)


def recommend(evidence: Evidence, verdict: Verdict, rule: DecisionRule = DEFAULT_RULE) -> Recommendation:
    """Put the recommendation that follows from the evidence into words."""
    decision = choose_system(evidence, verdict, rule)
    words = _Words(decision, short_names(tuple(summary.system for summary in evidence.comparison.systems)))
    return Recommendation(
        system=decision.system,
        strength=decision.strength,
        grounds=decision.grounds,
        sentence=words.sentence(),
        sure=words.sure(),
        change=" ".join(words.change()),
        expected=None if decision.regret is None else decision.regret.expected,
        bound=None if decision.regret is None else decision.regret.bound,
        candidates=decision.candidates,
        decided_by=decision.choice.decided_by,
    )


@dataclass(frozen=True, slots=True)
class _Words:
    """The parts of the sentence and of the lines."""

    decision: Decision
    names: dict[str, str]

    @property
    def measure(self) -> str:
        """The measure with its unit (F15)."""
        return self.decision.case.comparison.measure

    @property
    def on_questions(self) -> str:
        """ "on your 60 questions"."""
        return f"on {self._yours}"

    def sentence(self) -> str:
        """Take X, or start with X: why, what it may cost, what it needs less of."""
        quality = {
            Grounds.ONLY_SYSTEM: self._only,
            Grounds.ONLY_WITHIN_LIMITS: self._only,
            Grounds.NO_QUALITY: self._no_quality,
            Grounds.BEATS_ALL: self._beats_all,
            Grounds.LIFT: self._by_lift,
            Grounds.WITHIN_MARGIN: self._within,
            Grounds.TIED: self._tied,
            Grounds.BEST_MEAN: self._best_mean,
        }[self.decision.grounds]()
        opening = f"{OPENINGS[self.decision.strength]} {self.names[self.decision.system]}. {quality}."
        return " ".join([opening, *self._costs_sentence(), *self._limits(), *self._categories()])

    def _only(self) -> str:
        comparison = self.decision.case.comparison
        mean = comparison.summary(self.decision.system).mean
        score = (
            "" if mean is None else f"; it scores {points_to_three(mean)} {self.measure} {self.on_questions}"
        )
        if self.decision.grounds is Grounds.ONLY_WITHIN_LIMITS:
            return f"It is the only system within the limits{score}"
        which = "with results" if len(comparison.systems) == 1 else "with enough scored questions"
        return f"It is the only system {which}, so nothing is compared{score}"

    def _no_quality(self) -> str:
        return "No question is scored for every system, so quality can't decide"

    def _beats_all(self) -> str:
        case = self.decision.case
        ahead = advantage(case.pair(case.rivals[0]), self.measure)
        count = len(case.rivals)
        others = {1: "the other system", 2: "both other systems"}.get(count, f"all {count} other systems")
        return f"It beats {others} {self.on_questions}{', the next' if count > 1 else ''} by {ahead}"

    def _by_lift(self) -> str:
        return f"People judge it better at equal {self.measure} {self.on_questions}{self._price()}"

    def _within(self) -> str:
        if self.decision.case.saturated:
            return self._too_easy()
        if self.decision.system != self.decision.best:
            return f"It is within {self._margin} of the best {self.on_questions}{self._price()}"
        claim = f"no other system is better by more than {self._margin}"
        return f"It has the best mean {self.on_questions}, and {claim}{self._price()}"

    def _tied(self) -> str:
        if self.decision.case.saturated:
            return self._too_easy()
        tie = "the best" if self.decision.system != self.decision.best else self._others
        return f"It ties with {tie}; {self._yours} can't settle which is better{self._price()}"

    def _best_mean(self) -> str:
        return f"It has the best mean, but {self._yours} can't show that it is the best{self._price()}"

    def _too_easy(self) -> str:
        case = self.decision.case
        share, some = case.share_at_best or 0.0, len(case.group) < len(case.comparison.ranking)
        every, of_all = ("each of their scores is", "their") if some else ("every score is", "the")
        scores = every if share == 1 else f"{100 * share:.0f} % of {of_all} scores are"
        easy = "Your only question is" if case.comparison.common == 1 else "Your questions are"
        ranked = f"the best {len(case.group)} systems" if some else "by quality"
        return f"{easy} too easy to rank {ranked}: {scores} the best possible{self._price()}"

    @property
    def _yours(self) -> str:
        common = self.decision.case.comparison.common
        return "your only question" if common == 1 else f"your {questions(common)}"

    @property
    def _margin(self) -> str:
        return points(self.decision.rule.margin)[0]

    @property
    def _others(self) -> str:
        """The other candidates: a single name, or their number."""
        others = [one for one in self.decision.candidates if one != self.decision.system]
        return self.names[others[0]] if len(others) == 1 else f"{len(others)} other systems"

    def _price(self) -> str:
        """ "You may give up at most .031 nDCG@10, expected .004"."""
        regret = self.decision.regret
        if regret is None:
            return ""
        if regret.bound < LEAST_BOUND:
            return " (nothing is given up)"
        at_most = f"you may give up at most {points_to_three(regret.bound)} {self.measure}"
        if self.decision.case.comparison.common < 2:
            return f" ({at_most})"  # one question has no spread, so nothing can be expected
        expected = "under .001" if regret.expected < LEAST_BOUND else points_to_three(regret.expected)
        return f" ({at_most}, expected {expected})"

    @property
    def _rival(self) -> str | None:
        """The system to compare costs with: the best mean, or the first candidate that was excluded."""
        if self.decision.system != self.decision.best and self.decision.best is not None:
            return self.decision.best
        gone = [one for one in self.decision.candidates if one not in self.decision.choice.left]
        if not gone and self.decision.grounds in (Grounds.BEATS_ALL, Grounds.BEST_MEAN):
            gone = list(self.decision.case.rivals)
        return gone[0] if gone else None

    def _costs(self, system: str) -> Costs:
        return self.decision.case.evidence.costs.get(system, Costs())

    def _compared_costs(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What the system needs less of than its rival, and what more of."""
        rival = self._rival
        if rival is None:
            return (), ()
        own, other, rule = self._costs(self.decision.system), self._costs(rival), self.decision.rule
        return describe_saving(own, other, rule), describe_expense(own, other, rule)

    def _costs_sentence(self) -> Iterator[str]:
        """What the system needs less of than its rival, and the first thing it needs more of; or that none is
        cheaper."""
        saving, expense = self._compared_costs()
        if saving:
            yield f"It {_join_phrases(saving)}{f', but {expense[0]}' if expense else ''}."
        elif expense:
            yield f"It {expense[0]}."
        elif len(self.decision.candidates) > 1:
            yield f"None of these systems is clearly cheaper to run, so {self._without_preference()}."

    def _without_preference(self) -> str:
        """What decides between candidates that cost the same."""
        means = {self.decision.case.comparison.summary(one).mean for one in self.decision.candidates}
        return "any of them will do" if len(means) == 1 else "the better mean decides"

    def _limits(self) -> Iterator[str]:
        """A sentence if no system is within the limits."""
        case = self.decision.case
        if not case.eligible and case.comparison.ranking:
            reason = dict(case.ruled_out)[self.decision.system]
            yield f"No system is within the limits: its {reason}."

    def _categories(self) -> Iterator[str]:
        """Categories where another system is better."""
        crossing = self.decision.case.crossing_interaction if self.decision.case.eligible else None
        if crossing is None or self.decision.system not in (crossing.a, crossing.b):
            return
        first = crossing.a == self.decision.system
        other, categories = (crossing.b, crossing.for_b) if first else (crossing.a, crossing.for_a)
        kinds = join_names(tuple(one.category for one in categories))
        yield f"For {kinds}, {self.names[other]} is better: use it there if you can tell these questions."

    def sure(self) -> str:
        """What this many questions can show, and how far apart the two relevant systems are."""
        pair = self._pair()
        if pair is None or pair.n == 0:
            return self._sure_alone()
        comparison = self.decision.case.comparison
        unseen = (
            ""
            if pair.mdd is None
            else f" With {questions(pair.n)}, {undetected(pair.mdd, comparison.bounds)} usually go undetected."
        )
        other = self.names[pair.b if pair.a == self.decision.system else pair.a]
        if pair.identical:
            return f"It scores the same as {other} on every question; {self._possible(pair)} is still possible.{unseen}"
        if self.decision.grounds is Grounds.BEATS_ALL:  # the sentence has the lead
            return f"Its lead is more than chance explains, also after correction for all pairs.{unseen}"
        ahead = advantage(pair, self.measure)
        if pair.a == self.decision.system:
            return f"It is ahead of {other} by {ahead}.{unseen}"
        return f"{other} has the best mean and is ahead by {ahead}.{unseen}"

    def _sure_alone(self) -> str:
        """Interval of the only system's mean."""
        interval = self.decision.case.comparison.summary(self.decision.system).interval
        if interval.low is None or interval.high is None:
            return ""
        low, high = points_to_three(interval.low), points_to_three(interval.high)
        return f"On other questions of this kind its mean is between {low} and {high} (95 %)."

    @staticmethod
    def _possible(pair: PairComparison) -> str:
        return (
            "any difference"
            if pair.possible is None
            else f"a difference of up to {points_to_three(pair.possible[1])}"
        )

    def _pair(self) -> PairComparison | None:
        """The best against the recommended system, or against the next if they are the same."""
        case, best = self.decision.case, self.decision.best
        if best is None or len(case.comparison.ranking) < 2:
            return None
        systems = case.eligible or case.comparison.ranking
        nearest = next((one for one in systems if one != best), None)
        other = self.decision.system if self.decision.system != best else nearest
        return None if other is None else case.comparison.pair(best, other)

    def change(self) -> Iterator[str]:
        """What would change the recommendation."""
        sentences = [*self._questions(), *self._larger_margin()]
        yield from sentences or [self._other_evidence()]

    def _other_evidence(self) -> str:
        """What is missing if neither more questions of this kind nor a larger margin would change anything."""
        match self.decision.grounds:
            case Grounds.ONLY_SYSTEM:
                return "A system to compare it with: add a mode, a chunker or a model to the experiment."
            case Grounds.ONLY_WITHIN_LIMITS:
                return "Wider limits, which would let other systems in."
            case Grounds.NO_QUALITY:
                return "Questions that every system is scored on."
            case Grounds.TIED | Grounds.BEST_MEAN:
                return "More questions."
            case _:
                return (
                    "Only what was not measured: another system, other documents, questions of another kind."
                )

    def _questions(self) -> Iterator[str]:
        decision, pair = self.decision, self._pair()
        if decision.case.saturated and decision.grounds in (Grounds.TIED, Grounds.WITHIN_MARGIN):
            yield advise_saturated(decision.case)
            return
        if pair is None or pair.better is not None or decision.grounds is Grounds.WITHIN_MARGIN:
            return
        if pair.identical:
            yield equality_needs(decision.rule.margin, pair.alpha, pair.cluster_size) or ""
            return
        if pair.passes_tests and decision.verdict.would_settle:
            yield decision.verdict.would_settle
            return
        size = max(abs(pair.difference or 0.0), decision.case.evidence.thresholds.least_difference)
        needed = pair.queries_for(size)
        if needed is not None and needed > pair.n:
            difference = points_to_three(size)
            yield f"About {round_count(needed):,} questions would show whether a difference of {difference} is real."

    def _larger_margin(self) -> Iterator[str]:
        """A system that needs less and would be chosen with a larger margin."""
        decision, regret = self.decision, self.decision.case.evidence.regrets
        margins = {
            one: _margins(regret[one], decision.rule.margin)
            for one in regret
            if one not in decision.candidates
        }
        rest = tuple(one for one in margins if margins[one])
        chosen = choose_by_preference(
            decision.case.evidence.costs, (decision.system, *rest), decision.rule
        ).left[0]
        saving = describe_saving(self._costs(chosen), self._costs(decision.system), decision.rule)
        for margin in margins[chosen] if chosen != decision.system and saving else ():
            if decision.with_margin(margin).system == chosen:
                points, name, less = points_to_three(margin), self.names[chosen], _join_phrases(saving)
                yield f"If you can give up {points}, use {name}: it {less} (decide: {{margin: {points}}})."
                return


def _margins(regret: Regret, least: float) -> list[float]:
    """Margins at which a system ties, and at which it is shown to be within: bounds grow with margins."""
    both = (math.floor(1000 * regret.lead + 1) / 1000, math.ceil(100 * regret.bound) / 100)
    return [margin for margin in both if least < margin <= LARGEST_MARGIN]


def _join_phrases(phrases: tuple[str, ...]) -> str:
    """Join verb phrases: "needs no model and 3 × fewer tokens, and answers 30 × faster"."""
    if any(" and " in phrase for phrase in phrases[:-1]):
        return f"{', '.join(phrases[:-1])}, and {phrases[-1]}"
    return join_names(phrases)
