"""S4's two decision rules as ordered tables; what S4 leaves undefined is inconclusive (S4-71..73, C-25)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bakeoff.presets.rules import S4, S4Thresholds
from bakeoff.stats.comparison import PairComparison
from bakeoff.stats.interaction import Interaction
from bakeoff.stats.number_format import advantage, points, probability, questions


@dataclass(frozen=True, slots=True)
class S4Case:
    """A challenger a against a cheaper incumbent b: MRR, its categories, and semantic lift if reviewed."""

    mrr: PairComparison
    measure: str = "MRR"
    categories: Interaction | None = None
    lift: PairComparison | None = None
    latency_critical: bool = False
    thresholds: S4Thresholds = S4

    @property
    def size(self) -> float:
        """The size of the MRR difference."""
        return abs(self.mrr.difference or 0.0)

    @property
    def reliable(self) -> bool:
        """Whether the interval excludes 0."""
        return self.mrr.interval.excludes(0.0)

    @property
    def similar_wins(self) -> bool:
        """Whether wins and losses differ by no more than the stated share of the queries."""
        return abs(self.mrr.wins - self.mrr.losses) <= self.thresholds.similar_wins * self.mrr.n

    def ahead(self, pair: PairComparison, system: str) -> bool:
        """Whether the interval puts that system ahead."""
        low, high = pair.interval.low, pair.interval.high
        return (low is not None and low > 0) if system == pair.a else (high is not None and high < 0)


@dataclass(frozen=True, slots=True)
class S4Decision:
    """What the rule recommends: a system's name, 'hybrid' or 'inconclusive'."""

    choice: str
    rule: str
    sentence: str


@dataclass(frozen=True, slots=True)
class S4Rule:
    """One row of a decision table; `choose` gives a system, 'hybrid' or 'inconclusive'."""

    name: str
    when: str
    holds: Callable[[S4Case], bool]
    choose: Callable[[S4Case], str]


def _a(case: S4Case) -> str:
    return case.mrr.a


def _b(case: S4Case) -> str:
    return case.mrr.b


def _inconclusive(_: S4Case) -> str:
    return "inconclusive"


def _hybrid(_: S4Case) -> str:
    return "hybrid"


def _wins(case: S4Case, system: str) -> bool:
    counts = case.mrr.counts if system == case.mrr.a else case.mrr.counts.reverse()
    return case.ahead(case.mrr, system) and counts.wins_majority


def _close(case: S4Case) -> bool:
    return case.size < case.thresholds.close


def _lift(case: S4Case, system: str) -> bool:
    return case.lift is not None and case.ahead(case.lift, system)


DECISION_A: tuple[S4Rule, ...] = (
    S4Rule("a-wins", "interval above 0 and more wins than losses", lambda c: _wins(c, c.mrr.a), _a),
    S4Rule("b-wins", "interval below 0 and more losses than wins", lambda c: _wins(c, c.mrr.b), _b),
    S4Rule(
        "categories-differ",
        "interval includes 0 and b is ahead on some category",
        lambda c: not c.reliable and c.categories is not None and bool(c.categories.for_b),
        _hybrid,
    ),
    S4Rule(
        "tied", "interval includes 0 and wins are similar", lambda c: not c.reliable and c.similar_wins, _b
    ),
    S4Rule("gap", "neither a reliable lead nor similar wins", lambda c: c is not None, _inconclusive),
)

DECISION_B: tuple[S4Rule, ...] = (
    S4Rule(
        "clear",
        "difference over {clear} and interval excludes 0",
        lambda c: c.size > c.thresholds.clear and c.reliable,
        lambda c: c.mrr.a if (c.mrr.difference or 0.0) > 0 else c.mrr.b,
    ),
    S4Rule("gap", "difference of {close} or more that is not clear", lambda c: not _close(c), _inconclusive),
    S4Rule("review-first", "close, and no semantic lift yet", lambda c: c.lift is None, _inconclusive),
    S4Rule(
        "lift-a",
        "lift ahead for a, latency not critical",
        lambda c: _lift(c, c.mrr.a) and not c.latency_critical,
        _a,
    ),
    S4Rule("lift-a-slow", "lift ahead for a, but latency is critical", lambda c: _lift(c, c.mrr.a), _b),
    S4Rule("lift-b", "lift ahead for b", lambda c: _lift(c, c.mrr.b), _b),
    S4Rule("lift-similar", "lift interval includes 0", lambda c: c.lift is not None, _b),
)


def decide_s4(case: S4Case, table: tuple[S4Rule, ...]) -> S4Decision:
    """The recommendation of the first matching rule, with the numbers behind it."""
    rule = next(rule for rule in table if rule.holds(case))
    when = rule.when.format(clear=points(case.thresholds.clear)[0], close=points(case.thresholds.close)[0])
    mrr = case.mrr
    wins = f"{mrr.a} {mrr.wins} / {mrr.b} {mrr.losses} / Tie {mrr.ties} of {questions(mrr.n)}"
    wilcoxon = f"Wilcoxon p {probability(mrr.p_wilcoxon)} (this pair alone)"
    seen = f"{mrr.a} − {mrr.b} = {advantage(mrr, case.measure)}, {wins}, {wilcoxon}"
    return S4Decision(rule.choose(case), rule.name, f"{rule.choose(case)}: {when}. {seen}.")


def choose_s4(case: S4Case) -> str:
    """A system's name, 'hybrid' or 'inconclusive': by interval and wins, else by size and semantic lift."""
    choices = (decide_s4(case, table).choice for table in (DECISION_A, DECISION_B))
    return next((choice for choice in choices if choice != "inconclusive"), "inconclusive")
