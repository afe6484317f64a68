"""Exact search: compares every vector; the reference for the other stores."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import (
    NoQuery,
    PackagedEngine,
    Settings,
    SmallVectors,
    require_dims,
    require_open,
    score_from_hamming,
    sign_bits,
)
from bakeoff.plugins.kit.encoded import nearest_tokens, require_tokens
from bakeoff.plugins.kit.payload import NO_LIMIT, VECTORS_ONLY
from bakeoff.plugins.kit.sidecar import SidecarPayloads, SidecarPayloadsMixin
from bakeoff.types import Batch, Hits, Metric, TokenRows, VectorKind, Where

BLOCK = 65_536
MATRICES = 256
"""Token-vector rows compared in one product."""
Matrices = tuple[np.ndarray, TokenRows]
Block = tuple[np.ndarray, np.ndarray, np.ndarray]


class ExactParams(Settings):
    """Nothing to choose."""


class ExactStore(PackagedEngine, SmallVectors, SidecarPayloadsMixin):
    """Keeps the vectors as given, memory-mapped ones included; payloads are a separate table.

    Quantised vectors are compared with the query as it is, signs with its signs; int8 has one scale per
    vector.
    """

    version: ClassVar[str] = "1"
    package = "numpy"
    storages = ("float16", "int8", "binary")
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
        self._matrices: list[Matrices] = []
        self._sidecar = SidecarPayloads()

    def hold(self, kind: VectorKind) -> None:
        """Accept any kind: each batch declares its own."""

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self.close()
        self._metric, self._dims = metric, dims

    def insert(self, batch: Batch) -> None:
        if batch.tokens is not None:
            self._matrices.append((batch.ids, require_tokens("exact", batch)))
            self._sidecar.add(batch)
            return
        assert batch.vectors is not None
        for begin in range(0, len(batch.ids), BLOCK):
            rows = batch.vectors[begin : begin + BLOCK]
            self._blocks.append((batch.ids[begin : begin + BLOCK], *self._keep(rows)))
        self._sidecar.add(batch)

    def ready(self) -> None:
        """Searchable as soon as inserted."""

    def search(self, vector: np.ndarray, k: int, query: NoQuery) -> Hits:
        return self._among(self._blocks, vector, k)

    def search_where(self, vector: np.ndarray, k: int, query: NoQuery, where: Where) -> Hits:
        allowed = self._sidecar.matching_ids(where)
        return self._among(
            [_filter_block(block, np.isin(block[0], allowed)) for block in self._blocks], vector, k
        )

    def search_tokens(self, tokens: np.ndarray, k: int, query: NoQuery, where: Where = ()) -> Hits:
        require_dims("exact", require_open("exact", self._dims), tokens)
        allowed = self._sidecar.matching_ids(where) if where else None
        found = [
            Hits(np.empty(0, np.int64), np.empty(0)),
            *(_interact(tokens, one) for one in self._matrices),
        ]
        ids, scores = (np.concatenate([getattr(hits, name) for hits in found]) for name in ("ids", "scores"))
        kept = np.isfinite(scores) if allowed is None else np.isfinite(scores) & np.isin(ids, allowed)
        return _nearest(ids[kept], scores[kept], k)

    def delete(self, ids: np.ndarray) -> None:
        if self._matrices:
            raise StoreError("exact cannot remove rows of token vectors.")
        self._blocks = [_filter_block(block, ~np.isin(block[0], ids)) for block in self._blocks]
        self._sidecar.remove(ids)

    def replace(self, batch: Batch) -> None:
        self.delete(batch.ids)
        self.insert(batch)

    def close(self) -> None:
        self._blocks, self._matrices, self._dims = [], [], None
        self._sidecar.clear()

    def _among(self, blocks: list[Block], vector: np.ndarray, k: int) -> Hits:
        require_dims("exact", require_open("exact", self._dims), vector)
        if not blocks:
            return Hits(np.empty(0, np.int64), np.empty(0, np.float64))
        found = [_nearest(ids, self._scores(rows, norms, vector), k) for ids, rows, norms in blocks]
        ids = np.concatenate([hits.ids for hits in found])
        return _nearest(ids, np.concatenate([hits.scores for hits in found]), k)

    def _keep(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows in their storage, and their squared lengths there; for int8 without cosine, their scales."""
        if self._storage == "binary":
            return sign_bits(rows), np.ones(len(rows))
        kept = rows
        if self._storage == "float16":
            kept = rows.astype(np.float16)
        elif self._storage == "int8":
            scale = np.abs(rows).max(axis=1, initial=0.0, keepdims=True) / 127
            kept = np.rint(rows / np.where(scale > 0, scale, 1)).astype(np.int8)
            if self._metric is not Metric.COSINE:  # the vectors have length 1, the codes don't
                return kept, scale[:, 0].astype(np.float32)
        return kept, np.einsum("ij,ij->i", kept, kept, dtype=np.float32)

    def _scores(self, rows: np.ndarray, norms: np.ndarray, vector: np.ndarray) -> np.ndarray:
        if self._storage == "binary":
            different = np.bitwise_count(rows ^ sign_bits(vector)).sum(axis=1, dtype=np.int64)
            return score_from_hamming(different, len(vector))
        if self._storage != "float32":
            rows = rows.astype(np.float32)
        if self._storage == "int8" and self._metric is not Metric.COSINE:
            rows = rows * norms[:, None]
            norms = np.einsum("ij,ij->i", rows, rows)
        dot = np.einsum("ij,j->i", rows, vector).astype(np.float64)  # one thread, one order of addition
        if self._metric is Metric.DOT:
            return dot
        if self._metric is Metric.L2:
            return -(norms - 2 * dot + float(vector @ vector))
        length = np.sqrt(norms * float(vector @ vector))
        return np.divide(dot, length, out=np.zeros_like(dot), where=length > 0)


def _interact(tokens: np.ndarray, held: Matrices) -> Hits:
    """MaxSim of a query with each row; −∞ for a row without tokens."""
    ids, rows = held
    scores = np.full(len(rows), -np.inf)
    filled = np.flatnonzero(np.diff(rows.starts))
    for begin in range(0, len(filled), MATRICES):
        part = filled[begin : begin + MATRICES]
        first, end = int(rows.starts[part[0]]), int(rows.starts[part[-1] + 1])
        largest = nearest_tokens(tokens, rows.vectors[first:end], rows.starts[part] - first)
        scores[part] = largest.sum(axis=1, dtype=np.float64)
    return Hits(ids, scores)


def _filter_block(block: Block, mask: np.ndarray) -> Block:
    ids, rows, norms = block
    return ids[mask], rows[mask], norms[mask]


def _nearest(ids: np.ndarray, scores: np.ndarray, k: int) -> Hits:
    """The k best, best first; ties are broken by id."""
    if len(ids) > k:
        edge = np.partition(scores, len(scores) - k)[len(scores) - k]
        keep = np.flatnonzero(scores >= edge)
        ids, scores = ids[keep], scores[keep]
    order = np.lexsort((ids, -scores))[:k]
    return Hits(ids[order], scores[order])
