"""rerank: the first passages of a ranking → the same passages in a better order."""

from __future__ import annotations

import time
from typing import Any

from bakeoff.errors import RerankerError
from bakeoff.stages.retrieve import Leg
from bakeoff.types import Hits

DEPTH = 20


def rerank(reranker: Any, leg: Leg, queries: list[str], passages: list[str], depth: int = DEPTH) -> Leg:
    """The first `depth` rows by the reranker's score, the rest behind them in their old order."""
    import numpy as np

    answers, milliseconds = [], []
    for query, hits in zip(queries, leg.hits, strict=True):
        begin = time.perf_counter_ns()
        head = hits.ids[:depth]
        scores = np.asarray(reranker.rerank(query, [passages[i] for i in head.tolist()]), np.float64)
        milliseconds.append((time.perf_counter_ns() - begin) / 1e6)
        if scores.shape != head.shape or not np.isfinite(scores).all():
            raise RerankerError(
                f"{len(head)} passages gave scores of shape {scores.shape}, or one that is not finite."
            )
        answers.append(_behind(head, scores, hits.ids[depth:]))
    return Leg(tuple(answers), np.tile(milliseconds, (len(leg.milliseconds), 1)), leg.steady)


def _behind(head: Any, scores: Any, tail: Any) -> Hits:
    """The head by score; the tail keeps its order with scores below every one of the head."""
    import numpy as np

    order = np.lexsort((head, -scores))
    floor = float(scores.min()) if len(scores) else 0.0
    below = floor - 1.0 - np.arange(len(tail), dtype=np.float64)
    return Hits(np.concatenate([head[order], tail]), np.concatenate([scores[order], below]))
