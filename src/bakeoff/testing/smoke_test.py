"""Tries a store as a user would: which engine answers, the contract's checks, and recall and latency in brief."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel

from bakeoff.protocols import CompleteStore, SupportsDrop, SupportsVersion
from bakeoff.testing.reference_search import exact
from bakeoff.testing.store_checks import CHECKS
from bakeoff.testing.store_fixture import CheckOutcome, StoreFixture, outcome
from bakeoff.types import Batch, Metric

ROWS, DIMS, QUERIES, K = 5000, 64, 200, 10
WARM_UP = 20
PART = 1000
MADE = "contract_"
"""Prefix of the checks' collections."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmokeFigures:
    """Recall against exact search, and milliseconds per search, by cosine on seeded vectors."""

    rows: int
    dims: int
    queries: int
    recall_at_10: float
    p50_ms: float
    p95_ms: float
    insert_s: float
    index_s: float


def engine(trial: StoreFixture) -> str:
    """The engine's own version; connecting to it may raise a StoreError."""
    store = trial.make()
    try:
        reports_version = isinstance(store, SupportsVersion)
        return (
            store.engine_version() if reports_version else "it does not report its version (engine_version)"
        )
    finally:
        trial.close()


def outcomes(trial: StoreFixture) -> Iterator[CheckOutcome]:
    """Every check of the contract, each in its own folder."""
    root = trial.folder
    for number, check in enumerate(CHECKS):
        trial.folder = root / str(number)
        trial.folder.mkdir()
        yield outcome(check, trial)
    trial.folder = root


def figures(trial: StoreFixture) -> SmokeFigures | None:
    """Recall and latency; None for a store without vector search."""
    if not trial.has("vectors"):
        return None
    generator = np.random.default_rng(7)
    rows, queries = (generator.normal(size=(n, DIMS)).astype(np.float32) for n in (ROWS, QUERIES))
    store = trial.make("figures")
    try:
        insert_s, index_s = _built(store, rows)
        for vector in rows[:WARM_UP]:
            store.search(vector, K, trial.query())
        found, seconds = _timed_searches(store, queries, trial.query())
    finally:
        trial.close()
    true = [exact(rows, vector, Metric.COSINE)[:K].tolist() for vector in queries]
    recall = sum(len({*mine} & {*ids}) for mine, ids in zip(true, found, strict=True)) / (QUERIES * K)
    p50, p95 = (float(value) * 1e3 for value in np.percentile(seconds, (50, 95)))
    return SmokeFigures(
        rows=ROWS,
        dims=DIMS,
        queries=QUERIES,
        recall_at_10=recall,
        p50_ms=p50,
        p95_ms=p95,
        insert_s=insert_s,
        index_s=index_s,
    )


def sweep(trial: StoreFixture) -> None:
    """Delete the collections that the checks made on a server."""
    store = trial.make("sweep")
    try:
        if isinstance(store, SupportsDrop):
            for name in store.collections():
                if name.startswith(MADE):
                    store.drop(name)
    finally:
        trial.close()


def _built(store: CompleteStore, rows: np.ndarray) -> tuple[float, float]:
    """Seconds of inserting, and until everything is searchable."""
    store.create(f"{MADE}figures", DIMS, Metric.COSINE)
    begin = time.perf_counter()
    for part in range(0, len(rows), PART):
        ids = np.arange(part, min(part + PART, len(rows)), dtype=np.int64)
        store.insert(Batch(ids, vectors=rows[ids]))
    inserted = time.perf_counter()
    store.ready()
    return inserted - begin, time.perf_counter() - inserted


def _timed_searches(
    store: CompleteStore, queries: np.ndarray, query: BaseModel
) -> tuple[list[list[int]], list[float]]:
    """The ids each query found, and its seconds."""
    answers, seconds = [], []
    for vector in queries:
        begin = time.perf_counter()
        hits = store.search(vector, K, query)
        seconds.append(time.perf_counter() - begin)
        answers.append(hits.ids.tolist())
    return answers, seconds
