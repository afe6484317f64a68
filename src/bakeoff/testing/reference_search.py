"""Reference for a store's answers: scores and order by a plain double-precision computation."""

from __future__ import annotations

import numpy as np

from bakeoff.types import Metric, SparseRows, SparseVector, TokenRows


def similarity(rows: np.ndarray, vector: np.ndarray, metric: Metric) -> np.ndarray:
    """What a store's score means: the cosine, the inner product, or minus the squared distance."""
    wide, one = rows.astype(np.float64), vector.astype(np.float64)
    if metric is Metric.L2:
        return -((wide - one) ** 2).sum(axis=1)
    dot = wide @ one
    return dot / (np.linalg.norm(wide, axis=1) * np.linalg.norm(one)) if metric is Metric.COSINE else dot


def exact(rows: np.ndarray, vector: np.ndarray, metric: Metric) -> np.ndarray:
    """Row numbers, nearest first, by a plain double-precision computation."""
    return np.argsort(-similarity(rows, vector, metric), kind="stable")


def sparse_products(rows: SparseRows | TokenRows, vector: SparseVector | np.ndarray) -> np.ndarray:
    """The inner product of a sparse vector with each row."""
    assert isinstance(rows, SparseRows) and isinstance(vector, SparseVector)
    dense = np.zeros(rows.dims)
    dense[vector.terms] = vector.weights
    return np.array([float(dense[one.terms] @ one.weights.astype(np.float64)) for one in rows])


def maxsim(rows: SparseRows | TokenRows, tokens: SparseVector | np.ndarray) -> np.ndarray:
    """The sum, over a query's tokens, of the largest inner product with a token of each row."""
    assert isinstance(rows, TokenRows) and isinstance(tokens, np.ndarray)
    wide = tokens.astype(np.float64)
    return np.array([float((wide @ one.astype(np.float64).T).max(axis=1).sum()) for one in rows])
