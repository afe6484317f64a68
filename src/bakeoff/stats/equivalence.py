"""How large a difference the queries leave possible, including unsampled queries of another kind.

A bootstrap draws only what it has seen: if all queries have the same difference, it reports certainty. The
bound here adds one more query with the most extreme difference the measure allows and draws random weights
over all of them (Gaffke's bound of a bounded mean). With differences of 0 and 1 it is the exact binomial
bound: n equal queries leave 1 − α^(1/n), about 3/n, possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from bakeoff.stats.arrays import (
    NOISE,
    BlockMapper,
    FloatArray,
    as_columns,
    groups_by_mask,
    map_blocks,
)
from bakeoff.stats.clusters import Clusters, as_clusters
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.quantiles import quantiles_of_rows

DRAWS = 4_000
WEIGHTS_PER_BLOCK = 2_000_000
DECIMALS = 9
"""Sums in another order differ in the last bits; ends are rounded so that they don't depend on the machine."""

Bounds = tuple[float, float]


def excludes_zero(bounds: Bounds | None) -> bool:
    """Whether all means still possible have the same sign; False without a query."""
    return bounds is not None and not bounds[0] <= 0.0 <= bounds[1]


def possible_means(
    columns: npt.ArrayLike,
    largest: npt.ArrayLike,
    alphas: tuple[float, ...],
    seed: int,
    *,
    clusters: Clusters | None = None,
    mapper: BlockMapper | None = None,
) -> list[list[Bounds | None]]:
    """For each level and column, the smallest and largest true mean still possible; None without a query.

    `largest` is the largest absolute value that each column could hold. If queries are clustered, clusters
    are weighted.
    """
    matrix, extremes = as_columns(columns), np.asarray(largest, dtype=np.float64)
    grouped = as_clusters(clusters, matrix)
    found: list[list[Bounds | None]] = [[None] * matrix.shape[1] for _ in alphas]
    for numbers, mask in groups_by_mask(matrix):
        if not mask.any():
            continue
        values = grouped.among(mask).linearise(matrix[np.ix_(mask, numbers)])
        with_extremes = np.vstack([values, extremes[numbers]])
        for row, bounds in zip(found, _bounds(with_extremes, alphas, seed, mapper), strict=True):
            for number, ends in zip(numbers, bounds, strict=True):
                row[number] = ends
    return found


def _bounds(
    values: FloatArray, alphas: tuple[float, ...], seed: int, mapper: BlockMapper | None
) -> list[list[Bounds]]:
    """Bounds at each level of columns whose last row is the extreme."""
    blocks = map_blocks(partial(_block_bounds, alphas, seed), values, DRAWS, "equivalence", mapper)
    return [[ends for block in levels for ends in block] for levels in zip(*blocks, strict=True)]


def _block_bounds(alphas: tuple[float, ...], seed: int, part: FloatArray) -> list[list[Bounds]]:
    values, extreme = part[:-1], part[-1]
    least, most = np.empty((part.shape[1], DRAWS)), np.empty((part.shape[1], DRAWS))
    start = 0
    for weights in random_weights(len(part), DRAWS, [seed, len(part), 4]):
        stop = start + len(weights)
        seen, unseen = values.T @ weights[:, :-1].T, extreme[:, None] * weights[:, -1]
        least[:, start:stop], most[:, start:stop] = seen - unseen, seen + unseen
        start = stop
    low = np.round(quantiles_of_rows(least, alphas), DECIMALS)
    high = np.round(quantiles_of_rows(most, [1 - alpha for alpha in alphas]), DECIMALS)
    return [
        [(float(a), float(b)) for a, b in zip(*ends, strict=True)] for ends in zip(low, high, strict=True)
    ]


def random_weights(n: int, draws: int, seed: Sequence[int]) -> Iterator[FloatArray]:
    """Random weights of n rows that sum to 1 (draws × rows), in blocks of bounded memory."""
    generator = np.random.default_rng(seed)
    rows = max(1, min(draws, WEIGHTS_PER_BLOCK // n))
    for start in range(0, draws, rows):
        drawn = generator.standard_exponential((min(rows, draws - start), n))
        yield drawn / drawn.sum(axis=1, keepdims=True)


@dataclass(frozen=True, slots=True)
class FormLoss:
    """Mean loss of a form in points of the measure, and its upper bound at the level of the test.

    A form better than the full one has a negative loss. `bound` is None if no query is scored for both.
    """

    mean: float | None
    bound: float | None

    def within(self, margin: float) -> bool:
        """Whether it is shown to lose no more than the margin."""
        return self.bound is not None and self.bound <= margin + NOISE


def form_losses(
    matrix: ScoreMatrix, full: str, forms: tuple[str, ...], seed: int, alpha: float = 0.05
) -> dict[str, FormLoss]:
    """Loss of each form against the full one, paired by query; the bounds of all forms hold simultaneously.

    Since the smallest of several forms is sought, each is tested at alpha divided by their number.
    """
    if not forms:
        return {}
    ordered = matrix.sort_queries().only((full, *forms))
    values = ordered.without_structural()
    sign = 1.0 if matrix.higher_is_better else -1.0
    columns = (sign * (values[0] - values[1:])).T
    (bounds,) = possible_means(
        columns,
        np.full(len(forms), matrix.largest_difference),
        (alpha / len(forms),),
        seed,
        clusters=Clusters.of(ordered.clusters, len(ordered.queries)),
    )
    losses = {}
    for form, column, ends in zip(forms, columns.T, bounds, strict=True):
        scored = column[~np.isnan(column)]
        losses[form] = FormLoss(float(scored.mean()) if len(scored) else None, ends[1] if ends else None)
    return losses
