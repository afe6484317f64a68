"""Paired tests on per-query differences: random sign flips and signed ranks; no t-test (S4-2, C-5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from bakeoff.stats.arrays import (
    NOISE,
    BlockMapper,
    FloatArray,
    IntArray,
    as_columns,
    in_blocks,
    without_nan,
    worth_parallel,
)
from bakeoff.stats.quantiles import NORMAL

FLIPS = 10_000
EXACT_UP_TO = 13
"""Up to this many non-zero differences, all sign patterns are enumerated: 2^13 is below 10,000."""
EXACT_RANKS_UP_TO = 60
SIGNS_PER_BLOCK = 2_000_000
SUMS_AT_ONCE = 2**20
"""Flipped sums that fit the processor's cache: they are read three times."""
FLIPS_AT_ONCE = 2**13
"""Flips of a pair at a time: three such rows fit the processor's first cache."""
SHORTEST = 1e-2
"""Length of a pair's differences, in units of the largest score, above which rounding stays far below a tie."""


@dataclass(frozen=True, slots=True)
class TestResult:
    """A two-sided p-value and how it was computed; never 0."""

    __test__ = False

    p: float
    n: int
    exact: bool
    note: str = ""


def wilcoxon(differences: npt.ArrayLike) -> TestResult:
    """Wilcoxon's signed-rank test; zeros are dropped, ties share ranks, exact up to 60 differences.

    Reciprocal ranks are nearly always tied, where other implementations fall back to the normal
    approximation; the exact distribution over sign patterns of shared ranks is as easy.
    """
    values = _non_zero(without_nan(differences))
    if len(values) == 0:
        return TestResult(1.0, 0, True, "every query is tied")
    ranks = doubled_ranks(np.abs(values))
    positive = int(ranks[values > 0].sum())
    if len(values) <= EXACT_RANKS_UP_TO:
        return TestResult(_exact_rank_p(ranks, positive), len(values), True)
    return TestResult(_normal_rank_p(ranks, positive), len(values), False)


def randomisations(
    columns: npt.ArrayLike, seed: int, flips: int = FLIPS, mapper: BlockMapper | None = None
) -> list[TestResult]:
    """Sign-flip test of each column's mean; exact if few differences are non-zero.

    A flip that ties with the observed sum counts half (mid-p): with few differences the flips tie so often
    that counting them whole would need six differences in one direction for p ≤ .05, five of five being .06.
    The mapper runs many columns in parallel: rounding is far below what counts as a tie, so the counts are
    the same.
    """
    matrix = as_columns(columns)
    if mapper is None or not worth_parallel(matrix, flips):
        return _randomisation_tests(seed, flips, matrix)
    blocks = mapper(partial(_randomisation_tests, seed, flips), in_blocks(matrix), "randomisation test")
    return [result for block in blocks for result in block]


def pair_randomisations(
    values: FloatArray, seed: int, flips: int = FLIPS, mapper: BlockMapper | None = None
) -> list[TestResult]:
    """The sign-flip test of every pair of systems (values are queries × systems), in the order of combinations.

    The flipped sum of a pair's differences is the difference of two systems' flipped sums, so random signs are
    multiplied with systems, not with pairs. Pairs whose rounding could then look like a tie are tested as columns.
    """
    first, second = np.triu_indices(values.shape[1], 1)
    columns = values[:, first] - values[:, second]
    if not _is_exact_enough(values, columns):
        return randomisations(columns, seed, flips, mapper)

    def count(scores: FloatArray, many: IntArray) -> FloatArray:
        lengths = _lengths(columns[:, many])
        return _count_pairs(values, (first[many], second[many]), scores[:, many], lengths, (seed, flips))

    return _flip_tests(scaled_differences(columns), flips, count)


def _randomisation_tests(seed: int, flips: int, columns: FloatArray) -> list[TestResult]:
    return _flip_tests(
        scaled_differences(columns),
        flips,
        lambda scores, many: _count_reached(scores[:, many], seed, flips),
    )


def _flip_tests(
    scores: FloatArray, flips: int, count_reached: Callable[[FloatArray, IntArray], FloatArray]
) -> list[TestResult]:
    """The exact test of columns with few differences, and of the others the flips that reach the observed sum."""
    counts = (scores != 0).sum(axis=0)
    results: dict[int, TestResult] = {}
    for number in np.flatnonzero(counts <= EXACT_UP_TO):
        results[int(number)] = _exact_flip(scores[scores[:, number] != 0, number])
    many = np.flatnonzero(counts > EXACT_UP_TO)
    if len(many):
        for number, count in zip(many, count_reached(scores, many), strict=True):
            p = (float(count) + 1) / (flips + 1)
            results[int(number)] = TestResult(p, int(counts[number]), False)
    return [results[number] for number in range(scores.shape[1])]


def scaled_differences(columns: npt.ArrayLike) -> FloatArray:
    """Scale each column's differences to length 1; NaN and no difference are 0.

    Flips do not change a column's length, so the sum of its differences orders them as a studentised mean
    would. Ranks are not used: they test another hypothesis than equal means, and with more queries find
    differences between systems of equal mean more often.
    """
    matrix = np.nan_to_num(as_columns(columns), nan=0.0)
    return _of_length_one(np.where(np.abs(matrix) > NOISE, matrix, 0.0))


