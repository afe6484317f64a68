"""Checks of sparse and token vectors, and late interaction, shared by stores and rerankers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from bakeoff.errors import StoreError
from bakeoff.types import Batch, SparseRows, SparseVector, TokenRows, VectorKind

SparseT = TypeVar("SparseT")
ONE_THREAD = 1 << 17
"""Multiplications of a matrix product that OpenBLAS computes on one thread."""


class HoldsKind:
    """Mixin for a store that must know the kind of its rows before they arrive."""

    kind: VectorKind = "dense"

    def hold(self, kind: VectorKind) -> None:
        """Declare the kind of the collection's rows, before `create` or `open`."""
        self.kind = kind


def vectors_by_kind(
    engine: str,
    batch: Batch,
    kind: VectorKind,
    name: str,
    sparse: Callable[[list[int], list[float]], SparseT],
) -> Iterator[list[float] | list[list[float]] | dict[str, SparseT]]:
    """Yield a batch's vectors as lists; sparse ones under `name`, converted by `sparse`, and {} for rows
    without weights."""
    if kind == "tokens":
        yield from (matrix.tolist() for matrix in require_tokens(engine, batch))
    elif kind == "sparse":
        for row in require_weights(engine, batch):
            yield {name: sparse(row.terms.tolist(), row.weights.tolist())} if len(row.terms) else {}
    else:
        assert batch.vectors is not None
        yield from batch.vectors.tolist()


def require_weights(engine: str, batch: Batch, most: int | None = None) -> SparseRows:
    """Return a batch's sparse rows; raises for weights that are not finite, or too many per row."""
    rows = batch.sparse
    if rows is None:
        raise StoreError(f"{engine} was made for sparse vectors; the batch has none.")
    if not np.isfinite(rows.weights).all():
        raise StoreError(f"{engine}: a sparse vector has a weight that is not finite.")
    counts = np.diff(rows.starts)
    if most is not None and len(counts) and counts.max() > most:
        row = int(counts.argmax())
        raise StoreError(
            f"{engine} takes at most {most:,} weights in a sparse vector; row {batch.ids[row]} has {counts[row]:,}. "
            "Use smaller chunks, an encoder that keeps fewer terms, or another store."
        )
    return rows


def require_positive_weights(engine: str, batch: Batch) -> Iterator[SparseVector]:
    """Yield a batch's sparse rows for an engine that takes positive weights only."""
    return (positive(engine, row) for row in require_weights(engine, batch))


def positive(engine: str, vector: SparseVector) -> SparseVector:
    """Remove zero weights from a sparse vector; raises for negative ones."""
    if len(vector.weights) and vector.weights.min() < 0:
        raise StoreError(f"{engine} takes positive weights in a sparse vector, not {vector.weights.min():g}.")
    kept = vector.weights > 0
    return SparseVector(vector.terms[kept], vector.weights[kept])


def require_tokens(engine: str, batch: Batch) -> TokenRows:
    """Return a batch's token vectors; raises if one is not finite."""
    if batch.tokens is None:
        raise StoreError(f"{engine} was made for token vectors; the batch has none.")
    if not np.isfinite(batch.tokens.vectors).all():
        raise StoreError(f"{engine}: a token vector is not finite.")
    return batch.tokens


def require_terms(engine: str, dims: int, vector: SparseVector) -> None:
    """Raise if a query has terms outside the collection."""
    if len(vector.terms) and not 0 <= int(vector.terms.min()) <= int(vector.terms.max()) < dims:
        raise StoreError(
            f"{engine} holds sparse vectors of {dims:,} terms, but the query has term "
            f"{int(vector.terms.max()):,}."
        )


def nearest_tokens(tokens: np.ndarray, vectors: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The largest product of each query token with the token vectors of each row: rows × query tokens.

    Row i spans `starts[i]` to the next start and has at least one vector.
    """
    return np.maximum.reduceat(_products(vectors, tokens), starts, axis=0)


def _products(vectors: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """`vectors @ tokens.T` in products too small for threads, which would wait for each other far longer."""
    count, dims = vectors.shape
    size = max(1, ONE_THREAD // max(tokens.size, 1))
    whole = count - count % size
    found = np.empty((count, len(tokens)), np.float32)
    blocks = vectors[:whole].reshape(-1, size, dims)
    np.matmul(blocks, tokens.T, out=found[:whole].reshape(-1, size, len(tokens)))
    np.matmul(vectors[whole:], tokens.T, out=found[whole:])
    return found
