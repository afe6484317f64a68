"""Honest selection: the winner chosen on some queries and scored on others (F30)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.errors import ComparisonError
from bakeoff.stats.arrays import BoolArray, FloatArray, IntArray
from bakeoff.stats.bootstrap import BootstrapSettings, mean_interval
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.intervals import Interval

SPLITS = 20
"""Deals of the queries into folds; one deal alone would move the held-out score by about as much as it tells."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The winner with its score on all queries, beside what choosing scores on queries not chosen on.

    `agreement` is the share of the choices, one a fold of each split, that fell on the winner.
    """

    winner: str
    tuning_score: float
    held_out_score: float
    held_out_interval: Interval
    optimism: float
    agreement: float
    choices: int
    n: int
    candidates: int

    @property
    def sentence(self) -> str:
        """One line for the report."""
        ends = self.held_out_interval
        known = f" [{ends.low:.3f} {ends.high:.3f}]" if ends.low is not None and ends.high is not None else ""
        return (
            f"{self.winner} scores {self.tuning_score:.3f} on the queries it was chosen on, out of "
            f"{self.candidates}; on held-out queries the choice scores {self.held_out_score:.3f}{known} "
            f"(n {self.n:,}, same winner in {self.agreement:.0%} of {self.choices} choices)."
        )


def stratified_folds(
    n: int, folds: int, seed: int, categories: Sequence[str] = (), split: int = 0
) -> IntArray:
    """A fold number for each of n queries, sizes and categories spread as evenly as they divide."""
    if not 2 <= folds <= n:
        raise ComparisonError(f"{folds} folds of {n} queries cannot be made. Use between 2 and {n}.")
    labels = list(categories) if categories else [""] * n
    generator = np.random.default_rng([seed, n, 3, split])
    order = generator.permutation(n)
    by_category = sorted(order, key=lambda query: labels[query])
    assigned = np.empty(n, dtype=np.int64)
    assigned[by_category] = np.arange(n) % folds
    return assigned


def select(matrix: ScoreMatrix, folds: int, seed: int) -> Selection:
    """Choose the best system by repeated cross-validation on the queries scored for every system."""
    values, labels = _complete(matrix.sorted())
    n = values.shape[1]
    sign = 1.0 if matrix.higher_is_better else -1.0
    winners: list[int] = []
    held_out = np.zeros(n)
    for split in range(SPLITS):
        assigned = stratified_folds(n, folds, seed, labels, split)
        chosen = _winners(values, assigned, folds, sign)
        held_out += values[chosen[assigned], np.arange(n)] / SPLITS
        winners += chosen.tolist()
    best = int(_best(values.mean(axis=1), sign))
    tuning, honest = float(values[best].mean()), float(held_out.mean())
    return Selection(
        winner=matrix.systems[best],
        tuning_score=tuning,
        held_out_score=honest,
        held_out_interval=mean_interval(held_out, BootstrapSettings(seed), matrix.bounds),
        optimism=sign * (tuning - honest),
        agreement=winners.count(best) / len(winners),
        choices=len(winners),
        n=n,
        candidates=len(matrix.systems),
    )


def _complete(matrix: ScoreMatrix) -> tuple[FloatArray, list[str]]:
    values = matrix.scored()
    common: BoolArray = np.logical_not(np.isnan(values).any(axis=0))
    if not len(matrix.systems) or common.sum() < 2:
        raise ComparisonError(
            f"{int(common.sum())} queries of {matrix.measure} are scored for every system; "
            "choosing with held-out queries needs at least 2."
        )
    labels = (
        [label for label, keep in zip(matrix.categories, common, strict=True) if keep]
        if matrix.categories
        else []
    )
    return values[:, common], labels


def _winners(values: FloatArray, assigned: IntArray, folds: int, sign: float) -> IntArray:
    """For each fold the place of the system that is best on the others."""
    inside = (assigned[:, None] == np.arange(folds)).astype(np.float64)
    elsewhere = values @ (1.0 - inside)
    return _best(elsewhere / (1.0 - inside).sum(axis=0), sign)


def _best(means: FloatArray, sign: float) -> IntArray:
    """The first of the systems with the best mean; means equal but for rounding are equal."""
    places: IntArray = np.round(sign * means, 12).argmax(axis=0)
    return places
