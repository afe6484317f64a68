"""rerank: the first passages of a ranking → the same passages in a better order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bakeoff.config.plan import RERANK_DEPTH
from bakeoff.errors import RerankerError
from bakeoff.types import Hits

if TYPE_CHECKING:
    import numpy as np


def rerank_rows(
    reranker: Any, query: str, hits: Hits, passages: Sequence[str], depth: int = RERANK_DEPTH
) -> Hits:
    """The first `depth` rows by the reranker's score, the rest behind them in their old order."""
    import numpy as np

    head = hits.ids[:depth]
    scores = np.asarray(reranker.rerank(query, [passages[i] for i in head.tolist()]), np.float64)
    if scores.shape != head.shape or not np.isfinite(scores).all():
        raise RerankerError(
            f"{len(head)} passages gave scores of shape {scores.shape}, or one that is not finite."
        )
    return _behind(head, scores, hits.ids[depth:])


def _behind(head: np.ndarray, scores: np.ndarray, tail: np.ndarray) -> Hits:
    """The head by score; the tail keeps its order with scores below every one of the head."""
    import numpy as np

    order = np.lexsort((head, -scores))
    floor = float(scores.min()) if len(scores) else 0.0
    below = floor - 1.0 - np.arange(len(tail), dtype=np.float64)
    return Hits(np.concatenate([head[order], tail]), np.concatenate([scores[order], below]))
