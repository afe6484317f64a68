"""The text of each verdict rule: a sentence that answers, then the evidence."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.stats.comparison import PairComparison
from bakeoff.stats.evidence import COST_KINDS, cost_range
from bakeoff.stats.interaction import CategoryDifference
from bakeoff.stats.number_format import (
    advantage,
    capital,
    join_names,
    points,
    points_to_three,
    probability,
    questions,
    settles_text,
    shorten_names,
    win_loss_text,
    with_interval,
)
from bakeoff.stats.verdict_input import VerdictInput

MOST_NAMES = 4
"""Number of names that can be read at a glance."""
FINER = ("RR@10", "nDCG@10")
"""Measures that separate systems which all find the right document, because they consider its rank."""
FEW_QUESTIONS = 20
"""With fewer questions, a saturated measure says little about harder ones."""


def say_no_queries(case: VerdictInput) -> str:
    """No comparison is possible."""
    return f"Can't tell: no question is scored for every system on {case.comparison.measure}."


def say_only_one(case: VerdictInput) -> str:
    """There is only one system."""
    return (
        f"Can't tell: {case.comparison.systems[0].system} is the only system, so there is nothing to compare."
    )


def say_none_within_limits(case: VerdictInput) -> str:
    """Every system breaks a limit."""
    return f"Can't tell: none of the {len(case.ruled_out)} systems is within the limits."


def say_only_one_within_limits(case: VerdictInput) -> str:
    """The limits leave only one system."""
    return f"Use {case.best}. It is the only system within the limits."


def say_too_few(case: VerdictInput) -> str:
    """There are too few questions for any claim."""
    fewest = case.evidence.thresholds.fewest_queries
    pair = min((case.pair(other) for other in case.rivals), key=lambda pair: (pair.clusters, pair.n))
    clustered = pair.clusters != pair.n
    scored = questions(pair.n) + (f" in {pair.clusters} clusters" if clustered else "")
    needed = f"{fewest} clusters" if clustered else f"{fewest}"
    verb = "is" if pair.n == 1 else "are"
    return f"Can't tell: only {scored} {verb} scored for both systems of a pair; a verdict needs at least {needed}."


def say_winner(case: VerdictInput) -> str:
    """The best system beats all others."""
    return f"Use {case.best}. It beats {_lead_of(case, case.rivals[0])}."


def say_cheaper(case: VerdictInput) -> str:
    """The cheapest of the systems that are equal within the margin."""
    choice = case.by_cost
    others = tuple(system for system in case.group if system not in choice.left)
    verb, whose = ("It equals", "its") if len(choice.left) == 1 else ("They equal", "their")
    use = f"Use {join_names(choice.left, 'or')}."
    return f"{use} {verb} {join_names(others)} {_equality(case)}, and {whose} {_costs(case)}."


def say_either(case: VerdictInput) -> str:
    """Equal systems of which none is shown to cost more."""
    use = "either" if len(case.group) == 2 else "any of them"
    return f"{join_names(case.group)} are equal {_equality(case)}: use {use}. {capital(_same_costs(case))}."


def say_saturated(case: VerdictInput) -> str:
    """The primary measure is at its maximum for nearly every question."""
    share, measure = case.share_at_best or 0.0, case.comparison.measure
    text = f"{_group_names(case)} can't be ranked by {measure}: {share:.0%} of their scores are the best possible."
    return f"{text} {advise_saturated(case)}"


def advise_saturated(case: VerdictInput) -> str:
    """How to rank systems whose primary measure is saturated."""
    if case.separating_pair is not None:
        other, pair = case.separating_pair
        ahead = pair if (pair.difference or 0.0) > 0 else pair.reverse()
        return (
            f"{other} still separates them: {ahead.a} is ahead of {ahead.b} by {advantage(ahead, other)}. "
            f"Make it the primary measure."
        )
    if case.least_saturated is not None:
        other, at_best = case.least_saturated
        return (
            f"{other} has more room ({at_best:.0%} at the best). Make it the primary measure, or ask "
            "harder questions."
        )
    measured = (case.comparison.measure, *(other.measure for other in case.evidence.other_measures))
    finer = tuple(name for name in FINER if not any(one.startswith(name) for one in measured))
    advice = f", or measure {join_names(finer, 'or')}" if finer else ""
    ask = (
        "Ask more and harder questions" if case.comparison.common < FEW_QUESTIONS else "Ask harder questions"
    )
    return f"No other measure of this run is known to have more room. {ask}{advice}."


def say_lift(case: VerdictInput) -> str:
    """Tied on the primary measure, separated by semantic lift."""
    lift, chosen = case.evidence.lift, case.lift_winner
    assert lift is not None
    assert chosen is not None
    others = tuple(system for system in case.group if system != chosen)
    pair = lift.pair(chosen, others[0])
    return (
        f"Use {chosen}. It is tied with {join_names(others)} on {case.comparison.measure}, but ahead of "
        f"{others[0]} by {advantage(pair, lift.measure)}: {win_loss_text(pair, lift.correction)}."
    )


def say_depends(case: VerdictInput) -> str:
    """Which system is better on which category."""
    crossing = case.crossing_interaction
    assert crossing is not None
    return (
        f"It depends on the category: {crossing.a} is ahead on {_categories(crossing.for_a, case)}; "
        f"{crossing.b} on {_categories(crossing.for_b, case)} "
        f"(label permutation, Holm p {probability(crossing.p_holm)})."
    )


def say_cant_tell(case: VerdictInput) -> str:
    """Systems that the questions can't separate; which of them to take is the recommendation's to say."""
    return f"{_group_names(case)} are tied on your {questions(case.pair(case.unbeaten[0]).n)}."


def explain_tie(case: VerdictInput) -> Iterator[str]:
    """The lead of the best, and the names of the tied systems if the sentence only counts them."""
    yield f"{_lead(case, case.unbeaten[0])}."
    yield from _names_of_many(case, "Tied")


def say_few_decide(case: VerdictInput) -> str:
    """A lead that depends on a few questions, seen or unseen: what is still possible, and what to do."""
    pair = _doubtful_pair(case)
    possible = f"{_group_names(case)} are still possible on your {questions(pair.n)}."
    advice = (
        f" like {shorten_names(pair.deciding)}"
        if pair.deciding
        else ", especially of kinds that are rare here"
    )
    return " ".join(
        [
            "Not enough evidence:",
            possible,
            f"Best so far: {case.best}.",
            f"Add questions{advice}.",
        ]
    )


def explain_few_decide(case: VerdictInput) -> Iterator[str]:
    """The lead, why it does not hold, and the systems still possible if the sentence only counts them."""
    pair = _doubtful_pair(case)
    if pair.deciding:
        why = "those few questions decide everything"
    else:
        why = (
            f"{questions(pair.n)} can miss a kind that is up to {_unseen(case, pair.b):.0%} of all questions, and a "
            "few of that kind would undo the lead"
        )
    yield f"{_lead(case, pair.b)}. But {why}."
    yield from _names_of_many(case, "Still possible")


def few_decide(case: VerdictInput) -> str | None:
    """The few questions that decide between the best and the next, if the verdict is open."""
    other = case.unbeaten[0] if case.unbeaten else None
    if other is None or case.equal or not (names := case.pair(other).deciding):
        return None
    return f"A few questions decide between {case.best} and {other}: {shorten_names(names)}. Add questions like those."


def tied_neighbours(case: VerdictInput, first: int, second: int) -> str | None:
    """Say that two neighbours in the ranking are tied, and what would settle it; None if they are separated."""
    pair = case.comparison.pair(case.eligible[first], case.eligible[second])
    if pair.separated:
        return None
    places = [case.comparison.ranking.index(system) + 1 for system in (pair.a, pair.b)]
    text = f"Systems {places[0]} and {places[1]} are tied on {questions(pair.n)}"
    more = settles_text(pair, case.evidence.thresholds.least_difference)
    return f"{text}; {more}." if more else f"{text}."


def _doubtful_pair(case: VerdictInput) -> PairComparison:
    assert case.doubtful_rival is not None
    return case.pair(case.doubtful_rival)


def _unseen(case: VerdictInput, other: str) -> float:
    """Largest share of all questions that a kind can have and still be missing here by chance, at the
    corrected level."""
    pair = case.pair(other)
    return float(1 - (pair.alpha / case.compared_rivals) ** (1 / pair.clusters))


def _lead(case: VerdictInput, other: str) -> str:
    """How far the best is ahead, or what equal scores leave open."""
    pair, measure = case.pair(other), case.comparison.measure
    if pair.identical and pair.possible is not None:
        left = points_to_three(pair.possible[1])
        return (
            f"{case.best} and {other} score the same on every question; with {questions(pair.n)}, a difference of "
            f"up to {left} {measure} is still possible"
        )
    return f"{case.best} is ahead of {_lead_of(case, other)}"


def _lead_of(case: VerdictInput, other: str) -> str:
    """B by .05 nDCG@10 [.01 .09]: better on 30 questions, worse on 10, equal on 13 (Holm p .035)."""
    pair = case.pair(other)
    ahead = advantage(pair, case.comparison.measure)
    return f"{other} by {ahead}: {win_loss_text(pair, case.comparison.correction)}"


def _group_names(case: VerdictInput) -> str:
    """Names of the group's systems, or their number if there are many."""
    count, total = len(case.group), len(case.comparison.systems)
    if count <= MOST_NAMES:
        return join_names(case.group)
    return f"All {count} systems" if count == total else f"{count} of the {total} systems"


