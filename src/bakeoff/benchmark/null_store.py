"""A store that answers instantly, to measure the overhead of the harness (F38)."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict

from bakeoff.pipeline.loops.closed_loop import Asked, closed_loop
from bakeoff.pipeline.loops.loop_times import overall_latency
from bakeoff.types import Batch, Hits, Metric


class NoParams(BaseModel):
    """No parameters."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NullStore:
    """Stores nothing and answers every query with the same k rows."""

    version: ClassVar[str] = "1"
    Params = NoParams
    Query = NoParams

    def __init__(self, params: NoParams, home: Path) -> None:  # noqa: ARG002 - the shape of every store
        self._answer = Hits(np.empty(0, np.int64), np.empty(0, np.float64))

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        """Nothing to make."""

    def insert(self, batch: Batch) -> None:
        """Nothing to keep."""

    def ready(self) -> None:
        """Always."""

    def search(self, vector: object, k: int, query: BaseModel) -> Hits:  # noqa: ARG002 - the shape of every store
        """The same empty answer, without work."""
        return self._answer

    def close(self) -> None:
        """Nothing to give back."""


def harness_seconds(vectors: Asked[object], k: int, *, threads: int = 1, passes: int = 5) -> float:
    """The loop's overhead per query: the median pass over the null store."""
    null, query = NullStore(NoParams(), Path()), NoParams()
    loops = [
        overall_latency(closed_loop(null.search, vectors, k, query, threads=threads)) for _ in range(passes)
    ]
    return float(np.median([loop.seconds / len(vectors) for loop in loops]))
