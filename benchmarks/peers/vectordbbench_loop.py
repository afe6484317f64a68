"""Microseconds a query of VectorDBBench's serial loop on a client that answers at once.

Run with a Python that has `vectordb-bench`: python benchmarks/peers/vectordbbench_loop.py QUERIES K DIMS PASSES.
Prints one number: the median over the passes of the whole loop's wall time a query.
"""

from __future__ import annotations

import logging
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from vectordb_bench.backend.clients.api import VectorDB
from vectordb_bench.backend.runner.serial_runner import SerialSearchRunner


class Null(VectorDB):
    """Answers every query with the same rows."""

    name = "null"

    def __init__(self, k: int) -> None:
        self._answer = list(range(k))

    @contextmanager
    def init(self) -> Iterator[None]:
        """Nothing to open."""
        yield

    def insert_embeddings(self, *args: Any, **kwargs: Any) -> tuple[int, None]:  # noqa: ARG002
        """Nothing to keep."""
        return 0, None

    def search_embedding(self, query: list[float], k: int = 100, **kwargs: Any) -> list[int]:  # noqa: ARG002
        """The same rows, without work."""
        return self._answer

    def optimize(self, data_size: int | None = None) -> None:
        """Nothing to do."""


def main() -> None:
    """Time the loop."""
    logging.disable(logging.CRITICAL)
    queries, k, dims, passes = (int(word) for word in sys.argv[1:5])
    asked, truth = [[0.0] * dims] * queries, [list(range(k))] * queries
    runner = SerialSearchRunner(Null(k), asked, truth, k=k)
    took = []
    for _ in range(passes):
        begin = time.perf_counter()
        runner.search((asked, truth))
        took.append((time.perf_counter() - begin) / queries * 1e6)
    print(statistics.median(took))


if __name__ == "__main__":
    main()
