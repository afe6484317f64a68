"""The verdict: an ordered table of rules over the evidence; the first rule that applies decides (C-25).

Every number in a sentence comes from the comparison. No sentence calls a difference significant or gives it
as a ratio (S4-43), and "can't tell" is a verdict like the others (F27).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from bakeoff.stats.comparison import PairComparison
from bakeoff.stats.evidence import DEFAULT_THRESHOLDS, Evidence, Thresholds
from bakeoff.stats.number_format import (
    ALL_DIFFERENCES,
    describe_clusters,
    equality_needs,
    join_names,
    points_to_three,
    questions,
    round_count,
    settles_text,
    shorten_names,
    undetected,
)
from bakeoff.stats.verdict_input import VerdictInput
from bakeoff.stats.verdict_text import (
    explain_few_decide,
    explain_tie,
    few_decide,
    say_cant_tell,
    say_cheaper,
    say_depends,
    say_either,
    say_few_decide,
    say_lift,
    say_no_queries,
    say_none_within_limits,
    say_only_one,
    say_only_one_within_limits,
    say_saturated,
    say_too_few,
    say_winner,
    tied_neighbours,
)

FEW_DECIDE = "few-decide"
CLEAR_WINNER = "clear-winner"
LIFT_DECIDES = "lift-decides"


class VerdictKind(StrEnum):
    """What a verdict says."""

    USE = "use"
    CHEAPER_OF_EQUALS = "cheaper_of_equals"
    DEPENDS_ON_CATEGORY = "depends_on_category"
    CANT_TELL = "cant_tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What to use, as a sentence from the comparison, with the rule that decided."""

    kind: VerdictKind
    sentence: str
    reasons: tuple[str, ...]
    rule: str
    would_settle: str | None
    system: str | None
    group: tuple[str, ...]
    recommended: tuple[str, ...] = ()
    """The system, and those shown to be equal to it and not shown to cost more."""
    holds_level: bool = True
    """False if rare questions not sampled could undo what the tests show: no difference is declared."""

    def _repr_html_(self) -> str:
        """HTML for notebooks: the sentence and its reasons."""
        from bakeoff.runtime.notebook import lines_html

        return lines_html(self.sentence, self.reasons)


def _nobody(_: VerdictInput) -> str | None:
    return None


def _no_evidence(_: VerdictInput) -> Iterable[str]:
    return ()


def _always(_: VerdictInput) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class VerdictRule:
    """One row of the table: when it applies and its text; `when` takes the thresholds for printing."""

    name: str
    when: str
    kind: VerdictKind
    holds: Callable[[VerdictInput], bool]
    say: Callable[[VerdictInput], str]
    choose: Callable[[VerdictInput], str | None] = _nobody
    explain: Callable[[VerdictInput], Iterable[str]] = _no_evidence
    """The evidence, if the sentence omits it."""


def _recommended_systems(case: VerdictInput, system: str | None) -> tuple[str, ...]:
    if system is None or not case.equal:
        return () if system is None else (system,)
    return case.by_cost.left


def _shared_count(case: VerdictInput) -> int:
    """Independent questions of the pair with fewest: a cluster counts as one."""
    return min((case.pair(other).clusters for other in case.rivals), default=case.comparison.common)


