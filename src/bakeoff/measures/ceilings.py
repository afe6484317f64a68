"""The best value a perfect system could reach on this truth: no target may be set above it (F05, C-26)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bakeoff.measures.arrays import Floats, Ints, JudgmentArrays, RankingArrays, distinct
from bakeoff.measures.conventions import DEFAULT, Conventions
from bakeoff.measures.definitions import Needs
from bakeoff.measures.evaluate import evaluate
from bakeoff.measures.names import Measure

_DECLARED = {"1": 1.0, "0": 0.0}


def ceiling(
    measure: Measure,
    judgments: JudgmentArrays,
    *,
    conventions: Conventions = DEFAULT,
    queries: Ints | None = None,
) -> Floats | None:
    """The best value of each query, NaN where it has no relevant items; None where it is not known.

    Ideal rankings are scored by the measure itself, so that a new measure needs no formula here.
    """
    asked = distinct(judgments.query) if queries is None else np.unique(queries)
    if measure.definition.needs is not Needs.JUDGMENTS:
        fixed = fixed_ceiling(measure)
        return None if fixed is None else np.full(len(asked), fixed)
    # how much fits into a budget depends on the chunks, and what is worst for a cost is not known at all
    if measure.budget is not None or not measure.definition.higher_is_better:
        return None
    # a measure that divides by what was returned is best without the others, one that counts judged items with them
    reached = [_reached(measure, judgments, least, conventions, asked) for least in (1, 0)]
    return np.fmax(*reached)


def fixed_ceiling(measure: Measure) -> float | None:
    """The best value of a measure that does not depend on judgments; None where its definition names none."""
    if measure.name == "R100":
        return min(1.0, (measure.k or 0) / 100)
    return _DECLARED.get(measure.definition.ceiling)


def _reached(
    measure: Measure, judgments: JudgmentArrays, least: int, conventions: Conventions, queries: Ints
) -> Floats:
    """The values of rankings that hold all items of a grade or a higher one, the highest first."""
    kept = np.flatnonzero(judgments.grade >= least)
    order = kept[np.lexsort((-judgments.grade[kept].astype(np.int64), judgments.query[kept]))]
    ideal = RankingArrays(
        judgments.query[order], judgments.item[order], -np.arange(len(order), dtype=np.float64)
    )
    rules = replace(conventions, order="served", score_precision="double")
    return evaluate(ideal, judgments, [measure], conventions=rules, queries=queries).values[:, 0]
