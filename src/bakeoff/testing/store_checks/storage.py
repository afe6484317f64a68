"""Small vectors: every declared storage finds about what exact search in it finds, takes less space, and can
be rescored."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np

from bakeoff import registry
from bakeoff.errors import StoreError
from bakeoff.pipeline.vector_forms import order_by_full_vectors
from bakeoff.protocols import CompleteStore, SupportsReopen, SupportsRescore, store_storages
from bakeoff.storage.cache import folder_bytes
from bakeoff.testing.reference_search import exact
from bakeoff.testing.store_fixture import ContractViolation, StoreFixture, Suite, expect
from bakeoff.types import STORAGES, Batch, Hits, Metric, Storage

suite = Suite()
K, QUERIES, ROWS, DIMS, RESCORE = 10, 20, 400, 128, 5
LOST = 0.1
"""Tolerated loss of recall against exact search in the same numbers: indexes scale numbers differently."""


def _rows() -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors around some centres, and queries near some of them."""
    generator = np.random.default_rng(11)
    centres = generator.normal(size=(40, DIMS))
    rows = centres[np.arange(ROWS) % 40] + generator.normal(size=(ROWS, DIMS))
    asked = rows[:QUERIES] + 0.4 * generator.normal(size=(QUERIES, DIMS))
    return _unit(rows), _unit(asked)


def _unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def _fill(store: CompleteStore, storage: Storage, rows: np.ndarray) -> CompleteStore:
    if storage != "float32":
        store.set_storage(storage)  # type: ignore[attr-defined] # checked by `needs`
    store.create("contract_small", DIMS, Metric.COSINE)
    store.insert(Batch(np.arange(ROWS, dtype=np.int64), vectors=rows))
    store.ready()
    return store


def _recall(search: Callable[[np.ndarray], Hits], rows: np.ndarray, asked: np.ndarray) -> float:
    """Share of the true neighbours that a search finds."""
    found = 0
    for vector in asked:
        hits = search(vector)
        expect((np.diff(hits.scores) <= 1e-5).all(), f"scores do not fall: {hits.scores.tolist()}.")
        found += len({*exact(rows, vector, Metric.COSINE)[:K].tolist()} & {*hits.ids.tolist()})
    return found / (len(asked) * K)


def _exact_recall(storage: Storage, rows: np.ndarray, asked: np.ndarray) -> float:
    plugin = cast("type[CompleteStore]", registry.load("stores", "exact"))
    store = _fill(plugin(plugin.Params(), Path()), storage, rows)
    return _recall(lambda vector: store.search(vector, K, plugin.Query()), rows, asked)


def _own_storages(bench: StoreFixture) -> tuple[Storage, ...]:
    return tuple(one for one in store_storages(bench.plugin)[1:] if one not in bench.gaps)


@suite.check("vectors", "storage")
def storages_are_known_and_others_are_refused(bench: StoreFixture) -> None:
    own = _own_storages(bench)
    expect(own and set(own) <= set(STORAGES), f"storages are {own}; there are {', '.join(STORAGES)}.")
    for storage in set(STORAGES) - {"float32", *own}:
        try:
            bench.make().set_storage(storage)  # type: ignore[attr-defined]
        except StoreError:
            continue
        raise ContractViolation(f"the storage {storage}, which is not declared, is not refused.")


@suite.check("vectors", "storage")
def each_storage_finds_what_exact_search_in_it_finds(bench: StoreFixture) -> None:
    rows, asked = _rows()
    for storage in _own_storages(bench):
        store = _fill(bench.make(storage), storage, rows)
        if isinstance(store, SupportsReopen):
            store.close()
            store = bench.make(storage)
            store.set_storage(storage)  # type: ignore[attr-defined]
            held = store.open("contract_small", DIMS, Metric.COSINE)
            expect(held == ROWS, f"{storage}: {held} of {ROWS} rows are there when it is opened again.")
        recall = _recall(lambda vector: store.search(vector, K, bench.query()), rows, asked)  # noqa: B023 - called here
        least = _exact_recall(storage, rows, asked) - LOST
        expect(recall >= least, f"{storage}: recall@{K} is {recall:.2f}, under {least:.2f}.")


@suite.check("vectors", "storage")
def rescoring_finds_no_less(bench: StoreFixture) -> None:
    rows, asked = _rows()
    for storage in _own_storages(bench):
        store = _fill(bench.make(storage), storage, rows)
        plain = partial(store.search, k=K, query=bench.query())
        rescored = partial(_search_rescored, store, storage, rows, bench)
        before, after = (_recall(search, rows, asked) for search in (plain, rescored))
        expect(after >= before, f"{storage}: recall@{K} falls from {before:.2f} to {after:.2f} by rescoring.")
        expect(
            after >= 0.8, f"{storage}: recall@{K} is {after:.2f} although {RESCORE * K} rows are rescored."
        )


def _search_rescored(
    store: CompleteStore, storage: Storage, rows: np.ndarray, bench: StoreFixture, vector: np.ndarray
) -> Hits:
    """Rescored by the store if it declares that, else by the rows."""
    if isinstance(store, SupportsRescore) and storage in getattr(store, "rescores", ()):
        hits = store.search_rescored(vector, K, bench.query(), RESCORE * K)
        true = rows[hits.ids] @ vector
        expect(np.allclose(hits.scores, true, atol=1e-3), f"{storage}: scores are not those of full vectors.")
        return hits
    found = store.search(vector, RESCORE * K, bench.query())
    return order_by_full_vectors(found.ids, rows[found.ids], vector, Metric.COSINE, K)


@suite.check("vectors", "storage", "reopen")
def small_vectors_take_less(bench: StoreFixture) -> None:
    """The files of a store that does not also keep the full vectors; a server's are not visible."""
    rows, _ = _rows()
    sizes = {}
    for storage in ("float32", *_own_storages(bench)):
        _fill(bench.make(storage), storage, rows).close()
        sizes[storage] = folder_bytes(bench.folder / storage)
    kept = getattr(bench.plugin, "rescores", ())
    if sizes["float32"] < ROWS * DIMS * 4:
        return  # the vectors are elsewhere
    for storage in _own_storages(bench):
        less = storage in kept or sizes[storage] < 0.8 * sizes["float32"]
        expect(less, f"{storage}: its files take {sizes[storage]:,} bytes, float32 {sizes['float32']:,}.")