def count_reaching(statistics: FloatArray, observed: FloatArray, n: int) -> FloatArray:
    """Number of rows that reach the observed statistic of each column, sums over n queries; a tie counts half."""
    slack = NOISE * n
    above = (statistics > observed + slack).sum(axis=0)
    ties_too = (statistics >= observed - slack).sum(axis=0)
    counts: FloatArray = (above + ties_too) / 2
    return counts


def flips_for(pairs: int, alpha: float) -> int:
    """Number of flips needed for the smallest p-value to pass a correction over that many pairs."""
    return max(FLIPS, int(5 * pairs / alpha))


def sign_blocks(n: int, flips: int, seed: int) -> Iterator[FloatArray]:
    """Random signs ±1 (flips × queries), in blocks of bounded memory."""
    generator = np.random.default_rng([seed, n, 1])
    rows = max(1, min(flips, SIGNS_PER_BLOCK // n))
    for start in range(0, flips, rows):
        count = min(rows, flips - start)
        yield (2 * generator.integers(0, 2, size=(count, n), dtype=np.int8) - 1).astype(np.float64)


def doubled_ranks(values: FloatArray) -> IntArray:
    """Twice the ranks of the values, with ties sharing their mean rank, so that all are integers."""
    rounded = np.round(values, 12)
    _, place, count = np.unique(rounded, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    doubled: IntArray = (2 * last - count + 1)[place]
    return doubled


def _non_zero(values: FloatArray) -> FloatArray:
    return values[np.abs(values) > NOISE]


def _exact_rank_p(ranks: IntArray, positive: int) -> float:
    """Twice the share of sign patterns whose sum of positive ranks is at least as extreme."""
    extreme = min(positive, int(ranks.sum()) - positive)
    ways = np.zeros(extreme + 1)
    ways[0] = 1.0
    for rank in ranks[ranks <= extreme]:
        ways[rank:] += ways[: extreme + 1 - rank]
    return float(min(1.0, 2 * (ways / 2.0 ** len(ranks)).sum()))


def _normal_rank_p(ranks: IntArray, positive: int) -> float:
    # The variance of a sum of signed ranks is the sum of their squares over 4, ties included.
    spread = float(np.sqrt((ranks.astype(np.float64) ** 2).sum()) / 2)
    z = (positive - float(ranks.sum()) / 2) / spread
    return max(2 * NORMAL.cdf(-abs(z)), float(np.finfo(float).tiny))


def _of_length_one(columns: FloatArray) -> FloatArray:
    lengths = _lengths(columns)
    return columns / np.where(lengths > 0, lengths, 1.0)


def _lengths(columns: FloatArray) -> FloatArray:
    lengths: FloatArray = np.sqrt((columns**2).sum(axis=0))
    return lengths


def _is_exact_enough(values: FloatArray, columns: FloatArray) -> bool:
    """Whether differences of systems' sums can be told from ties: all scores are known, no difference is rounding."""
    sizes = np.abs(columns)
    if np.isnan(sizes).any() or ((sizes > 0) & (sizes <= NOISE)).any():
        return False
    many = (sizes > 0).sum(axis=0) > EXACT_UP_TO
    return bool((_lengths(columns[:, many]) >= SHORTEST * np.abs(values).max(initial=0.0)).all())


def _exact_flip(scores: FloatArray) -> TestResult:
    if len(scores) == 0:
        return TestResult(1.0, 0, True, "every query is tied")
    sums = np.zeros(1)
    for score in scores:
        sums = np.concatenate([sums + score, sums - score])
    count = count_reaching(np.abs(sums)[:, None], np.abs(scores.sum(keepdims=True)), len(scores))
    return TestResult(float(count[0]) / len(sums), len(scores), True)


def _count_reached(scores: FloatArray, seed: int, flips: int) -> FloatArray:
    observed = np.abs(scores.sum(axis=0))
    count = np.zeros(scores.shape[1])
    rows = max(1, SUMS_AT_ONCE // scores.shape[1])
    for signs in sign_blocks(len(scores), flips, seed):
        for start in range(0, len(signs), rows):
            sums = np.abs(signs[start : start + rows] @ scores)
            count += count_reaching(sums, observed, len(scores))
    return count


def _count_pairs(
    values: FloatArray,
    pairs: tuple[IntArray, IntArray],
    scores: FloatArray,
    lengths: FloatArray,
    draws: tuple[int, int],
) -> FloatArray:
    """What `_count_reached` counts, for pairs of systems; `draws` are seed and flips."""
    seed, flips = draws
    n, slack = len(values), NOISE * len(values)
    observed = np.abs(scores.sum(axis=0))
    least, most = (observed - slack) * lengths, (observed + slack) * lengths
    doubled = np.zeros(len(observed), dtype=np.int64)
    for signs in sign_blocks(n, flips, seed):
        for start in range(0, len(signs), FLIPS_AT_ONCE):
            sums = values.T @ signs[start : start + FLIPS_AT_ONCE].T
            lead = np.empty(sums.shape[1])
            for number, (a, b) in enumerate(zip(*pairs, strict=True)):
                np.abs(np.subtract(sums[a], sums[b], out=lead), out=lead)
                doubled[number] += np.count_nonzero(lead > most[number])
                doubled[number] += np.count_nonzero(lead >= least[number])
    return doubled / 2
