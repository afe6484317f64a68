"""ties: which scores depend on the order of results that a system scored equally (F17)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bakeoff.measures.definitions import Needs
from bakeoff.measures.names import Measure, parse
from bakeoff.results import TIES
from bakeoff.stages.judged import Judging, Scored, flat
from bakeoff.types import Unit

if TYPE_CHECKING:
    import pyarrow as pa


TieRow = tuple[str, str, float, float, float | None]
"""Query, measure, lowest, highest and expected value."""


def ties(run: str, system: str, scored: Scored, measures: tuple[str, ...]) -> pa.Table:
    """The range and the expected value over all orders of equal scores, where they differ from one order's."""
    found = tied(scored, [parse(name) for name in measures]) if any_equal(scored) else {}
    return ties_table(run, system, found)


def tied(scored: Scored, measures: list[Measure]) -> dict[Unit, list[TieRow]]:
    """The rows of each unit, query by query."""
    judged = [measure for measure in measures if measure.definition.needs is Needs.JUDGMENTS]
    parsed = [measure for measure in judged if measure.budget is None]  # another order has another cut
    found: dict[Unit, list[TieRow]] = {}
    for unit in dict.fromkeys(measure.unit or Unit.DOCUMENT for measure in parsed):
        chosen = [measure for measure in parsed if (measure.unit or Unit.DOCUMENT) is unit]
        found[unit] = _at_unit(scored, unit, chosen)
    return found


def ties_table(run: str, system: str, found: dict[Unit, list[TieRow]]) -> pa.Table:
    """The rows as a table, unit by unit."""
    rows = [(run, system, *row) for unit in found for row in found[unit]]
    columns = list(zip(*rows, strict=True)) or [()] * len(TIES.columns)
    return TIES.table({name: list(column) for (name, _), column in zip(TIES.columns, columns, strict=True)})


def any_equal(scored: Scored) -> bool:
    """Whether a system scored any two results of a query equally."""
    query, _, score = flat(scored.ranking)
    return bool(((query[1:] == query[:-1]) & (score[1:] == score[:-1])).any())


def _at_unit(scored: Scored, unit: Unit, measures: list[Measure]) -> list[TieRow]:
    import numpy as np

    found = Judging(scored, unit).scores(*flat(scored.ranking), measures)
    if found.tied_low is None or found.tied_high is None or found.tied_expected is None:
        return []
    ids = [query.id for query in scored.queries.queries]
    rows = []
    for place, column in zip(*np.nonzero(~np.isnan(found.tied_low)), strict=True):
        low, high = float(found.tied_low[place, column]), float(found.tied_high[place, column])
        mean = float(found.tied_expected[place, column])
        rows.append(
            (
                ids[int(found.queries[place])],
                str(measures[column]),
                low,
                high,
                None if np.isnan(mean) else mean,
            )
        )
    return rows
