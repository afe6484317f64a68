"""From ranked chunks to ranked units: one rule, the first chunk of a unit stands for it (C-4, F19)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bakeoff.errors import DataError
from bakeoff.measures.arrays import Ints, RankingArrays, positions_in_groups, starts_of_groups
from bakeoff.measures.conventions import DEFAULT, Conventions


def collapse(chunks: RankingArrays, unit_of: Ints, conventions: Conventions = DEFAULT) -> RankingArrays:
    """Rankings of units, `unit_of[chunk]` being the unit; k then counts what the conventions say."""
    if len(chunks) and int(chunks.item.max()) >= len(unit_of):
        raise DataError(
            f"chunk {int(chunks.item.max())} is ranked, but only {len(unit_of)} chunks have a unit."
        )
    return collapse_units(replace(chunks, item=unit_of[chunks.item]), conventions)


def collapse_units(rankings: RankingArrays, conventions: Conventions = DEFAULT) -> RankingArrays:
    """Rankings whose items are units already, one row a chunk, with only the first row of each unit kept."""
    order = np.lexsort((rankings.item, rankings.query))
    same = (rankings.query[order][1:] == rankings.query[order][:-1]) & (
        rankings.item[order][1:] == rankings.item[order][:-1]
    )
    # The sort is stable, so the first row of a run of equal units is the best-ranked one.
    first = np.ones(len(order), dtype=bool)
    first[1:] = ~same
    keep = np.sort(order[first])
    rank = positions_in_groups(starts_of_groups(rankings.query), len(rankings)) + 1
    return RankingArrays(
        rankings.query[keep],
        rankings.item[keep],
        rankings.score[keep],
        rank[keep] if conventions.k_counts == "chunks" else None,
        None if rankings.id_order is None else rankings.id_order[keep],
    )
