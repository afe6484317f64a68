"""ties: scores that depend on the order of equally scored results (F17)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import Measure
from bakeoff.pipeline.scoring.inputs import ScoringInputs, UnitJudgments, flatten_rankings
from bakeoff.pipeline.scoring.scorable import needs_whole_corpus
from bakeoff.pipeline.system_tables import TIES
from bakeoff.types import Unit

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


TieRow = tuple[str, str, float, float, float | None]
"""Query, measure, lowest, highest and expected value."""


def tied_rows(scored: ScoringInputs, measures: list[Measure]) -> dict[Unit, list[TieRow]]:
    """Return the rows of each unit, by query."""
    judged = [measure for measure in measures if measure.needs is RequiredInput.JUDGMENTS]
    scorable = [one for one in judged if scored.chunking.whole or not needs_whole_corpus(one)]
    parsed = [
        measure for measure in scorable if measure.budget is None
    ]  # another order cuts at another place
    rows_by_unit: dict[Unit, list[TieRow]] = {}
    groups: dict[tuple[Unit, str], list[Measure]] = {}
    for measure in parsed:
        groups.setdefault((measure.unit or Unit.DOCUMENT, measure.source), []).append(measure)
    for (unit, _), chosen in groups.items():
        rows_by_unit.setdefault(unit, []).extend(_at_unit(scored, unit, chosen))
    return rows_by_unit


def ties_table(run: str, system: str, rows_by_unit: dict[Unit, list[TieRow]]) -> pa.Table:
    """Return the rows as a table, by unit."""
    rows = [(run, system, *row) for unit in rows_by_unit for row in rows_by_unit[unit]]
    return TIES.table_of_rows(rows)


def any_equal(scored: ScoringInputs) -> bool:
    """Whether a system gave any two results of a query the same score."""
    query, _, score = _rows(scored)
    return bool(((query[1:] == query[:-1]) & (score[1:] == score[:-1])).any())


def _rows(scored: ScoringInputs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The served rows, with scores rounded as the conventions say."""
    import numpy as np

    query, chunk, score = flatten_rankings(scored.ranking)
    if scored.conventions.score_precision == "single":
        score = score.astype(np.float32).astype(np.float64)
    return query, chunk, score


def _at_unit(scored: ScoringInputs, unit: Unit, measures: list[Measure]) -> list[TieRow]:
    import numpy as np

    judging = UnitJudgments(scored, unit, measures[0].source)
    by_chunks = [judging.counts_chunks(measure) for measure in measures]
    low, high, mean = _range(scored, judging, measures, by_chunks)
    ids = [query.id for query in scored.queries.queries]
    rows: list[TieRow] = []
    for place, column in zip(*np.nonzero(~np.isnan(low)), strict=True):
        chance = float(mean[place, column])
        rows.append(
            (
                ids[int(place)],
                str(measures[column]),
                float(low[place, column]),
                float(high[place, column]),
                None if np.isnan(chance) else chance,
            )
        )
    return rows


def _range(
    scored: ScoringInputs, judging: UnitJudgments, measures: list[Measure], by_chunks: list[bool]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lowest, highest and expected value per query; NaN if ties do not change the value."""
    import numpy as np

    scores = judging.scores(*flatten_rankings(scored.ranking), measures)
    layers = [scores.tied_low, scores.tied_high, scores.tied_expected]
    low, high, mean = (np.full(scores.values.shape, np.nan) if one is None else one.copy() for one in layers)
    if any(by_chunks):
        # no closed form is known if ranks count chunks: compute the extremes, not the mean
        rows = _by_group(scored)
        worst, best = (judging.scores(*rows, measures, order=order).values for order in ("worst", "best"))
        differ = (best - worst > 1e-12) & np.array(by_chunks)
        low[differ], high[differ] = worst[differ], best[differ]
    return low, high, mean


def _by_group(scored: ScoringInputs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows in scored order; tied rows get a common group number as their score."""
    import numpy as np

    query, chunk, score = _rows(scored)
    if scored.conventions.order == "score_id":
        order = np.lexsort((-score, query))
        query, chunk, score = query[order], chunk[order], score[order]
    fresh = np.ones(len(query), bool)
    fresh[1:] = (query[1:] != query[:-1]) | (score[1:] != score[:-1])
    return query, chunk, -np.cumsum(fresh).astype(np.float64)
