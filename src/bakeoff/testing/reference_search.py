"""What a store's answer is held against: scores and order by a plain computation in double precision."""

from __future__ import annotations

import numpy as np

from bakeoff.types import Metric


def similarity(rows: np.ndarray, vector: np.ndarray, metric: Metric) -> np.ndarray:
    """What a store's score means: the cosine, the inner product, or minus the squared distance."""
    wide, one = rows.astype(np.float64), vector.astype(np.float64)
    if metric is Metric.L2:
        return -((wide - one) ** 2).sum(axis=1)
    dot = wide @ one
    return dot / (np.linalg.norm(wide, axis=1) * np.linalg.norm(one)) if metric is Metric.COSINE else dot


def exact(rows: np.ndarray, vector: np.ndarray, metric: Metric) -> np.ndarray:
    """Row numbers, nearest first, by a plain computation in double precision."""
    return np.argsort(-similarity(rows, vector, metric), kind="stable")
