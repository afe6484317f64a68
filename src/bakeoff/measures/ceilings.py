"""The best value a perfect system could reach on this truth: no target may be set above it (F05, C-26)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bakeoff.measures.arrays import Bools, Floats, Ints, JudgmentArrays, RankingArrays, distinct
from bakeoff.measures.conventions import DEFAULT, Conventions
from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.evaluate import evaluate
from bakeoff.measures.names import Measure
from bakeoff.types import Unit


def ceiling(
    measure: Measure,
    judgments: JudgmentArrays,
    *,
    conventions: Conventions = DEFAULT,
    queries: Ints | None = None,
    depth: int | None = None,
    reachable: Bools | None = None,
) -> Floats | None:
    """The best value of each query, NaN where it has no relevant items; None where it is not known.

    Ideal rankings are scored by the measure itself, so that a new measure needs no formula here. They hold at most
    `depth` items, and only `reachable` ones (one value a judgment): what is not retrieved still counts as relevant.
    """
    asked = distinct(judgments.query) if queries is None else np.unique(queries)
    if measure.definition.needs is not RequiredInput.JUDGMENTS:
        fixed = fixed_ceiling(measure)
        return None if fixed is None else np.full(len(asked), fixed)
    # how much fits into a budget depends on the chunks, and what is worst for a cost is not known at all
    if measure.budget is not None or not measure.definition.higher_is_better:
        return None
    # a measure that divides by what was returned is best without the others, one that counts judged items with them
    there = np.ones(len(judgments.grade), bool) if reachable is None else reachable
    rankings = [_ideal(judgments, there & (judgments.grade >= least), depth) for least in (1, 0)]
    rules = replace(conventions, order="served", score_precision="double")
    found = (evaluate(one, judgments, [measure], conventions=rules, queries=asked) for one in rankings)
    reached = [one.values[:, 0] for one in found]
    return np.fmax(*reached)


def items_within(depth: int, unit: Unit | None) -> int | None:
    """How many items of a unit `depth` chunks can hold; None for answers, of which one chunk can hold several."""
    return None if unit is Unit.ANSWER else depth


def fixed_ceiling(measure: Measure) -> float | None:
    """The best value of a measure that does not depend on judgments; None where its definition names none."""
    return measure.definition.fixed_ceiling(measure)


def _ideal(judgments: JudgmentArrays, kept: Bools, depth: int | None) -> RankingArrays:
    """Rankings of the kept items of each query, the highest grade first."""
    rows = np.flatnonzero(kept)
    rows = rows[np.lexsort((-judgments.grade[rows].astype(np.int64), judgments.query[rows]))]
    if depth is not None:
        query = judgments.query[rows]
        rows = rows[np.arange(len(rows)) - np.searchsorted(query, query) < depth]
    scores = -np.arange(len(rows), dtype=np.float64)
    return RankingArrays(judgments.query[rows], judgments.item[rows], scores)
