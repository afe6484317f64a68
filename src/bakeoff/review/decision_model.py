"""The decision behind a review: the systems' SemPrec@k as sums over judged and open items.

The decision of full judging is the system whose paired difference to every other excludes 0 (Student's t over queries,
95 %), or that nobody wins. The verdict of a run uses a bootstrap and a correction; this quick rule approximates
it while people judge, and the verdict itself is made when they are done.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from bakeoff.errors import ComparisonError
from bakeoff.review.measures import Rankings

Floats = npt.NDArray[np.float64]
LEVEL = 0.95
CANT_TELL = -1
_EPS = 1e-12
_STEPS = 60


@lru_cache(maxsize=256)
def t_quantile(n: int, level: float = LEVEL) -> float:
    """The two-sided quantile of Student's t for n queries."""
    from scipy.stats import t

    return float(t.ppf(0.5 + level / 2, n - 1))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DecisionModel:
    """Items of a pool and how much each adds to each system's score on its query.

    `gain` is systems × items (1/k where the system returned the item), `query` the place of each item's query, and
    `known` 1 for relevant, 0 for not, NaN for open. `ruled` marks what a rule decided: rules fill in matches only, so
    these items say nothing about the open ones.
    """

    systems: tuple[str, ...]
    queries: tuple[str, ...]
    items: tuple[str, ...]
    query: npt.NDArray[np.int64]
    gain: Floats
    known: Floats
    ruled: npt.NDArray[np.bool_]

    @property
    def open(self) -> npt.NDArray[np.bool_]:
        """Which items are open."""
        return np.isnan(self.known)

    @property
    def judged(self) -> npt.NDArray[np.bool_]:
        """Which items people judged."""
        return ~self.open & ~self.ruled

    def scores(self, relevance: Floats) -> Floats:
        """SemPrec@k, systems × queries, for one relevance of every item; more axes of relevance come first."""
        return group_sums(relevance[..., None, :] * self.gain, self.query, len(self.queries))

    def ends(self, a: int, b: int) -> tuple[Floats, Floats]:
        """Lowest and highest difference a − b of each query, over the open items."""
        weight = self.gain[a] - self.gain[b]
        sure = np.where(self.open, 0.0, np.nan_to_num(self.known)) * weight
        low = sure + np.where(self.open, np.minimum(weight, 0.0), 0.0)
        high = sure + np.where(self.open, np.maximum(weight, 0.0), 0.0)
        size = len(self.queries)
        ends = (np.bincount(self.query, side, size).astype(np.float64) for side in (low, high))
        lowest, highest = ends
        return lowest, highest


def group_sums(values: Floats, groups: npt.NDArray[np.int64], size: int) -> Floats:
    """Sums over the last axis by group; an empty group is 0."""
    order = np.argsort(groups, kind="stable")
    there, starts = np.unique(groups[order], return_index=True)
    sums = np.zeros((*values.shape[:-1], size))
    if len(there):
        in_order = values if (np.diff(groups) >= 0).all() else np.take(values, order, axis=-1)
        sums[..., there] = np.add.reduceat(in_order, starts, axis=-1)
    return sums


def stakes_of(
    rankings: Rankings,
    relevant: Mapping[str, bool],
    k: int,
    systems: Sequence[str] = (),
    ruled: Collection[str] = (),
) -> DecisionModel:
    """The stakes of some systems (none: all) on the queries all of them answered; rules decided the `ruled` items."""
    names = tuple(systems) or tuple(rankings)
    if len(names) < 2:
        raise ComparisonError("there is one system, so there is nothing to decide. Review two or more.")
    queries = tuple(sorted(set.intersection(*(set(rankings[name]) for name in names))))
    if len(queries) < 2:
        raise ComparisonError(
            f"the systems share {len(queries)} queries. Review two or more queries of each system."
        )
    keys = {(query, item): None for query in queries for name in names for item in rankings[name][query][:k]}
    place = {key: row for row, key in enumerate(keys)}
    gain = np.zeros((len(names), len(keys)))
    for row, name in enumerate(names):
        for query in queries:
            for item in rankings[name][query][:k]:
                gain[row, place[query, item]] += 1 / k
    at = {query: row for row, query in enumerate(queries)}
    values = [float(relevant[item]) if item in relevant else np.nan for _, item in keys]
    return DecisionModel(
        systems=names,
        queries=queries,
        items=tuple(item for _, item in keys),
        query=np.array([at[query] for query, _ in keys], dtype=np.int64),
        gain=gain,
        known=np.array(values),
        ruled=np.array([item in ruled for _, item in keys], dtype=bool),
    )


def decide_pairs(scores: Floats) -> npt.NDArray[np.int64]:
    """The winner's row for scores of shape (…, systems, queries), or −1 if no system beats all others."""
    mean = scores.mean(axis=-1)
    best = mean.argmax(axis=-1)
    lead = np.take_along_axis(scores, best[..., None, None], axis=-2)
    difference = lead - scores
    n = scores.shape[-1]
    half = t_quantile(n) * difference.std(axis=-1, ddof=1) / np.sqrt(n)
    separated = difference.mean(axis=-1) > half + _EPS
    rows = np.arange(scores.shape[-2])
    decided = (separated | (rows == best[..., None])).all(axis=-1)
    return np.where(decided, best, CANT_TELL)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairBounds:
    """The range of the mean difference a − b over all judgments of the open items, and the possible outcomes."""

    a: str
    b: str
    low: float
    high: float
    can_a: bool
    can_b: bool
    can_neither: bool

    @property
    def crosses(self) -> bool:
        """Whether the sign of the difference is open."""
        return self.low < 0 < self.high

    @property
    def settled(self) -> bool:
        """Whether only one outcome is possible."""
        return sum((self.can_a, self.can_b, self.can_neither)) == 1


def pair_bounds(stakes: DecisionModel, a: int, b: int) -> PairBounds:
    """The outcomes still possible for a pair."""
    low, high = stakes.ends(a, b)
    return PairBounds(
        a=stakes.systems[a],
        b=stakes.systems[b],
        low=float(low.mean()),
        high=float(high.mean()),
        can_a=bool(best_end(low, high) > 0),
        can_b=bool(best_end(-high, -low) > 0),
        can_neither=not (worst_end(low, high) > 0 or worst_end(-high, -low) > 0),
    )


def best_end(low: Floats, high: Floats) -> float:
    """The highest possible lower end of the interval: it is concave, so hill climbing finds the maximum."""
    n = len(low)
    factor = t_quantile(n) / np.sqrt(n)
    chosen, best = high.copy(), -np.inf
    for _ in range(_STEPS):
        spread = float(chosen.std(ddof=1))
        best = max(best, float(chosen.mean()) - factor * spread)
        step = spread * (n - 1) / (n * factor)
        moved = np.clip(chosen.mean() + step, low, high)
        if np.abs(moved - chosen).max() < 1e-9:
            break
        chosen = moved
    return float(best)


def worst_end(low: Floats, high: Floats) -> float:
    """A value the lower end of the interval cannot fall below: the lowest mean with the widest spread."""
    n = len(low)
    centre = float((low + high).mean() / 2)
    widest = np.maximum((low - centre) ** 2, (high - centre) ** 2).sum() / (n - 1)
    return float(low.mean() - t_quantile(n) / np.sqrt(n) * np.sqrt(widest))
