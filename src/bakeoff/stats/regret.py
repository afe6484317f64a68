"""Regret: what choosing a system may cost, in points of the measure, if another one is truly the best.

Queries get random weights (the Bayesian bootstrap, paired: one weight serves every system). For the bound,
one unseen query is added on which the rival is better by as much as the measure allows: with scores of 0 and
1 and two systems that is the exact binomial bound, and it covers even with few queries and rare failures.
Whichever system is the best, its leads over all systems that could be recommended are bounded simultaneously
(Hsu's multiple comparisons with the best), so the bound also holds for a system chosen by its scores. Systems
shown to lose more than the margin can't be recommended and don't widen the bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bakeoff.stats.arrays import NOISE, BoolArray, FloatArray
from bakeoff.stats.clusters import Clusters
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.equivalence import DECIMALS, random_weights

DRAWS = 4_000
FEWER_DRAWS = 1_000
MOST_SYSTEMS = 64
"""Most systems for which all draws are made: the work grows with the square of their number."""


@dataclass(frozen=True, slots=True)
class Regret:
    """What one system may lose against the best, in points of the measure.

    `expected` is the expected loss, `bound` its upper bound (95 %), `lead` how far the best mean is ahead.
    """

    expected: float
    bound: float
    lead: float

    def within(self, margin: float) -> bool:
        """Whether the bound is at most the margin."""
        return self.bound <= margin + NOISE

    def ties(self, margin: float) -> bool:
        """Whether the best mean is ahead by less than the margin, or not at all."""
        return self.lead < max(margin - NOISE, NOISE)


def regrets(
    matrix: ScoreMatrix,
    systems: tuple[str, ...],
    tied: tuple[str, ...],
    seed: int,
    *,
    margin: float,
    alpha: float = 0.05,
) -> dict[str, Regret]:
    """Regret of each of some systems among themselves, on the queries they share; empty without such a query.

    `tied` are those that no test separates from the best. Chance spreads the means of equal systems, so for
    the expected loss their means are shrunk by the share of their spread that queries alone would cause.
    """
    ordered = matrix.sort_queries().only(systems)
    values = ordered.without_structural()
    shared: BoolArray = np.logical_not(np.isnan(values).any(axis=0))
    if not systems or not shared.any():
        return {}
    clusters = Clusters.of(ordered.clusters, len(ordered.queries)).among(shared)
    scores = clusters.linearise((1.0 if matrix.higher_is_better else -1.0) * values[:, shared].T)
    draws = DRAWS if len(systems) <= MOST_SYSTEMS else FEWER_DRAWS
    means = scores.mean(axis=0)
    expected = _expected_regret(scores, np.isin(systems, tied), draws, seed)
    drawn = _draw_means(scores, matrix.largest_difference, draws, seed)
    bounds = np.maximum(_bounds(drawn, int(means.argmax()), margin, alpha), expected)
    rows = np.round(np.stack([expected, bounds, means.max() - means], axis=1), DECIMALS).tolist()
    return {
        system: Regret(expected=row[0], bound=row[1], lead=row[2])
        for system, row in zip(systems, rows, strict=True)
    }


def _expected_regret(scores: FloatArray, tied: BoolArray, draws: int, seed: int) -> FloatArray:
    """Mean over draws of the best system's mean minus each one's own."""
    means = scores.mean(axis=0)
    centres = means.copy()
    blocks = random_weights(len(scores), draws, [seed, len(scores), 5])
    noise = np.concatenate([weights @ (scores - means) for weights in blocks])
    if tied.sum() > 1:
        spread, middle = _kept_spread(_variance_ratio(scores[:, tied]), int(tied.sum())), means[tied].mean()
        centres[tied] = middle + spread * (means[tied] - middle)
        noise[:, tied] *= np.sqrt(spread)
    drawn = centres + noise
    loss: FloatArray = (drawn.max(axis=1, keepdims=True) - drawn).mean(axis=0)
    return loss


def _variance_ratio(scores: FloatArray) -> float:
    """F: variance between systems over the variance that queries alone would cause; infinite for one query."""
    n, count = scores.shape
    means = scores.mean(axis=0)
    between = n * float(means.var(ddof=1))
    if between < NOISE**2:
        return 0.0
    residuals = scores - means - scores.mean(axis=1, keepdims=True) + scores.mean()
    within = float((residuals**2).sum()) / max(1, (n - 1) * (count - 1))
    return between / within if within > NOISE**2 else math.inf


def _kept_spread(ratio: float, systems: int) -> float:
    """Share of the spread between systems that is not chance: its posterior mean under a uniform prior."""
    if math.isinf(ratio):
        return 1.0
    chance, freedom = (np.arange(500) + 0.5) / 500, (systems - 1) / 2
    logarithms = freedom * np.log(chance) - chance * freedom * ratio
    likelihood = np.exp(logarithms - logarithms.max())
    return 1.0 - float((likelihood * chance).sum() / likelihood.sum())


@dataclass(frozen=True, slots=True, eq=False)
class _DrawnMeans:
    """Means of each system over random weights (systems × draws), and what an unseen query may add to a lead."""

    means: FloatArray
    unseen: FloatArray

    def leads(self, rival: int, over: BoolArray) -> FloatArray:
        """How far one system may be ahead of each of some others, systems × draws."""
        leads: FloatArray = self.means[rival] + self.unseen - self.means[over]
        return leads

    def losses_at_least(self, best: int, alpha: float) -> FloatArray:
        """Lower bound of each system's loss against another, at this level."""
        return -_upper_ends(self.means - self.means[best] + self.unseen, alpha)


