"""Best value a perfect system could reach on this truth: no target may be set above it (F05, C-26)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bakeoff.measures.arrays import Bools, Floats, Ints, JudgmentArrays, RankingArrays, distinct
from bakeoff.measures.conventions import DEFAULT, Conventions
from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.evaluate import evaluate
from bakeoff.measures.names import Measure
from bakeoff.runtime.count_text import count
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
    """Best value of each query, NaN without relevant items; None if unknown.

    Ideal rankings are scored by the measure itself, so a new measure needs no formula here. They hold at most
    `depth` items, and only `reachable` ones (one flag per judgment): what is not retrieved still counts as
    relevant.
    """
    asked = distinct(judgments.query) if queries is None else np.unique(queries)
    if measure.definition.needs is not RequiredInput.JUDGMENTS:
        fixed = fixed_ceiling(measure)
        return None if fixed is None else np.full(len(asked), fixed)
    # what fits into a budget depends on the chunks, and the worst case of a cost is unknown
    if measure.budget is not None or not measure.definition.higher_is_better:
        return None
    # a measure that divides by the number returned is best without the others; one that counts judged items, with them
    there = np.ones(len(judgments.grade), bool) if reachable is None else reachable
    rankings = [_ideal(judgments, there & (judgments.grade >= least), depth) for least in (1, 0)]
    rules = replace(conventions, order="served", score_precision="double")
    found = (evaluate(one, judgments, [measure], conventions=rules, queries=asked) for one in rankings)
    reached = [one.values[:, 0] for one in found]
    return np.fmax(*reached)


def items_within(depth: int, unit: Unit | None) -> int | None:
    """Number of items of a unit that `depth` chunks can hold; None for answers, as one chunk can hold several."""
    return None if unit is Unit.ANSWER else depth


def fixed_ceiling(measure: Measure) -> float | None:
    """Best value of a measure that doesn't depend on judgments; None if its definition has none."""
    return measure.definition.fixed_ceiling(measure)


def describe_exhausted_depth(measure: Measure, documents: int) -> str:
    """Why a recall that counts every document of the corpus can't tell systems apart; '' if it can."""
    counts_all = 0 < documents <= (measure.k or 0) and measure.unit is Unit.DOCUMENT
    if not counts_all or measure.name not in ("R", "Hit"):
        return ""
    return f"{measure} is not informative here: the corpus has only {count(documents, 'document')}. Use a smaller k."


def _ideal(judgments: JudgmentArrays, kept: Bools, depth: int | None) -> RankingArrays:
    """Rankings of the kept items of each query, highest grade first."""
    rows = np.flatnonzero(kept)
    rows = rows[np.lexsort((-judgments.grade[rows].astype(np.int64), judgments.query[rows]))]
    if depth is not None:
        query = judgments.query[rows]
        rows = rows[np.arange(len(rows)) - np.searchsorted(query, query) < depth]
    scores = -np.arange(len(rows), dtype=np.float64)
    return RankingArrays(judgments.query[rows], judgments.item[rows], scores)
