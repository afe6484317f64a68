"""Array scores as an Evaluation with string ids."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from bakeoff.measures.arrays import Floats
from bakeoff.measures.conventions import Conventions
from bakeoff.measures.evaluate import ScoreArrays
from bakeoff.measures.result import Evaluation, OmittedQuery, TieRange


def from_scores(scores: ScoreArrays, names: Sequence[str], conventions: Conventions) -> Evaluation:
    """An Evaluation from array scores; row i belongs to the query `names[i]`."""
    ends = cache(lambda: (_columns(scores.lower), _columns(scores.upper)))
    place = {int(query): at for at, query in enumerate(scores.queries)}
    left = tuple(OmittedQuery(names[place[one.query]], one.reason) for one in scores.excluded)
    return Evaluation(
        queries=tuple(names),
        measures=scores.measures,
        columns=_columns(scores.values),
        ends=ends,
        excluded=left,
        conventions=conventions,
        ties=_ties(scores, names),
    )


def _columns(layer: Floats) -> tuple[tuple[float | None, ...], ...]:
    rows = layer.T.tolist()
    gaps = np.atleast_1d(np.isnan(layer).any(axis=0))
    return tuple(
        tuple(None if value != value else value for value in row) if gap else tuple(row)  # noqa: PLR0124
        for row, gap in zip(rows, gaps, strict=True)
    )


def _ties(scores: ScoreArrays, names: Sequence[str]) -> dict[str, dict[str, TieRange]]:
    found: dict[str, dict[str, TieRange]] = {}
    if scores.tied_low is None or scores.tied_high is None or scores.tied_expected is None:
        return found
    for row, column in zip(*np.nonzero(~np.isnan(scores.tied_low)), strict=True):
        mean = float(scores.tied_expected[row, column])
        ends = float(scores.tied_low[row, column]), float(scores.tied_high[row, column])
        measure = str(scores.measures[column])
        found.setdefault(names[row], {})[measure] = TieRange(*ends, None if np.isnan(mean) else mean)
    return found
