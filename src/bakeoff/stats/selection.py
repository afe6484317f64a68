"""Honest selection: the winner chosen on some queries and scored on others (F30)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.errors import ComparisonError
from bakeoff.stats.arrays import BoolArray, FloatArray, IntArray
from bakeoff.stats.bootstrap import BootstrapSettings, mean_interval
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.intervals import Interval


@dataclass(frozen=True, slots=True)
class Fold:
    """One fold: the winner on the other folds, its score there and on this fold."""

    winner: str
    tuning_score: float
    held_out_score: float
    n_tuning: int
    n_held_out: int


@dataclass(frozen=True, slots=True)
class Selection:
    """The winner with its score on all queries, beside what choosing scores on queries not chosen on."""

    winner: str
    tuning_score: float
    held_out_score: float
    held_out_interval: Interval
    optimism: float
    folds: tuple[Fold, ...]
    agreement: float
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
            f"(n {self.n:,}, same winner in {self.agreement:.0%} of {len(self.folds)} folds)."
        )


def stratified_folds(n: int, folds: int, seed: int, categories: Sequence[str] = ()) -> IntArray:
    """A fold number for each of n queries, sizes and categories spread as evenly as they divide."""
    if not 2 <= folds <= n:
        raise ComparisonError(f"{folds} folds of {n} queries cannot be made. Use between 2 and {n}.")
    labels = list(categories) if categories else [""] * n
    generator = np.random.default_rng([seed, n, 3])
    order = generator.permutation(n)
    by_category = sorted(order, key=lambda query: labels[query])
    assigned = np.empty(n, dtype=np.int64)
    assigned[by_category] = np.arange(n) % folds
    return assigned


def select(matrix: ScoreMatrix, folds: int, seed: int) -> Selection:
    """Choose the best system by cross-validation on the queries scored for every system."""
    values, labels = _complete(matrix.sorted())
    n = values.shape[1]
    assigned = stratified_folds(n, folds, seed, labels)
    sign = 1.0 if matrix.higher_is_better else -1.0
    made, held_out = [], np.empty(n)
    for number in range(folds):
        inside: BoolArray = assigned == number
        place = _winner(values[:, ~inside], sign)
        held_out[inside] = values[place, inside]
        made.append(_fold(matrix.systems[place], values[place], inside))
    best = _winner(values, sign)
    tuning, honest = float(values[best].mean()), float(held_out.mean())
    return Selection(
        winner=matrix.systems[best],
        tuning_score=tuning,
        held_out_score=honest,
        held_out_interval=mean_interval(held_out, BootstrapSettings(seed), matrix.bounds),
        optimism=sign * (tuning - honest),
        folds=tuple(made),
        agreement=Counter(fold.winner for fold in made)[matrix.systems[best]] / folds,
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


def _winner(values: FloatArray, sign: float) -> int:
    return int(np.round(sign * values.mean(axis=1), 12).argmax())


def _fold(winner: str, scores: FloatArray, inside: BoolArray) -> Fold:
    outside = ~inside
    return Fold(
        winner,
        float(scores[outside].mean()),
        float(scores[inside].mean()),
        int(outside.sum()),
        int(inside.sum()),
    )