RULES: tuple[VerdictRule, ...] = (
    VerdictRule(
        "no-queries",
        "no query is scored for every system",
        VerdictKind.CANT_TELL,
        lambda case: not case.comparison.ranking,
        say_no_queries,
    ),
    VerdictRule(
        "one-system",
        "only one system was compared",
        VerdictKind.CANT_TELL,
        lambda case: len(case.comparison.systems) == 1,
        say_only_one,
    ),
    VerdictRule(
        "none-within-limits",
        "no system is within the limits",
        VerdictKind.CANT_TELL,
        lambda case: not case.eligible,
        say_none_within_limits,
    ),
    VerdictRule(
        "one-within-limits",
        "only one system is within the limits",
        VerdictKind.USE,
        lambda case: not case.rivals,
        say_only_one_within_limits,
        lambda case: case.best,
    ),
    VerdictRule(
        "too-few-queries",
        "fewer than {fewest_queries} queries, or clusters of queries, are scored for a pair",
        VerdictKind.CANT_TELL,
        lambda case: _shared_count(case) < case.evidence.thresholds.fewest_queries,
        say_too_few,
    ),
    VerdictRule(
        "depends-on-category",
        "the difference to the best varies with the category (Holm p ≤ {alpha}) and each is better on one",
        VerdictKind.DEPENDS_ON_CATEGORY,
        lambda case: case.crossing_interaction is not None,
        say_depends,
    ),
    VerdictRule(
        CLEAR_WINNER,
        "against every other system the best has an interval on its side of 0 and a corrected p ≤ {alpha}, and "
        "questions too rare to be seen could not undo it",
        VerdictKind.USE,
        lambda case: not case.unbeaten,
        say_winner,
        lambda case: case.best,
    ),
    VerdictRule(
        "saturated",
        "at least {saturated:.0%} of the unbeaten systems' scores are the best possible",
        VerdictKind.CANT_TELL,
        lambda case: case.saturated,
        say_saturated,
    ),
    VerdictRule(
        "cheaper-of-equals",
        "all unbeaten systems are shown to be within ±{margin} of each other and some cost {cheaper_by:.0%} more",
        VerdictKind.CHEAPER_OF_EQUALS,
        lambda case: case.equal and bool(case.by_cost.steps),
        say_cheaper,
        lambda case: case.by_cost.system,
    ),
    VerdictRule(
        "either",
        "all unbeaten systems are shown to be within ±{margin} of each other and none is shown to cost more",
        VerdictKind.CANT_TELL,
        lambda case: case.equal,
        say_either,
    ),
    VerdictRule(
        LIFT_DECIDES,
        "one unbeaten system beats the others on semantic lift and is shown to be at most {margin} worse",
        VerdictKind.USE,
        lambda case: case.lift_winner is not None,
        say_lift,
        lambda case: case.lift_winner,
    ),
    VerdictRule(
        FEW_DECIDE,
        "as 7 against some unbeaten system, but a few questions, seen or too rare to be seen, could undo it",
        VerdictKind.CANT_TELL,
        lambda case: case.doubtful_rival is not None,
        say_few_decide,
        explain=explain_few_decide,
    ),
    VerdictRule("cant-tell", "otherwise", VerdictKind.CANT_TELL, _always, say_cant_tell, explain=explain_tie),
)


def decide(evidence: Evidence) -> Verdict:
    """Return the verdict of the first rule that applies."""
    case = VerdictInput.of(evidence)
    rule = next(rule for rule in RULES if rule.holds(case))
    system = rule.choose(case)
    return Verdict(
        kind=rule.kind,
        sentence=rule.say(case),
        reasons=(*rule.explain(case), *reasons_for(case)),
        rule=rule.name,
        would_settle=_would_settle(case) if rule.kind is VerdictKind.CANT_TELL else None,
        system=system,
        group=case.group if case.eligible else (),
        recommended=_recommended_systems(case, system),
        holds_level=rule.name != FEW_DECIDE,
    )


def rule_table(thresholds: Thresholds = DEFAULT_THRESHOLDS) -> tuple[tuple[int, str, str, str], ...]:
    """The rules in order as (number, name, when, verdict), with the thresholds filled in."""
    values = {name: getattr(thresholds, name) for name in thresholds.__slots__}
    return tuple(
        (number, rule.name, rule.when.format(**values), rule.kind.value)
        for number, rule in enumerate(RULES, start=1)
    )


def _would_settle(case: VerdictInput) -> str | None:
    if not case.eligible or not case.unbeaten or case.equal:
        return None
    if case.doubtful_rival is not None:
        return _would_hold(case, case.pair(case.doubtful_rival))
    pair, thresholds = case.pair(case.unbeaten[0]), case.evidence.thresholds
    if pair.identical:
        return equality_needs(thresholds.margin, pair.alpha, pair.cluster_size)
    needed = settles_text(pair, thresholds.least_difference, "questions ")
    return None if needed is None else f"{needed[0].upper()}{needed[1:]}."


