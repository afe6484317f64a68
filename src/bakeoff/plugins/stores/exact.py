"""Exact search: every vector is compared; the reference the others are measured against."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np

from bakeoff.plugins.kit.adapter import NoQuery, PackagedEngine, Settings, require_dims, require_open
from bakeoff.plugins.kit.payload import NO_LIMIT, VECTORS_ONLY
from bakeoff.plugins.kit.sidecar import SidecarPayloads, SidecarPayloadsMixin
from bakeoff.types import Batch, Hits, Metric, Where

BLOCK = 65_536
Block = tuple[np.ndarray, np.ndarray, np.ndarray]


class ExactParams(Settings):
    """Nothing to choose."""


class ExactStore(PackagedEngine, SidecarPayloadsMixin):
    """Keeps the vectors as they are given, memory-mapped ones included; payloads are a table beside them."""

    version: ClassVar[str] = "1"
    package = "numpy"
    Params = ExactParams
    Query = NoQuery
    gaps: ClassVar[dict[str, str]] = {
        **VECTORS_ONLY,
        **NO_LIMIT,
        "reopen": "keeps the vectors it is given, in memory",
        "batch": "one query at a time, so that no score depends on its neighbours",
        "clients": "lives in one process's memory",
    }

    def __init__(self, params: ExactParams, home: Path) -> None:
        self._blocks: list[Block] = []
        self._metric = Metric.COSINE
        self._dims: int | None = None
        self._sidecar = SidecarPayloads()

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self.close()
        self._metric, self._dims = metric, dims

    def insert(self, batch: Batch) -> None:
        assert batch.vectors is not None
        for begin in range(0, len(batch.ids), BLOCK):
            rows = batch.vectors[begin : begin + BLOCK]
            norms = np.einsum("ij,ij->i", rows, rows)
            self._blocks.append((batch.ids[begin : begin + BLOCK], rows, norms))
        self._sidecar.add(batch)

    def ready(self) -> None:
        """Searchable as soon as inserted."""

    def search(self, vector: np.ndarray, k: int, query: NoQuery) -> Hits:
        return self._among(self._blocks, vector, k)

    def search_where(self, vector: np.ndarray, k: int, query: NoQuery, where: Where) -> Hits:
        allowed = self._sidecar.allowed(where)
        return self._among(
            [_filter_block(block, np.isin(block[0], allowed)) for block in self._blocks], vector, k
        )

    def delete(self, ids: np.ndarray) -> None:
        self._blocks = [_filter_block(block, ~np.isin(block[0], ids)) for block in self._blocks]
        self._sidecar.remove(ids)

    def replace(self, batch: Batch) -> None:
        self.delete(batch.ids)
        self.insert(batch)

    def close(self) -> None:
        self._blocks, self._dims = [], None
        self._sidecar.clear()

    def _among(self, blocks: list[Block], vector: np.ndarray, k: int) -> Hits:
        require_dims("exact", require_open("exact", self._dims), vector)
        if not blocks:
            return Hits(np.empty(0, np.int64), np.empty(0, np.float64))
        found = [_nearest(ids, self._scores(rows, norms, vector), k) for ids, rows, norms in blocks]
        ids = np.concatenate([hits.ids for hits in found])
        return _nearest(ids, np.concatenate([hits.scores for hits in found]), k)

    def _scores(self, rows: np.ndarray, norms: np.ndarray, vector: np.ndarray) -> np.ndarray:
        dot = np.einsum("ij,j->i", rows, vector).astype(np.float64)  # one thread, one order of adding
        if self._metric is Metric.DOT:
            return dot
        if self._metric is Metric.L2:
            return -(norms - 2 * dot + float(vector @ vector))
        length = np.sqrt(norms * float(vector @ vector))
        return np.divide(dot, length, out=np.zeros_like(dot), where=length > 0)


def _filter_block(block: Block, mask: np.ndarray) -> Block:
    ids, rows, norms = block
    return ids[mask], rows[mask], norms[mask]


def _nearest(ids: np.ndarray, scores: np.ndarray, k: int) -> Hits:
    """The k best, best first; equal scores in the order of their ids."""
    if len(ids) > k:
        edge = np.partition(scores, len(scores) - k)[len(scores) - k]
        keep = np.flatnonzero(scores >= edge)
        ids, scores = ids[keep], scores[keep]
    order = np.lexsort((ids, -scores))[:k]
    return Hits(ids[order], scores[order])
