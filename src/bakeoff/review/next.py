"""What to judge next: open items by their influence on the decision, and when more judging cannot change it.

Two answers to "may we stop?". Certain: no judgment of the open items can change the decision (bounds). Likely: in
that share of simulated completions the decision is the same; open items are drawn with the rates seen among items
people judged: those the same systems returned, and those of the same query.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bakeoff.review.decision_model import (
    CANT_TELL,
    DecisionModel,
    Floats,
    PairBounds,
    decide_pairs,
    group_sums,
    pair_bounds,
)

DRAWS = 300
CONFIDENCE = 0.97
LEAST_SHARE = 0.15
"""Below this share of judged items, the rates are guesses and nothing is called likely."""
_QUERY_WEIGHT = 4.0
_GROUP_WEIGHT = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppingAdvice:
    """The state of a review: the likely decision, its probability, and whether it is certain."""

    decision: str | None
    probability: float
    certain: bool
    likely: bool
    leader: str
    bounds: tuple[PairBounds, ...]
    judged: int
    open: int
    relevant_open: int
    """Open items that could change a difference between the leader and a rival."""

    @property
    def stop(self) -> bool:
        """Whether to stop judging."""
        return self.certain or self.likely or self.open == 0


@dataclass(frozen=True, slots=True)
class RankedItem:
    """An open item and its influence on the decision (0: none)."""

    item: str
    query: str
    weight: float


def rank_open_items(
    stakes: DecisionModel, count: int | None = None, seed: int = 7, confidence: float = CONFIDENCE
) -> tuple[StoppingAdvice, list[RankedItem]]:
    """Both from the same simulated completions."""
    simulated = _Simulated(stakes, seed)
    return simulated.outlook(confidence), simulated.rank_items(count)


class _Simulated:
    """Completions of a review drawn from what was judged so far."""

    def __init__(self, stakes: DecisionModel, seed: int) -> None:
        self.stakes = stakes
        self.chance = np.random.default_rng(seed)
        self.rates = _rates(stakes, self.chance)
        drawn = self.chance.random(self.rates.shape) < self.rates
        self.scores = stakes.scores(np.where(stakes.open, drawn, np.nan_to_num(stakes.known)))
        means = self.scores.mean(axis=(0, 2))
        self.leader = int(means.argmax())

    def outlook(self, confidence: float) -> StoppingAdvice:
        stakes = self.stakes
        winners = decide_pairs(self.scores)
        values, counts = np.unique(winners, return_counts=True)
        top = int(values[counts.argmax()])
        share = float(counts.max() / len(winners))
        bounds = tuple(self._bounds())
        open_ = int(stakes.open.sum())
        judged = int(stakes.judged.sum())
        return StoppingAdvice(
            decision=None if top == CANT_TELL else stakes.systems[top],
            probability=share if open_ else 1.0,
            certain=open_ == 0 or _certain(bounds, stakes.systems[self.leader]),
            likely=share >= confidence and judged >= LEAST_SHARE * (judged + open_),
            leader=stakes.systems[self.leader],
            bounds=bounds,
            judged=judged,
            open=open_,
            relevant_open=int((self._moves() & stakes.open).sum()),
        )

    def rank_items(self, count: int | None) -> list[RankedItem]:
        stakes = self.stakes
        places = np.flatnonzero(stakes.open)
        weights = self._weights()[places]
        first = np.lexsort((self.chance.random(len(places)), -weights))
        # a second item of the same query is less informative, so a batch covers many queries
        thinned = weights / (1 + _nth(stakes.query[places], first))
        order = first[np.argsort(-thinned[first], kind="stable")]
        chosen = places[order][:count]
        ranked = weights[order][:count]
        return [
            RankedItem(stakes.items[place], stakes.queries[stakes.query[place]], float(weight))
            for place, weight in zip(chosen, ranked, strict=True)
        ]

    def _bounds(self) -> list[PairBounds]:
        rivals = [row for row in range(len(self.stakes.systems)) if row != self.leader]
        return [pair_bounds(self.stakes, self.leader, rival) for rival in rivals]

    def _moves(self) -> npt.NDArray[np.bool_]:
        gain = self.stakes.gain
        return np.asarray((np.abs(gain - gain[self.leader]) > 0).any(axis=0))

    def _weights(self) -> Floats:
        """By how much a judgment is expected to shrink the variance of the undecided differences to the leader.

        It settles the item itself and informs about open items of the same systems or the same query.
        """
        stakes = self.stakes
        own = (self.rates * (1 - self.rates)).mean(axis=0)
        learnt = [
            (groups, *_spread(groups, stakes, self.rates)) for groups in (_groups(stakes), stakes.query)
        ]
        total = np.zeros(len(stakes.items))
        for rival, weight in enumerate(self._openness()):
            pull = stakes.gain[self.leader] - stakes.gain[rival]
            worth = pull**2 * own
            for groups, variance, judged in learnt:
                at_stake = np.bincount(groups, np.where(stakes.open, pull, 0.0), len(judged))
                worth += (pull != 0) * (at_stake**2 * variance / (judged + _GROUP_WEIGHT + 1))[groups]
            total += weight * worth
        return total

    def _openness(self) -> Floats:
        """How open each system's difference from the leader is: 1 for a coin toss, near 0 if settled."""
        difference = self.scores[:, [self.leader]] - self.scores
        n = difference.shape[-1]
        spread = difference.std(axis=-1, ddof=1) / np.sqrt(n)
        separated = (np.abs(difference.mean(axis=-1)) > 2 * spread).mean(axis=0)
        weight = 4 * separated * (1 - separated) + 0.05
        weight[self.leader] = 0.0
        return np.asarray(weight)


