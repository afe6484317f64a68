"""Exact search: every vector is compared; the reference the others are measured against."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict

from bakeoff.types import Batch, Hits, Metric

BLOCK = 65_536


class ExactParams(BaseModel):
    """Nothing to choose."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ExactQuery(BaseModel):
    """Nothing to choose."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ExactStore:
    """Keeps the vectors as they are given, memory-mapped ones included."""

    version: ClassVar[str] = "1"
    Params = ExactParams
    Query = ExactQuery

    def __init__(self, params: ExactParams, home: Path) -> None:
        self._blocks: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._metric = Metric.COSINE

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._blocks = []
        self._metric = metric

    def insert(self, batch: Batch) -> None:
        assert batch.vectors is not None
        for begin in range(0, len(batch.ids), BLOCK):
            rows = batch.vectors[begin : begin + BLOCK]
            norms = np.einsum("ij,ij->i", rows, rows)
            self._blocks.append((batch.ids[begin : begin + BLOCK], rows, norms))

    def ready(self) -> None:
        """Searchable as soon as inserted."""

    def search(self, vector: np.ndarray, k: int, query: ExactQuery) -> Hits:
        if not self._blocks:
            return Hits(np.empty(0, np.int64), np.empty(0, np.float64))
        found = [_nearest(ids, self._scores(rows, norms, vector), k) for ids, rows, norms in self._blocks]
        ids = np.concatenate([hits.ids for hits in found])
        return _nearest(ids, np.concatenate([hits.scores for hits in found]), k)

    def close(self) -> None:
        self._blocks = []

    def _scores(self, rows: np.ndarray, norms: np.ndarray, vector: np.ndarray) -> np.ndarray:
        dot = np.einsum("ij,j->i", rows, vector).astype(np.float64)  # one thread, one order of adding
        if self._metric is Metric.DOT:
            return dot
        if self._metric is Metric.L2:
            return -(norms - 2 * dot + float(vector @ vector))
        length = np.sqrt(norms * float(vector @ vector))
        return np.divide(dot, length, out=np.zeros_like(dot), where=length > 0)


def _nearest(ids: np.ndarray, scores: np.ndarray, k: int) -> Hits:
    """The k best, best first; equal scores in the order of their ids."""
    if len(ids) > k:
        edge = np.partition(scores, len(scores) - k)[len(scores) - k]
        keep = np.flatnonzero(scores >= edge)
        ids, scores = ids[keep], scores[keep]
    order = np.lexsort((ids, -scores))[:k]
    return Hits(ids[order], scores[order])
