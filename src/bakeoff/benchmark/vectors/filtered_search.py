"""Search under filters: a seeded field in every row's payload, and exact neighbours among the rows that satisfy it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.benchmark.stores import Collection, StoreSpec, insert_rows, locked_store
from bakeoff.benchmark.vectors.datasets import VectorSet
from bakeoff.benchmark.vectors.neighbours import ExactNeighbours, exact_neighbours
from bakeoff.benchmark.vectors.quality import answer_quality
from bakeoff.errors import SettingError, StoreError
from bakeoff.pipeline.loops.closed_loop import WARM_UP, closed_loop, warm_up
from bakeoff.pipeline.loops.loop_times import statistics
from bakeoff.protocols import CompleteStore, SupportsPayload
from bakeoff.types import Condition, Hits, PayloadField, Where

if TYPE_CHECKING:
    from pydantic import BaseModel


FIELD = PayloadField("bucket", "integer")
BUCKETS = 10_000


def supports(candidate: StoreSpec) -> bool:
    """Whether the store can filter."""
    return issubclass(candidate.plugin, SupportsPayload)


def check_shares(shares: tuple[float, ...]) -> None:
    """Check that the shares are possible with the buckets."""
    wrong = [share for share in shares if not 1 / BUCKETS <= share <= 1]
    if wrong:
        raise SettingError(f"--filters has {wrong[0]:g}; shares of rows are from {1 / BUCKETS:g} to 1.")


def buckets(rows: int, seed: int) -> np.ndarray:
    """The field of each row: uniform whole numbers from 0."""
    return np.random.default_rng([seed, rows]).integers(0, BUCKETS, rows)


def filter_of(share: float) -> Where:
    """The filter that matches this share of the rows."""
    return (Condition(FIELD.name, least=0, most=round(share * BUCKETS) - 1),)


def fill_store(
    candidate: StoreSpec, dataset: VectorSet, field: np.ndarray, home: Path
) -> tuple[CompleteStore, Collection]:
    """The store with every row and its payload, ready to search, and its collection."""
    with locked_store(candidate, dataset, home, "filtered") as (store, collection):
        store.declare((FIELD,))
        store.create(collection.name, dataset.dims, dataset.metric)
        insert_rows(store, dataset.base, [{FIELD.name: int(bucket)} for bucket in field])
        store.ready()
    return store, collection


def truth_where(dataset: VectorSet, field: np.ndarray, share: float, k: int) -> ExactNeighbours:
    """The exact nearest rows among those that satisfy the filter."""
    rows = np.flatnonzero(field < round(share * BUCKETS))
    if not len(rows):
        raise SettingError(f"no row of {len(field):,} satisfies a filter of {share:g}. Give a larger share.")
    neighbours = exact_neighbours(dataset.base[rows], dataset.queries, dataset.metric, min(k, len(rows)))
    return ExactNeighbours(rows[neighbours.ids], neighbours.distances)


def search_filtered(
    store: CompleteStore,
    query: BaseModel,
    dataset: VectorSet,
    field: np.ndarray,
    share: float,
    k: int,
    timeout: float,
) -> dict[str, float | None]:
    """Every query once under the filter: matching rows, recall among them, times, answers that are too short.

    A result that does not match is the store's failure.
    """
    condition, truth = filter_of(share), truth_where(dataset, field, share, k)

    def search(vector: np.ndarray, count: int, arguments: BaseModel) -> Hits:
        hits: Hits = store.search_where(vector, count, arguments, condition)
        return hits

    warm_up(search, dataset.base[:WARM_UP], k, query, timeout=timeout)
    loop = closed_loop(search, dataset.queries, k, query, timeout=timeout)
    answers = [answer for answer in loop.answers if answer is not None]
    _check(answers, field, share)
    found = answer_quality(loop.answers, truth, dataset, k)
    times = {
        row.name: row.milliseconds for row in statistics(loop.done, len(loop.nanoseconds) - len(loop.done))
    }
    return {
        "matching": int((field < round(share * BUCKETS)).sum()),
        "knn": found.knn,
        "p50_ms": times["p50_ms"],
        "p99_ms": times["p99_ms"],
        "qps": loop.qps_measured,
        "short": found.short,
    }


def _check(answers: list[Hits], field: np.ndarray, share: float) -> None:
    for hits in answers:
        outside = hits.ids[field[hits.ids] >= round(share * BUCKETS)]
        if len(outside):
            raise StoreError(f"the store returned row {int(outside[0])}, which does not satisfy the filter.")
