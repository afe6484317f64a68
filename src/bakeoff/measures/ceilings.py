"""The best value a perfect system could reach on this truth: no target may be set above it (F05, C-26)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bakeoff.errors import MeasureError
from bakeoff.measures.arrays import Floats, Ints, JudgmentArrays, distinct
from bakeoff.measures.conventions import DEFAULT, Conventions
from bakeoff.measures.definitions import Needs
from bakeoff.measures.hits import truth_of
from bakeoff.measures.names import Measure


def ceiling(
    measure: Measure,
    judgments: JudgmentArrays,
    *,
    conventions: Conventions = DEFAULT,
    queries: Ints | None = None,
) -> Floats:
    """The best reachable value for each query; NaN where it has no relevant items."""
    asked = distinct(judgments.query) if queries is None else np.unique(queries)
    truth = truth_of(judgments, asked)
    if measure.definition.needs is not Needs.JUDGMENTS:
        return np.full(truth.size, fixed_ceiling(measure))
    rel = 1 if measure.name.startswith("nDCG") else measure.rel or conventions.rel
    relevant = truth.at_least(rel).astype(np.float64)
    if measure.name == "Judged":
        return np.minimum(1.0, truth.at_least(0) / float(measure.k or 1))
    # how much fits into a budget depends on the chunks, so it caps nothing that is known here
    known = None if measure.budget is not None else _BY_NAME.get(measure.name)
    best = np.ones(truth.size) if known is None else known(measure, relevant)
    return np.where(relevant > 0, best, np.nan)


def fixed_ceiling(measure: Measure) -> float:
    """The best value of a measure that does not depend on judgments."""
    if measure.name == "tokens":
        raise MeasureError("tokens@k is a cost; it has no ceiling.")
    if measure.name == "R100":
        return min(1.0, (measure.k or 0) / 100)
    return 1.0 if measure.definition.higher_is_better else 0.0


def _precision(measure: Measure, relevant: Floats) -> Floats:
    return np.minimum(1.0, relevant / float(measure.k or 1))


def _recall(measure: Measure, relevant: Floats) -> Floats:
    return np.minimum(1.0, float(measure.k or 0) / np.maximum(relevant, 1))


def _average_precision(measure: Measure, relevant: Floats) -> Floats:
    return np.ones(len(relevant)) if measure.k is None else _recall(measure, relevant)


def _rbp(measure: Measure, relevant: Floats) -> Floats:
    depth = relevant if measure.k is None else np.minimum(relevant, measure.k)
    return np.asarray(1.0 - np.power(measure.p or 0.0, depth))


_BY_NAME: dict[str, Callable[[Measure, Floats], Floats]] = {
    "P": _precision,
    "R": _recall,
    "AP": _average_precision,
    "RBP": _rbp,
}
