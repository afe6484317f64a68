"""BM25's two factors, shared by the store that scores by it and the encoder that writes it as vectors."""

from __future__ import annotations

import numpy as np


def rarity(holding: np.ndarray | float, rows: int) -> np.ndarray:
    """ln(1 + (N − n + ½) / (n + ½)) of words that n of N rows hold."""
    return np.asarray(np.log1p((rows - holding + 0.5) / (holding + 0.5)))


def saturation(times: np.ndarray, length: np.ndarray | float, k1: float, b: float) -> np.ndarray:
    """tf (k1 + 1) / (tf + k1 (1 − b + b · length)); `length` is the row's, as a multiple of the mean."""
    return times * (k1 + 1) / (times + k1 * (1 - b + b * length))