def _draw_means(scores: FloatArray, largest: float, draws: int, seed: int) -> _DrawnMeans:
    """Means over the weights that also bound possible differences; the last weight is the unseen query's."""
    means, unseen = [], []
    for weights in random_weights(len(scores) + 1, draws, [seed, len(scores) + 1, 4]):
        means.append(scores.T @ weights[:, :-1].T)
        unseen.append(weights[:, -1] * largest)
    return _DrawnMeans(np.concatenate(means, axis=1), np.concatenate(unseen))


def _bounds(drawn: _DrawnMeans, best: int, margin: float, alpha: float) -> FloatArray:
    """Largest loss of each system against any rival; against one rival, the bounds of all candidates hold
    simultaneously. A system is left out of that only if its loss is shown over all systems: those that chance
    lets through at their own level are the lucky ones, and a level for these few would be too low."""
    count = len(drawn.means)
    eligible = drawn.losses_at_least(best, alpha / max(1, count - 1)) <= margin
    bounds = np.zeros(count)
    for rival in np.argsort(-drawn.means.mean(axis=1), kind="stable"):
        others = np.arange(count) != rival
        leads, chosen = drawn.leads(rival, others), eligible[others]
        if (_upper_ends(leads, alpha / max(1, chosen.sum())) > bounds[others]).any():
            bounds[others] = np.maximum(bounds[others], _joint_upper_ends(leads, chosen, alpha))
    return bounds


def _upper_ends(rows: FloatArray, alpha: float) -> FloatArray:
    """The value of each row that a share alpha of its values exceeds."""
    place = math.ceil((1 - alpha) * rows.shape[1]) - 1
    ends: FloatArray = np.partition(rows, place, axis=1)[:, place]
    return ends


def _joint_upper_ends(rows: FloatArray, joint: BoolArray, alpha: float) -> FloatArray:
    """One end per row, at a joint level: a share 1 − alpha of the draws lies below all ends of the joint rows."""
    if not joint.any():
        return _upper_ends(rows, alpha)
    order = np.argsort(rows[joint], axis=1, kind="stable")
    ranks = np.empty(order.shape, dtype=np.int64)
    np.put_along_axis(ranks, order, np.arange(rows.shape[1])[None, :], axis=1)
    level = np.sort(ranks.max(axis=0))[math.ceil((1 - alpha) * rows.shape[1]) - 1]
    ends: FloatArray = np.partition(rows, level, axis=1)[:, level]
    return ends
