"""What smaller vectors lose against the full ones of the same system, and whether that is shown to be little."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bakeoff.stats.arrays import NOISE
from bakeoff.stats.clusters import Clusters
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.equivalence import possible_means


@dataclass(frozen=True, slots=True)
class FormLoss:
    """What a form loses on average, in points of the measure, and what it loses at most at the level of the test.

    A form that is better than the full one has a negative loss. `bound` is None where no query is scored for both.
    """

    mean: float | None
    bound: float | None

    def within(self, margin: float) -> bool:
        """Whether it is shown to lose no more than the margin."""
        return self.bound is not None and self.bound <= margin + NOISE


def form_losses(
    matrix: ScoreMatrix, full: str, forms: tuple[str, ...], seed: int, alpha: float = 0.05
) -> dict[str, FormLoss]:
    """The loss of each form against the full one, paired by query; the bounds of all forms hold together.

    The smallest of several forms is looked for, so each is tested at alpha divided by their number.
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
    found = {}
    for form, column, ends in zip(forms, columns.T, bounds, strict=True):
        known = column[~np.isnan(column)]
        found[form] = FormLoss(float(known.mean()) if len(known) else None, ends[1] if ends else None)
    return found
