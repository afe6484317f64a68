"""Scores a store's answers against exact neighbours: kNN@k, R100@k, P@k and MRR, under these names (C-2, F12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.benchmark.vectors.datasets import VectorSet, blocks
from bakeoff.benchmark.vectors.neighbours import ExactNeighbours, distances
from bakeoff.errors import StoreError
from bakeoff.measures.neighbours import NO_RESULT, TRUE_NEIGHBOURS, knn_recall, recall_of_100
from bakeoff.types import Hits


@dataclass(frozen=True, slots=True)
class AnswerQuality:
    """Means over the answered queries; `r100`, `precision` and `mrr` are null with fewer than 100 neighbours."""

    knn: float | None = None
    r100: float | None = None
    precision: float | None = None
    mrr: float | None = None
    knn_error: float | None = None
    queries: int = 0
    short: int = 0


def answer_quality(
    answers: Sequence[Hits | None], truth: ExactNeighbours, dataset: VectorSet, k: int
) -> AnswerQuality:
    """The quality of one pass; the loop counts unanswered queries, which are left out here."""
    answered = np.array([i for i, answer in enumerate(answers) if answer is not None], np.int64)
    if not len(answered):
        return AnswerQuality()
    retrieved = quality_table([answer for answer in answers if answer is not None], k, len(dataset.base))
    exact = truth.ids[answered]
    wide = min(k, truth.depth)
    knn = knn_recall(
        retrieved,
        exact,
        wide,
        found_distance=distances(dataset.base, dataset.queries[answered], retrieved, dataset.metric),
        exact_distance=truth.distances[answered],
    )
    r100 = precision = mrr = None
    if truth.depth >= TRUE_NEIGHBOURS:
        among = float(np.rint(recall_of_100(retrieved, exact, k) * TRUE_NEIGHBOURS).mean())
        r100, precision = among / TRUE_NEIGHBOURS, among / k
        mrr = float(_reciprocal_rank(retrieved, exact[:, :TRUE_NEIGHBOURS]).mean())
    return AnswerQuality(
        knn=float(knn.mean()),
        r100=r100,
        precision=precision,
        mrr=mrr,
        knn_error=float(knn.std(ddof=1) / len(knn) ** 0.5) if len(knn) > 1 else None,
        queries=len(answered),
        short=int((retrieved[:, :wide] == NO_RESULT).any(axis=1).sum()),
    )


def quality_table(answers: Sequence[Hits], k: int, rows: int) -> np.ndarray:
    """Ids as one row per query, −1 where an answer is short; an impossible answer is the store's failure."""
    retrieved = np.full((len(answers), k), NO_RESULT, np.int64)
    for i, hits in enumerate(answers):
        if len(hits.ids) > k:
            raise StoreError(f"the store returned {len(hits.ids)} rows instead of {k}.")
        retrieved[i, : len(hits.ids)] = hits.ids
    if retrieved.max(initial=0) >= rows or retrieved.min(initial=0) < NO_RESULT:
        raise StoreError(f"the store returned row {int(retrieved.max())}; {rows} rows were inserted.")
    ordered = np.sort(retrieved, axis=1)
    if ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != NO_RESULT)).any():
        raise StoreError("the store returned a row twice in one answer.")
    return retrieved


def _reciprocal_rank(retrieved: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """1 / rank of the first of the true neighbours, 0 where none was found."""
    reciprocal = np.empty(len(retrieved))
    for part in blocks(len(retrieved), retrieved.shape[1] * exact.shape[1]):
        hit = (retrieved[part, :, None] == exact[part, None, :]).any(axis=2)
        reciprocal[part] = np.where(hit.any(axis=1), 1 / (hit.argmax(axis=1) + 1), 0.0)
    return reciprocal