def _names_of_many(case: VerdictInput, label: str) -> Iterator[str]:
    if MOST_NAMES < len(case.group) < len(case.comparison.systems):
        yield f"{label}: {join_names(case.group)}."


def _equality(case: VerdictInput) -> str:
    return f"within ±{points(case.evidence.thresholds.margin)[0]} {case.comparison.measure}"


def _costs(case: VerdictInput) -> str:
    """What decided: p95 latency is lower: 0.08 ms against 0.5 ms to 113 ms."""
    parts = []
    for step in case.by_cost.steps:
        values = [value for value, _ in step.ruled_out]
        ends = dict.fromkeys(step.kind.text(value) for value in (values[0], values[-1]))
        parts.append(f"{step.kind.words} is lower: {step.kind.text(step.lowest)} against {' to '.join(ends)}")
    return "; ".join(parts)


def _same_costs(case: VerdictInput) -> str:
    """The range of every known cost, none of which shows a difference."""
    ranges = [(kind, cost_range(case.evidence, kind, case.group)) for kind in COST_KINDS]
    texts = [f"{kind.words} {kind.text(ends[0])} to {kind.text(ends[1])}" for kind, ends in ranges if ends]
    if not texts:
        return "no cost was measured"
    least = case.evidence.thresholds.cheaper_by
    return f"no cost is shown to differ by more than {least:.0%} ({', '.join(texts)})"


def _categories(differences: tuple[CategoryDifference, ...], case: VerdictInput) -> str:
    return ", ".join(
        f"{one.category} by {_absolute(one, case.comparison.measure)} on {questions(one.n)}"
        for one in differences
    )


def _absolute(one: CategoryDifference, measure: str) -> str:
    if one.advantage < 0:
        return with_interval(-one.advantage, one.interval.negate(), measure)
    return with_interval(one.advantage, one.interval, measure)
