"""Paired tests on per-query differences: signed ranks and random sign flips; no t-test (S4-2, C-5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bakeoff.stats.arrays import NOISE, FloatArray, IntArray, as_columns, without_nan
from bakeoff.stats.quantiles import NORMAL

FLIPS = 10_000
EXACT_UP_TO = 13
"""With at most this many non-zero differences all sign patterns are enumerated: 2^13 is below 10,000."""
EXACT_RANKS_UP_TO = 60
SIGNS_PER_BLOCK = 2_000_000


@dataclass(frozen=True, slots=True)
class TestResult:
    """A two-sided p-value with how it was found; it is never 0."""

    __test__ = False

    p: float
    n: int
    exact: bool
    note: str = ""


def wilcoxon(differences: npt.ArrayLike) -> TestResult:
    """Wilcoxon's signed-rank test; zeros are dropped, ties share ranks, exact up to 60 differences.

    Reciprocal ranks are nearly always tied, where other implementations fall back to the normal curve; the
    exact distribution over sign patterns of the shared ranks is as easy.
    """
    values = _non_zero(without_nan(differences))
    if len(values) == 0:
        return TestResult(1.0, 0, True, "every query is tied")
    ranks = doubled_ranks(np.abs(values))
    positive = int(ranks[values > 0].sum())
    if len(values) <= EXACT_RANKS_UP_TO:
        return TestResult(_exact_rank_p(ranks, positive), len(values), True)
    return TestResult(_normal_rank_p(ranks, positive), len(values), False)


def randomisation(differences: npt.ArrayLike, seed: int, flips: int = FLIPS) -> TestResult:
    """The sign-flip test of a mean difference of 0 for one column."""
    return randomisations(np.asarray(differences, dtype=np.float64)[:, None], seed, flips)[0]


def randomisations(columns: npt.ArrayLike, seed: int, flips: int = FLIPS) -> list[TestResult]:
    """The sign-flip test of each column; p = (b + 1) / (B + 1), or exact where few differences are not 0."""
    matrix = np.nan_to_num(as_columns(columns), nan=0.0)
    counts = (np.abs(matrix) > NOISE).sum(axis=0)
    results: dict[int, TestResult] = {}
    for number in np.flatnonzero(counts <= EXACT_UP_TO):
        results[int(number)] = _exact_flip(_non_zero(matrix[:, number]))
    many = np.flatnonzero(counts > EXACT_UP_TO)
    if len(many):
        reached = _count_reached(matrix[:, many], seed, flips)
        for number, count in zip(many, reached, strict=True):
            p = (int(count) + 1) / (flips + 1)
            results[int(number)] = TestResult(p, int(counts[number]), False)
    return [results[number] for number in range(matrix.shape[1])]


def flips_for(pairs: int, alpha: float) -> int:
    """Enough flips that the smallest p-value can still pass a correction over that many pairs."""
    return max(FLIPS, int(5 * pairs / alpha))


def sign_blocks(n: int, flips: int, seed: int) -> Iterator[FloatArray]:
    """Random signs ±1, flips × queries, in blocks of bounded memory."""
    generator = np.random.default_rng([seed, n, 1])
    rows = max(1, min(flips, SIGNS_PER_BLOCK // n))
    for start in range(0, flips, rows):
        count = min(rows, flips - start)
        yield (2 * generator.integers(0, 2, size=(count, n), dtype=np.int8) - 1).astype(np.float64)


def doubled_ranks(values: FloatArray) -> IntArray:
    """Twice the ranks of the values, ties sharing their mean rank, so that all are whole numbers."""
    rounded = np.round(values, 12)
    _, place, count = np.unique(rounded, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    doubled: IntArray = (2 * last - count + 1)[place]
    return doubled


def _non_zero(values: FloatArray) -> FloatArray:
    return values[np.abs(values) > NOISE]


def _exact_rank_p(ranks: IntArray, positive: int) -> float:
    total = int(ranks.sum())
    ways = np.zeros(total + 1)
    ways[0] = 1.0
    for rank in ranks:
        shifted = np.zeros_like(ways)
        shifted[rank:] = ways[: total + 1 - rank]
        ways = (ways + shifted) / 2
    extreme = min(positive, total - positive)
    return float(min(1.0, 2 * ways[: extreme + 1].sum()))


def _normal_rank_p(ranks: IntArray, positive: int) -> float:
    # The variance of a sum of signed ranks is the sum of their squares over 4, ties included.
    spread = float(np.sqrt((ranks.astype(np.float64) ** 2).sum()) / 2)
    z = (positive - float(ranks.sum()) / 2) / spread
    return max(2 * NORMAL.cdf(-abs(z)), float(np.finfo(float).tiny))


def _exact_flip(values: FloatArray) -> TestResult:
    if len(values) == 0:
        return TestResult(1.0, 0, True, "every query is tied")
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    observed = abs(float(values.sum()))
    return TestResult(float((np.abs(sums) >= observed - NOISE * len(values)).mean()), len(values), True)


def _count_reached(columns: FloatArray, seed: int, flips: int) -> IntArray:
    observed = np.abs(columns.sum(axis=0)) - NOISE * len(columns)
    reached = np.zeros(columns.shape[1], dtype=np.int64)
    for signs in sign_blocks(len(columns), flips, seed):
        reached += (np.abs(signs @ columns) >= observed).sum(axis=0)
    return reached
