"""Upper bound for a retriever: its rankings as if every result outside the corpus were right."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from bakeoff.measures.conventions import Conventions
from bakeoff.pipeline.query_pipeline import StepResult
from bakeoff.pipeline.retrieved import RetrievedPassages
from bakeoff.truth.overlap import OverlapPairs, overlap_pairs
from bakeoff.types import Hits, Unit

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


def assume_placed(
    ranking: StepResult,
    passages: RetrievedPassages,
    judgments: pa.Table,
    unit: Unit | None,
    conventions: Conventions,
) -> StepResult:
    """Return the best possible rankings: none with the same results inside the corpus scores higher.

    Each result outside may be a relevant unit that no other result holds, or one that is ranked lower. So the
    held relevant units, and as many more as there are results outside, take the ranks of both in order of
    grade. A result that holds several units stays in place.
    """
    by_document = unit is not Unit.ANSWER
    golds, share = (
        _golds(passages, judgments, by_document=by_document),
        None if by_document else conventions.overlap_share,
    )
    hits = (_assume(hits, passages, golds.get(query, []), share) for query, hits in enumerate(ranking.hits))
    return replace(ranking, hits=tuple(hits))


def _golds(passages: RetrievedPassages, judgments: pa.Table, *, by_document: bool) -> dict[int, list[int]]:
    """The relevant places of each query as passages, highest grade first; whole documents, or the judged
    spans."""
    golds: dict[int, dict[int, int]] = {}
    for row in judgments.select(["query", "doc", "start", "end", "grade"]).to_pylist():
        if row["grade"] <= 0 or (not by_document and row["start"] is None):
            continue
        number = passages.add(row["doc"], None if by_document else (row["start"], row["end"]))
        grades = golds.setdefault(row["query"], {})
        grades[number] = max(row["grade"], grades.get(number, 0))
    return {query: sorted(grades, key=lambda one: (-grades[one], one)) for query, grades in golds.items()}


def _assume(hits: Hits, passages: RetrievedPassages, golds: list[int], share: float | None) -> Hits:
    import numpy as np

    outside = passages.outside(hits.ids)
    if not outside.any() or not golds:
        return hits
    first = _first_held(passages, hits.ids, golds, share)
    shared = Counter(rank for rank in first.values() if rank >= 0)
    free = [gold for gold in golds if first[gold] < 0][: int(outside.sum())]
    alone = [gold for gold in golds if shared[first[gold]] == 1]
    ranks = sorted([*np.flatnonzero(outside).tolist(), *(first[gold] for gold in alone)])
    chosen = [gold for gold in golds if gold in {*free, *alone}]
    ids = hits.ids.copy()
    for rank, gold in zip(ranks, chosen, strict=False):
        ids[rank] = gold
    return Hits(ids, hits.scores)


def _first_held(
    passages: RetrievedPassages, served: np.ndarray, golds: list[int], share: float | None
) -> dict[int, int]:
    """The first rank (from 0) that holds each relevant place, −1 if none; compares documents if no share is
    given."""
    import numpy as np

    ranked, gold_ranges = passages.ranges(served), passages.ranges(np.array(golds))
    pairs = (
        overlap_pairs(gold_ranges, ranked, share)
        if share is not None
        else OverlapPairs(*np.nonzero(gold_ranges.doc[:, None] == ranked.doc[None, :]))
    )
    first = dict.fromkeys(golds, -1)
    for at, rank in zip(pairs.left.tolist(), pairs.right.tolist(), strict=True):
        gold = golds[at]
        first[gold] = rank if first[gold] < 0 else min(first[gold], rank)
    return first
