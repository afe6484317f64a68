"""BM25's two factors, shared by the postings store and the sparse encoder."""

from __future__ import annotations

import numpy as np


def rarity(holding: np.ndarray | float, rows: int) -> np.ndarray:
    """Inverse document frequency ln(1 + (N − n + ½) / (n + ½)) of words in n of N rows."""
    return np.asarray(np.log1p((rows - holding + 0.5) / (holding + 0.5)))


def saturation(times: np.ndarray, length: np.ndarray | float, k1: float, b: float) -> np.ndarray:
    """tf (k1 + 1) / (tf + k1 (1 − b + b · length)); `length` is the row's, as a multiple of the mean."""
    return times * (k1 + 1) / (times + k1 * (1 - b + b * length))
