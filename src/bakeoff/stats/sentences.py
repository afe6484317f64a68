"""One sentence a rule: what the verdict says first, made from the numbers of the comparison."""

from __future__ import annotations

from bakeoff.stats.case import Case
from bakeoff.stats.interaction import CategoryDifference
from bakeoff.stats.wording import (
    advantage,
    counted,
    listed,
    points,
    probability,
    questions,
    settles,
    with_interval,
)

MANY = 3
"""Names that are read at a glance."""


def say_no_queries(case: Case) -> str:
    """Nothing can be compared."""
    return f"Can't tell: no question is scored for every system on {case.comparison.measure}."


def say_only_one(case: Case) -> str:
    """There is nothing to choose from."""
    return (
        f"Can't tell: {case.comparison.systems[0].system} is the only system, so there is nothing to compare."
    )


def say_none_within_limits(case: Case) -> str:
    """Every system breaks a limit."""
    return f"Can't tell: none of the {len(case.ruled_out)} systems is within the limits."


def say_only_one_within_limits(case: Case) -> str:
    """The limits leave one system."""
    return f"Use {case.best}. It is the only system within the limits."


def say_too_few(case: Case) -> str:
    """There are not enough questions for any claim."""
    fewest = case.evidence.thresholds.fewest_queries
    shared = min(case.pair(other).n for other in case.rivals)
    return f"Can't tell: {questions(shared)} scored for both of a pair; a claim needs at least {fewest}."


def say_winner(case: Case) -> str:
    """The best against its runner-up."""
    return f"Use {case.best}. {_beats(case, case.rivals[0])}"


def say_cheaper(case: Case) -> str:
    """The cheaper of systems that are equal within the margin."""
    chosen = case.cheapest
    assert chosen is not None
    others = tuple(system for system in case.group if system != chosen.system)
    value, following = chosen.kind.text(chosen.value), chosen.kind.text(chosen.next_value)
    return (
        f"Use {chosen.system}. It equals {listed(others)} {_equality(case)}, "
        f"and its {chosen.kind.words} is lower: {value} against {following}."
    )


def say_either(case: Case) -> str:
    """Equal systems that nothing measured sets apart."""
    names = listed(case.group)
    return f"Any of {names} will do: they are equal {_equality(case)}, and no cost sets them apart."


def say_lift(case: Case) -> str:
    """Equal on the primary measure, told apart by semantic lift."""
    lift, chosen = case.evidence.lift, case.lifted
    assert lift is not None
    assert chosen is not None
    others = tuple(system for system in case.group if system != chosen)
    pair = lift.pair(chosen, others[0])
    return (
        f"Use {chosen}. {case.comparison.measure} doesn't tell it from {listed(others)}, but it is ahead of "
        f"{others[0]} by {advantage(pair, lift.measure)}, {counted(pair, lift.correction)}."
    )


def say_depends(case: Case) -> str:
    """Which system on which category."""
    crossing = case.crossing
    assert crossing is not None
    return (
        f"It depends on the category: {crossing.a} is ahead on {_categories(crossing.for_a, case)}; "
        f"{crossing.b} on {_categories(crossing.for_b, case)} "
        f"(label permutation, Holm p {probability(crossing.p_holm)})."
    )


def say_cant_tell(case: Case) -> str:
    """Systems that the questions do not tell apart."""
    other = case.unbeaten[0]
    pair = case.pair(other)
    text = (
        f"Can't tell {_named(case)} apart with {questions(pair.n)}: {case.best} is ahead of {other} by "
        f"{advantage(pair, case.comparison.measure)}, {counted(pair, case.comparison.correction)}."
    )
    if case.cheapest is not None:
        chosen = case.cheapest
        value = chosen.kind.text(chosen.value)
        text += f" The one with the lowest {chosen.kind.words} is {chosen.system} ({value})."
    return text


def _named(case: Case) -> str:
    """The systems of the group by name, unless they are all there are, and many."""
    every = len(case.group) == len(case.comparison.systems) > MANY
    return f"any of the {len(case.group)} systems" if every else listed(case.group)


def told_apart(case: Case, first: int, second: int) -> str | None:
    """Whether two neighbours of the ranking can't be told apart, and what would settle it."""
    pair = case.comparison.pair(case.eligible[first], case.eligible[second])
    if pair.separated:
        return None
    places = [case.comparison.ranking.index(system) + 1 for system in (pair.a, pair.b)]
    text = f"{places[0]} and {places[1]} can't be told apart with {questions(pair.n)}"
    more = settles(pair, case.evidence.thresholds.least_difference)
    return f"{text}; {more}." if more else f"{text}."


def _beats(case: Case, other: str) -> str:
    pair = case.pair(other)
    return (
        f"It beats {other} by {advantage(pair, case.comparison.measure)}, "
        f"{counted(pair, case.comparison.correction)}."
    )


def _equality(case: Case) -> str:
    pairs = [case.comparison.pair(a, b) for i, a in enumerate(case.group) for b in case.group[i + 1 :]]
    if all(pair.identical for pair in pairs):
        return f"on every one of {questions(pairs[0].n)}"
    return f"within ±{points(case.evidence.thresholds.margin)[0]} {case.comparison.measure}"


def _categories(found: tuple[CategoryDifference, ...], case: Case) -> str:
    return ", ".join(
        f"{one.category} by {_absolute(one, case.comparison.measure)} on {questions(one.n)}" for one in found
    )


def _absolute(one: CategoryDifference, measure: str) -> str:
    if one.advantage < 0:
        return with_interval(-one.advantage, one.interval.negated(), measure)
    return with_interval(one.advantage, one.interval, measure)