def _would_hold(case: VerdictInput, pair: PairComparison) -> str | None:
    """How many questions with this lead and spread would hold the level; None for a measure without bounds."""
    bounds = case.comparison.bounds
    needed = bounds and pair.queries_for_level(case.compared_rivals, bounds[1] - bounds[0])
    return (
        f"About {round_count(needed):,} questions with this lead and spread would settle it."
        if needed
        else None
    )


def reasons_for(case: VerdictInput) -> tuple[str, ...]:
    """The lines below the verdict, in order."""
    lines = list(_limits(case))
    if case.rivals:
        lines += [
            *_beaten(case),
            *_unbeaten_below(case),
            *_neighbours(case),
            *_few_decide(case),
            *_clusters(case),
        ]
        lines += [*_detectable(case), *_dropped_lines(case)]
    return (*lines, *case.comparison.notes)


def _limits(case: VerdictInput) -> Iterator[str]:
    for system, reason in case.ruled_out:
        yield f"{system} is excluded: {reason}."


def _beaten(case: VerdictInput) -> Iterator[str]:
    others = case.beaten[1:] if not case.unbeaten else case.beaten
    if others and len(others) <= 3:
        yield f"{case.best} also beats {join_names(others)}."
    elif others:
        yield f"{case.best} also beats the other {len(others)} systems."


def _unbeaten_below(case: VerdictInput) -> Iterator[str]:
    """Why the best is shown to beat a system but not one with a lower mean."""
    means = {summary.system: summary.mean or 0.0 for summary in case.comparison.systems}
    sign = 1 if case.comparison.higher_is_better else -1
    for low in case.unbeaten:
        higher = [one for one in case.beaten if sign * means[one] > sign * means[low]]
        if higher:
            spread = [points_to_three(case.pair(one).sd or 0.0) for one in (low, higher[0])]
            yield (
                f"{case.best} is shown to beat {higher[0]} ({points_to_three(means[higher[0]])}) but not {low} "
                f"({points_to_three(means[low])}): systems are compared question by question, and against {low} its "
                f"lead varies more (standard deviation {spread[0]}, not {spread[1]})."
            )
            return


def _neighbours(case: VerdictInput) -> Iterator[str]:
    if len(case.eligible) > 2:
        text = tied_neighbours(case, 1, 2)
        if text:
            yield text


def _few_decide(case: VerdictInput) -> Iterator[str]:
    if case.doubtful_rival is None and (text := few_decide(case)):
        yield text


def _clusters(case: VerdictInput) -> Iterator[str]:
    """The effective number of independent questions among clustered ones."""
    questions = case.comparison.questions
    if questions is not None and questions.clusters < questions.questions:
        yield f"{describe_clusters(questions)}."


def _detectable(case: VerdictInput) -> Iterator[str]:
    """Smallest difference that is usually detected.

    It depends on how similar two systems are, so both extremes are given.
    """
    sizes = sorted(
        (mdd, pair.n, pair.b) for pair in map(case.pair, case.rivals) if (mdd := pair.mdd) is not None
    )
    if not sizes:
        return
    (least, n, first), (most, _, last) = sizes[0], sizes[-1]
    bounds = case.comparison.bounds
    size = undetected(least, bounds)
    if size == ALL_DIFFERENCES:
        size += " in"
    elif undetected(most, bounds) != size:
        largest = most if bounds is None else min(most, bounds[1] - bounds[0])
        size += f" (against {first}) to {points_to_three(largest)} (against {last})"
    yield (
        f"With {questions(n)}, {size} {case.comparison.measure} usually go undetected "
        f"({case.pair(first).power:.0%} power{_over(len(case.comparison.pairs))})."
    )


def _over(pairs: int) -> str:
    return f", over {pairs} pairs" if pairs > 1 else ""


def _dropped_lines(case: VerdictInput) -> Iterator[str]:
    """Dropped questions by reason, at most five named for each."""
    by_reason: dict[str, list[str]] = {}
    for one in case.pair(case.rivals[0]).dropped:
        by_reason.setdefault(one.reason, []).append(one.query)
    for reason, names in by_reason.items():
        yield f"Not counted: {questions(len(names))} ({shorten_names(tuple(names))}), {reason}."
