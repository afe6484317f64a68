"""Tuning recall on half of the queries: how often the other half reaches the target, with and without a margin.

Run with: python benchmarks/equal_recall.py. Recall of every query at every ef of a FAISS graph is measured once, then
the queries are split 400 times. Ours is the share of splits with the margin, the peer's that of the bare target.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import faiss
import numpy as np

from bakeoff.benchmark.ann.recall_tuning import (
    TuningRecall,
    expected_recall,
    least_effort,
    split_queries,
)
from bakeoff.benchmark.results.speeds import reaches_target
from bakeoff.benchmark.vectors.datasets import open_dataset
from common import Row, show

SPLITS, K, DIMS, ROWS, HIGHEST = 400, 10, 64, 5000, 200
SEEDS = (4, 7)


def main() -> int:
    """Print every row."""
    return show(_rows())


def _rows() -> Iterator[Row]:
    for queries in (100, 500, 1000):
        recalls = [_recalls(seed, queries) for seed in SEEDS]
        for target in (0.9, 0.95):
            ours, bare = (
                float(np.mean([_holds(table, target, margin=margin) for table in recalls]))
                for margin in (True, False)
            )
            yield Row(
                f"tuned to {target:g}, {queries} queries: share of measured halves at the target", ours, bare
            )


def _recalls(seed: int, queries: int) -> np.ndarray:
    """kNN@10 by ef (rows) and query."""
    faiss.omp_set_num_threads(1)
    data = open_dataset(f"synthetic:{ROWS}x{DIMS}", queries=queries, seed=seed)
    flat, graph = faiss.IndexFlatL2(DIMS), faiss.IndexHNSWFlat(DIMS, 8)
    graph.hnsw.efConstruction = 40
    for index in (flat, graph):
        index.add(np.ascontiguousarray(data.base, np.float32))
    asked = np.ascontiguousarray(data.queries, np.float32)
    exact = flat.search(asked, K)[1]
    found = []
    for ef in range(K, HIGHEST):
        graph.hnsw.efSearch = ef
        answers = graph.search(asked, K)[1]
        found.append((answers[:, :, None] == exact[:, None, :]).any(axis=2).mean(axis=1))
    return np.array(found)


def _holds(recalls: np.ndarray, target: float, *, margin: bool) -> float:
    """The share of splits in which the setting tuned on one half reaches the target on the other."""
    good = 0
    for seed in range(SPLITS):
        tuning, measured = split_queries(recalls.shape[1], seed)

        def recall_at(ef: int, rows: np.ndarray = tuning) -> TuningRecall:
            values = recalls[ef - K, rows]
            error = float(values.std(ddof=1) / len(values) ** 0.5) if margin else None
            return expected_recall(float(values.mean()), error, len(values))

        found = least_effort(recall_at, target, K, HIGHEST - 1)
        good += reaches_target(float(recalls[(found.value or K) - K, measured].mean()), target)
    return good / SPLITS


if __name__ == "__main__":
    sys.exit(main())