def _certain(bounds: tuple[PairBounds, ...], leader: str) -> bool:
    """Whether no completion changes the decision: the leader beats all, or some pair stays undecided in every case."""
    if all(pair.settled and pair.can_a for pair in bounds):
        return True
    # another system may still overtake the leader, but nobody wins while each has an undecided rival
    return any(pair.settled and pair.can_neither and pair.a == leader for pair in bounds) and not any(
        pair.can_b for pair in bounds
    )


def _nth(groups: npt.NDArray[np.int64], order: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many items of the same group precede each item in an order."""
    seen: dict[int, int] = {}
    counts = np.zeros(len(groups), dtype=np.int64)
    for place in order:
        group = int(groups[place])
        counts[place] = seen.get(group, 0)
        seen[group] = int(counts[place]) + 1
    return counts


def _groups(stakes: DecisionModel) -> npt.NDArray[np.int64]:
    """Items that the same systems returned."""
    groups = np.unique((stakes.gain > 0).astype(np.int64), axis=1, return_inverse=True)[1]
    return np.asarray(groups.reshape(-1), dtype=np.int64)


def _spread(groups: npt.NDArray[np.int64], stakes: DecisionModel, rates: Floats) -> tuple[Floats, Floats]:
    """For each group, the variance of the rate of its open items, and how many of its items are judged."""
    size = int(groups.max()) + 1
    count = np.maximum(np.bincount(groups, stakes.open, size), 1.0)
    return (group_sums(rates * stakes.open, groups, size) / count).var(axis=0), np.bincount(
        groups, stakes.judged, size
    ).astype(float)


def _rates(stakes: DecisionModel, chance: np.random.Generator) -> Floats:
    """Draws × items: how likely each item is relevant, from judged items of the same systems and of the same query."""
    groups = _groups(stakes)
    done, values = stakes.judged, np.nan_to_num(stakes.known)
    base = (values[done].sum() + 1) / (done.sum() + 2)
    by_group = _drawn(groups, done, values, base * _GROUP_WEIGHT, (1 - base) * _GROUP_WEIGHT, chance)
    by_query = _drawn(stakes.query, done, values, base * _QUERY_WEIGHT, (1 - base) * _QUERY_WEIGHT, chance)
    odds = _logit(by_group)[:, groups] + _logit(by_query)[:, stakes.query] - _logit(np.asarray(base))
    return np.asarray(1 / (1 + np.exp(-odds)))


def _drawn(
    groups: npt.NDArray[np.int64],
    done: npt.NDArray[np.bool_],
    values: Floats,
    right: float,
    wrong: float,
    chance: np.random.Generator,
) -> Floats:
    """Draws × groups of a rate, from its judged items and a weak prior."""
    size = int(groups.max()) + 1
    yes = np.bincount(groups, np.where(done, values, 0.0), size)
    no = np.bincount(groups, done, size) - yes
    return chance.beta(right + yes, wrong + no, size=(DRAWS, size))


def _logit(rate: Floats) -> Floats:
    clipped = np.clip(rate, 1e-4, 1 - 1e-4)
    return np.asarray(np.log(clipped / (1 - clipped)))
