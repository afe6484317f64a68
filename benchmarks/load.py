"""What measuring costs: the loops on a store that answers at once, exact truth against a bare matrix product.

Truth is CPU time, so that other work on the machine enters less; loops are wall time where not said otherwise.
Run with: python benchmarks/load.py
"""

from __future__ import annotations

import os

os.environ |= {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}  # before numpy: waiting threads burn CPU time

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff import registry
from bakeoff.load import truth
from bakeoff.load.closed import closed_loop, harness_seconds
from bakeoff.load.datasets import open_dataset
from bakeoff.load.null import Nothing, NullStore
from bakeoff.load.open import open_loop
from bakeoff.types import Batch, Metric
from common import Row, show

QUERIES, ROWS, DIMS, DEPTH = 1000, 200_000, 384, 100
PASSES = 31


def cpu(work: Callable[[], Any]) -> float:
    """CPU seconds of all threads."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def harness() -> list[Row]:
    """The closed loop's own cost, against one microsecond a query."""
    asked = np.zeros((50_000, 8), np.float32)
    return [Row("closed loop, null store, µs a query", harness_seconds(asked, 10) * 1e6, 1.0, "<= 1")]


def open_rates() -> list[Row]:
    """What of the intended rate is held on the null store."""
    null, asked, rows = NullStore(Nothing(), Path()), np.zeros((1000, 8), np.float32), []
    for rate in (1000, 5000, 20_000):
        loop = open_loop(null.search, asked, 10, Nothing(), rate=rate, seconds=2, arrivals="fixed")
        rows.append(Row(f"open loop, null store, {rate:,}/s", loop.rate_measured or 0.0, rate, ">= 0.95"))
    return rows


def products(base: np.ndarray, queries: np.ndarray) -> None:
    """Every score and nothing else, in blocks that fit the cache."""
    out = np.empty((len(queries), 8192), np.float32)
    for begin in range(0, len(base), 8192):
        rows = base[begin : begin + 8192]
        np.matmul(queries, rows.T, out=out[:, : len(rows)])


def exact_truth() -> list[Row]:
    """Multiplications a second of exact truth, against those of the bare product."""
    generator = np.random.default_rng(1)
    base = generator.standard_normal((ROWS, DIMS), np.float32)
    queries = generator.standard_normal((QUERIES, DIMS), np.float32)
    giga = 2e-9 * QUERIES * ROWS * DIMS
    bare = giga / min(cpu(lambda: products(base, queries)) for _ in range(3))
    rows = []
    for metric in (Metric.L2, Metric.DOT, Metric.COSINE):
        seconds = cpu(lambda: truth.exact_neighbours(base, queries, metric, DEPTH))  # noqa: B023 - called at once
        rows.append(Row(f"exact truth by {metric.value}, Gflop/s of CPU", giga / seconds, bare, ">= 0.55"))
    return rows


def graph() -> list[Row]:
    """FAISS HNSW on one thread: our closed loop against a bare loop that keeps the answers too.

    Twice: the queries a second that we report against those of the bare loop by wall time, and all CPU time spent,
    which holds starting the thread and its memory as well.
    """
    dataset = open_dataset("synthetic:20000x64", queries=2000)
    asked = list(dataset.queries)
    plugin = registry.load("stores", "faiss")
    ours, peer = [], []
    with tempfile.TemporaryDirectory() as folder:
        store, query = plugin(plugin.Params(), Path(folder)), plugin.Query()
        store.create("bench", dataset.dims, dataset.metric)
        store.insert(Batch(np.arange(len(dataset.base)), vectors=dataset.base))
        store.ready()
        for _ in range(PASSES):
            begin = time.process_time()
            wall = closed_loop(store.search, dataset.queries, 10, query).seconds
            ours.append((wall, time.process_time() - begin))
            begin, start = time.process_time(), time.perf_counter()
            answers = [store.search(vector, 10, query) for vector in asked]
            peer.append((time.perf_counter() - start, time.process_time() - begin))
            assert len(answers) == len(asked)
        store.close()
    rates = [len(asked) / np.median(np.array(side), axis=0) for side in (ours, peer)]
    names = (
        "FAISS HNSW, queries a second as reported",
        "FAISS HNSW, queries a CPU second, thread start and all",
    )
    return [
        Row(name, float(mine), float(theirs), ">= 0.97")
        for name, mine, theirs in zip(names, *rates, strict=True)
    ]


if __name__ == "__main__":
    sys.exit(show([*harness(), *open_rates(), *graph(), *exact_truth()]))
