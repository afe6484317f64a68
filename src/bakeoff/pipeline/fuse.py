"""fuse: merges two rankings of a query, by reciprocal rank or by weighted scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bakeoff.config.modes import NORMALISE, Hybrid
from bakeoff.types import Hits

if TYPE_CHECKING:
    import numpy as np


def fuse_rankings(dense: Hits, words: Hits, params: Hybrid, k: int, weight: float | None = None) -> Hits:
    """Return the k best rows of both rankings; `weight` overrides the dense share of a tuned query."""
    if params.fusion == "weighted":
        return weighted_fusion(dense, words, params, k, params.share if weight is None else weight)
    return reciprocal_rank_fusion(dense, words, params, k)


def reciprocal_rank_fusion(dense: Hits, words: Hits, params: Hybrid, k: int) -> Hits:
    """Sum weight / (rrf_k + rank) for each row; ties are broken by id."""
    import numpy as np

    parts = (
        params.dense_weight / (params.rrf_k + np.arange(1, len(dense.ids) + 1)),
        params.keyword_weight / (params.rrf_k + np.arange(1, len(words.ids) + 1)),
    )
    rows, place = np.unique(np.concatenate([dense.ids, words.ids]), return_inverse=True)
    sums = np.bincount(place, weights=np.concatenate(parts), minlength=len(rows))
    return _best(rows, sums, k)


def weighted_fusion(dense: Hits, words: Hits, params: Hybrid, k: int, weight: float) -> Hits:
    """weight · dense + (1 − weight) · words, on scores normalised within the query."""
    import numpy as np

    scale = _SCALES[params.normalise or NORMALISE]
    rows = np.union1d(dense.ids, words.ids)
    sums = np.zeros(len(rows))
    for hits, share in ((dense, weight), (words, 1 - weight)):
        scaled, missing = scale(hits.scores)
        column = np.full(len(rows), missing)
        column[np.searchsorted(rows, hits.ids)] = scaled
        sums += share * column
    return _best(rows, sums, k)


def _minmax(scores: np.ndarray) -> tuple[np.ndarray, float]:
    """Scale scores to 0…1 (all 1 if equal); the second value, 0, is for rows that were not found."""
    import numpy as np

    low, high = (float(scores.min()), float(scores.max())) if len(scores) else (0.0, 0.0)
    return ((scores - low) / (high - low) if high > low else np.ones(len(scores))), 0.0


def _z(scores: np.ndarray) -> tuple[np.ndarray, float]:
    """Scale scores to z-scores; the second value is for rows that were not found: the lowest, or −1 if all
    are equal."""
    import numpy as np

    spread = float(scores.std()) if len(scores) else 0.0
    if spread == 0:
        return np.zeros(len(scores)), -1.0
    z_scores = (scores - scores.mean()) / spread
    return z_scores, float(z_scores.min())


_SCALES: dict[str, Callable[[np.ndarray], tuple[np.ndarray, float]]] = {"minmax": _minmax, "z": _z}


def _best(rows: np.ndarray, sums: np.ndarray, k: int) -> Hits:
    import numpy as np

    order = np.lexsort((rows, -sums))[:k]
    return Hits(rows[order], sums[order])
