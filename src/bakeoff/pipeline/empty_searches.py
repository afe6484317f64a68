"""empty searches: the queries for which a search of a system returned nothing (F56)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bakeoff.config.modes import MODES
from bakeoff.config.plan import System
from bakeoff.pipeline.query_pipeline import SystemAnswers
from bakeoff.pipeline.system_tables import EMPTY_SEARCHES
from bakeoff.truth.queries import QuerySet

if TYPE_CHECKING:
    import pyarrow as pa


def empty_searches_table(run: str, system: System, queries: QuerySet, answers: SystemAnswers) -> pa.Table:
    """One row for each search of a system and each query it found nothing for."""
    ids = [query.id for query in queries.queries]
    rows = [
        (run, system.label, search, name)
        for search, leg in zip(MODES[system.mode.name].legs, answers.legs, strict=True)
        for name, hits in zip(ids, leg.hits, strict=False)
        if not len(hits.ids)
    ]
    columns = list(zip(*rows, strict=True)) or [()] * len(EMPTY_SEARCHES.columns)
    return EMPTY_SEARCHES.table(
        {name: list(column) for (name, _), column in zip(EMPTY_SEARCHES.columns, columns, strict=True)}
    )
