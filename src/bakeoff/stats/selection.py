"""Unbiased selection: the winner is chosen on some queries and scored on others (F30)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.errors import ComparisonError
from bakeoff.stats.arrays import BoolArray, FloatArray, IntArray
from bakeoff.stats.bootstrap import BootstrapSettings, mean_interval
from bakeoff.stats.clusters import Clusters
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.intervals import Interval

SPLITS = 20
"""Number of random splits into folds; a single split would move the held-out score by about its own precision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The winner with its score on all queries, and its score when chosen on held-out queries.

    `agreement` is the share of the choices, one per fold of each split, that fell on the winner; tied systems
    share a choice. `tied` holds the other systems with the winner's score on all queries.
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
    tied: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """One line for the report."""
        ends = self.held_out_interval
        expected = (
            f"; expect {self.held_out_score:.3f} [{ends.low:.3f} {ends.high:.3f}] on new questions"
            if ends.low is not None and ends.high is not None
            else ""
        )
        who = f"{self.winner} and {len(self.tied)} more tie for the best score" if self.tied else self.winner
        again = f"; the best again in {self.agreement:.0%} of {self.choices} choices on part of them"
        return (
            f"{who}: {self.tuning_score:.3f} here{expected} "
            f"(best of {self.candidates} on {self.n:,} questions{'' if self.tied else again})."
        )


def stratified_folds(
    n: int,
    folds: int,
    seed: int,
    categories: Sequence[str] = (),
    split: int = 0,
    clusters: Clusters | None = None,
) -> IntArray:
    """A fold number for each of n queries, with sizes and categories spread evenly.

    The queries of a cluster share a fold: what is learned from one must not be scored on another.
    """
    most = n if clusters is None else clusters.count
    if not 2 <= folds <= most:
        what = f"{n} queries" if most == n else f"{most} clusters of queries"
        raise ComparisonError(f"{folds} folds of {what} cannot be made. Use between 2 and {most}.")
    labels = list(categories) if categories else [""] * n
    generator = np.random.default_rng([seed, n, 3, split])
    if clusters is not None and not clusters.alone:
        return _cluster_folds(clusters, folds, labels, generator)
    order = generator.permutation(n)
    by_category = sorted(order, key=lambda query: labels[query])
    assigned = np.empty(n, dtype=np.int64)
    assigned[by_category] = np.arange(n) % folds
    return assigned


def _cluster_folds(
    clusters: Clusters, folds: int, labels: list[str], generator: np.random.Generator
) -> IntArray:
    """Assign whole clusters, largest first, to the fold with the fewest queries of their category, then of all."""
    names = sorted(set(labels))
    weights = np.zeros((folds, len(names)))
    category = np.array([names.index(label) for label in labels])
    fold_of = np.empty(clusters.count, dtype=np.int64)
    shuffled = generator.permutation(clusters.count)
    for cluster in shuffled[np.argsort(-clusters.sizes[shuffled], kind="stable")]:
        counts = np.bincount(category[clusters.codes == cluster], minlength=len(names))
        main = int(counts.argmax())
        fold = int(np.lexsort((weights.sum(axis=1), weights[:, main]))[0])
        weights[fold] += counts
        fold_of[cluster] = fold
    assigned: IntArray = fold_of[clusters.codes]
    return assigned


def select(matrix: ScoreMatrix, folds: int, seed: int) -> Selection:
    """Choose the best system by repeated cross-validation on the queries scored for every system."""
    values, labels, clusters = _complete(matrix.sort_queries())
    n = values.shape[1]
    folds = folds if clusters.alone else min(folds, max(2, clusters.count))
    sign = 1.0 if matrix.higher_is_better else -1.0
    won, held_out = np.zeros(len(values)), np.zeros(n)
    for split in range(SPLITS):
        assigned = stratified_folds(n, folds, seed, labels, split, clusters)
        shares = _choices(values, assigned, folds, sign)
        held_out += (shares[:, assigned] * values).sum(axis=0) / SPLITS
        won += shares.sum(axis=1)
    best, *tied = np.flatnonzero(_best(values.mean(axis=1, keepdims=True), sign)).tolist()
    tuning, honest = float(values[best].mean()), float(held_out.mean())
    return Selection(
        winner=matrix.systems[best],
        tuning_score=tuning,
        held_out_score=honest,
        held_out_interval=mean_interval(held_out, BootstrapSettings(seed), matrix.bounds, clusters),
        optimism=sign * (tuning - honest),
        agreement=float(won[best]) / (SPLITS * folds),
        choices=SPLITS * folds,
        n=n,
        candidates=len(matrix.systems),
        tied=tuple(matrix.systems[place] for place in tied),
    )


def _complete(matrix: ScoreMatrix) -> tuple[FloatArray, list[str], Clusters]:
    values = matrix.without_structural()
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
    return values[:, common], labels, Clusters.of(matrix.clusters, len(matrix.queries)).among(common)


def _choices(values: FloatArray, assigned: IntArray, folds: int, sign: float) -> FloatArray:
    """Systems × folds: 1 for the best system on the other folds; tied systems share it equally."""
    inside = (assigned[:, None] == np.arange(folds)).astype(np.float64)
    elsewhere = values @ (1.0 - inside)
    best = _best(elsewhere / (1.0 - inside).sum(axis=0), sign)
    shares: FloatArray = best / best.sum(axis=0)
    return shares


def _best(means: FloatArray, sign: float) -> BoolArray:
    """Mask of systems (rows) with the best mean of each column, ignoring rounding errors."""
    rounded = np.round(sign * means, 12)
    return np.asarray(rounded == rounded.max(axis=0))
