"""Chooses between systems of equal quality by an operator's preferences, one after another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bakeoff.stats.evidence import Costs
from bakeoff.stats.number_format import join_names, ratio_text

MATERIAL = 1.5
"""Ratio from which a preference excludes a system."""

MOST_RATIOS = 2
"""Ratios from which a sentence mentions the difference."""
NEEDS = "needs "

Between = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Preference:
    """One quantity to minimise: its name in bakeoff.yaml, value, spread, and phrases for k times less or more."""

    name: str
    value: Callable[[Costs], float | None]
    less: str
    more: str
    between: Callable[[Costs], Between | None] = lambda _: None

    def exceeds(self, costs: Costs, lowest: Costs, ratio: float) -> bool:
        """Whether costs exceed the lowest by the ratio, and by more than their sampling noise."""
        more, less = self.value(costs), self.value(lowest)
        if more is None or less is None or more <= less * (1 if self.name == PARTS else ratio):
            return False
        high, low = self.between(costs), self.between(lowest)
        return high is None or low is None or high[0] > low[1]


PARTS = "fewer parts"
PREFERENCES: Mapping[str, Preference] = {
    one.name: one
    for one in (
        Preference(PARTS, lambda costs: None if costs.parts is None else float(len(costs.parts)), "", ""),
        Preference(
            "tokens",
            lambda costs: costs.tokens,
            "needs {} × fewer tokens per question",
            "needs {} × more tokens per question",
            lambda costs: costs.tokens_between,
        ),
        Preference(
            "latency",
            lambda costs: costs.p50_ms,
            "answers {} × faster",
            "answers {} × slower",
            lambda costs: costs.p50_between,
        ),
        Preference(
            "memory", lambda costs: costs.memory_bytes, "needs {} × less memory", "needs {} × more memory"
        ),
        Preference("cost", lambda costs: costs.cost, "costs {} × less", "costs {} × more"),
        Preference(
            "index size",
            lambda costs: costs.index_bytes,
            "has an index {} × smaller",
            "has an index {} × larger",
        ),
    )
}
"""By name, in order of operational weight: first what must be run, then the cost per question."""


@dataclass(frozen=True, slots=True)
class DecisionRule:
    """The user's decision rule: points that may be given up, preferences, and the ratio that matters."""

    margin: float = 0.02
    prefer: tuple[str, ...] = tuple(PREFERENCES)
    ratio: float = MATERIAL


DEFAULT_RULE = DecisionRule()


@dataclass(frozen=True, slots=True)
class PreferenceChoice:
    """The systems that remain after the preferences, in the given order, and the preferences that excluded
    others."""

    left: tuple[str, ...]
    decided_by: tuple[str, ...]


def choose_by_preference(
    costs: Mapping[str, Costs], systems: tuple[str, ...], rule: DecisionRule
) -> PreferenceChoice:
    """Exclude systems by one preference after another; one whose cost was not measured stays."""
    left, decided = systems, list[str]()
    for preference in map(PREFERENCES.__getitem__, rule.prefer):
        known = [
            (value, system)
            for system in left
            if (value := preference.value(costs.get(system, Costs()))) is not None
        ]
        if not known:
            continue
        lowest = costs[min(known)[1]]
        cheapest = tuple(
            system
            for system in left
            if not preference.exceeds(costs.get(system, Costs()), lowest, rule.ratio)
        )
        if cheapest != left:
            left, decided = cheapest, [*decided, preference.name]
    return PreferenceChoice(left, tuple(decided))


def describe_saving(own: Costs, rival: Costs, rule: DecisionRule) -> tuple[str, ...]:
    """What a system needs less of than a rival, in order of preference; empty if nothing differs materially."""
    return _phrases(own, rival, rule, less=True)


def describe_expense(own: Costs, rival: Costs, rule: DecisionRule) -> tuple[str, ...]:
    """What a system needs more of than a rival."""
    return _phrases(rival, own, rule, less=False)


def _phrases(low: Costs, high: Costs, rule: DecisionRule, *, less: bool) -> tuple[str, ...]:
    """Verb phrases: first the parts needed, then at most two ratios."""
    needs, others = _parts(low, high, rule, "no" if less else "a"), list[str]()
    differing = [
        preference
        for preference in map(PREFERENCES.__getitem__, rule.prefer)
        if preference.name != PARTS and preference.exceeds(high, low, rule.ratio)
    ]
    for preference in differing[:MOST_RATIOS]:
        ratio = (preference.value(high) or 0.0) / max(preference.value(low) or 0.0, 1e-12)
        phrase = (preference.less if less else preference.more).format(ratio_text(ratio))
        (needs if phrase.startswith(NEEDS) else others).append(phrase.removeprefix(NEEDS))
    return (*([NEEDS + join_names(tuple(needs))] if needs else []), *others)


def _parts(low: Costs, high: Costs, rule: DecisionRule, article: str) -> list[str]:
    """The parts that only the more expensive system needs."""
    if PARTS not in rule.prefer or low.parts is None or high.parts is None:
        return []
    return [f"{article} {part}" for part in high.parts if part not in low.parts]
