"""Vector search: order, direction, the meaning of a score, short lists, unusual ids, batches."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from bakeoff.errors import StoreError
from bakeoff.testing.reference_search import exact, similarity
from bakeoff.testing.store_fixture import (
    FIRST_ID,
    LIMIT,
    ContractCheck,
    ContractViolation,
    DeclaredGap,
    StoreFixture,
    Suite,
    expect,
)
from bakeoff.types import Batch, Hits, Metric

suite = Suite()
K = 10


def expect_refusal(what: str, *steps: Callable[[], object]) -> None:
    """One of the steps must raise a StoreError."""
    try:
        for step in steps:
            step()
    except StoreError:
        return
    raise ContractViolation(f"{what} is not refused with a StoreError.")


def expect_sound(
    hits: Hits, count: int, vectors: np.ndarray, asked: np.ndarray, metric: Metric, error: float
) -> None:
    """The right number of hits, unique ids, best first, and each score the true similarity within an error."""
    ids = hits.ids.tolist()
    expect(len(ids) == count, f"{len(ids)} hits, expected {count}.")
    expect(len(set(ids)) == len(ids), f"an id came twice: {ids}.")
    expect((np.diff(hits.scores) <= 1e-5).all(), f"scores do not fall: {hits.scores.tolist()}.")
    true = similarity(vectors[hits.ids - FIRST_ID], asked, metric)
    close = np.isclose(hits.scores, true, rtol=error, atol=error)
    expect(close.all(), f"{metric.value} scores {hits.scores[~close]} are truly {true[~close]}.")


def _nearest(bench: StoreFixture, metric: Metric) -> None:
    if metric.value in bench.gaps:
        create = partial(bench.make().create, "contract_rows", bench.dims, metric)
        expect_refusal(f"metric {metric.value}, a declared gap,", create)
        raise DeclaredGap(bench.gaps[metric.value])
    store, rows = bench.make_filled(metric)
    found = 0
    for vector in rows[:20] * np.float32(0.9) + np.float32(0.05):
        hits = store.search(vector, K, bench.query())
        expect_sound(hits, K, rows, vector, metric, bench.score_error)
        found += len({*(exact(rows, vector, metric)[:K] + FIRST_ID).tolist()} & {*hits.ids.tolist()})
    expect(found / (20 * K) >= bench.recall, f"recall@{K} is {found / (20 * K):.2f}, under {bench.recall}.")


for _metric in Metric:
    suite.append(
        ContractCheck(
            f"finds the nearest by {_metric.value}", ("vectors",), partial(_nearest, metric=_metric)
        )
    )


@suite.check("vectors")
def many_threads_get_the_answers_one_gets(bench: StoreFixture) -> None:
    """A store opened in one thread can be searched in others in parallel, and closed in a third."""
    store, rows = bench.make_filled()
    if bench.has("reopen"):
        store.close()
        store = bench.make()
        store.open("contract_rows", bench.dims, Metric.COSINE)

    def ask(row: np.ndarray) -> list[int]:
        return list(store.search(row, K, bench.query()).ids.tolist())

    alone = [ask(row) for row in rows]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(ask, rows))
        threads.submit(store.close).result()
    expect(together == alone, "searches at once are answered otherwise than one after the other.")


@suite.check("vectors")
def k_larger_than_the_collection(bench: StoreFixture) -> None:
    store, rows = bench.make_filled()
    ids = store.search(rows[0], bench.rows * 2, bench.query()).ids.tolist()
    every = {*range(FIRST_ID, FIRST_ID + bench.rows)}
    expect(len(ids) == len(every) and {*ids} == every, f"{len({*ids})} of {bench.rows} rows come.")


@suite.check("vectors")
def empty_collection(bench: StoreFixture) -> None:
    store = bench.make()
    store.create("contract_empty", bench.dims, Metric.COSINE)
    store.ready()
    found = store.search(bench.vectors()[0], 5, bench.query())
    expect(len(found.ids) == 0 and len(found.scores) == 0, f"an empty collection answers {found.ids}.")


@suite.check("vectors")
def large_ids(bench: StoreFixture) -> None:
    store, rows = bench.make(), bench.vectors()[:50]
    store.create("contract_ids", bench.dims, Metric.COSINE)
    store.insert(Batch(np.arange(50, dtype=np.int64) * 3 + 2**40, vectors=rows))
    store.ready()
    found = store.search(rows[7], 1, bench.query()).ids.tolist()
    expect(found == [2**40 + 21], f"the row 2⁴⁰ + 21 is searched, {found} comes.")


@suite.check("vectors", "batch")
def a_batch_of_queries_is_answered_as_each_alone(bench: StoreFixture) -> None:
    store, rows = bench.make_filled()
    together = store.search_many(rows[:30], K, bench.query())
    expect(len(together) == 30, f"{len(together)} answers came to 30 queries.")
    for row, hits in zip(rows[:30], together, strict=True):
        alone = store.search(row, K, bench.query())
        same = alone.ids.tolist() == hits.ids.tolist()
        expect(same, f"alone {alone.ids.tolist()} comes, in a batch {hits.ids.tolist()}.")
        expect(
            np.allclose(alone.scores, hits.scores, atol=1e-5), "scores differ between alone and in a batch."
        )
    expect(store.search_many(rows[:0], K, bench.query()) == [], "no queries get answers.")


@suite.check("vectors", LIMIT)
def a_dimension_over_the_limit_is_refused(bench: StoreFixture) -> None:
    store, dims = bench.make(), bench.plugin.max_dims + 1
    batch = Batch(np.array([1], np.int64), vectors=np.ones((1, dims), np.float32))
    steps = partial(store.create, "contract_wide", dims, Metric.COSINE), partial(store.insert, batch)
    expect_refusal(f"a vector of {dims} numbers", *steps, partial(store.ready))
