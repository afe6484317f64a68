from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.types import Batch, Hits, Metric

EXACT = registry.load("stores", "exact")


def filled(rows: np.ndarray, metric: Metric = Metric.COSINE, ids: list[int] | None = None) -> object:
    store = EXACT(EXACT.Params(), Path())
    store.create("c", rows.shape[1], metric)
    numbers = np.array(ids if ids is not None else range(len(rows)), np.int64)
    store.insert(Batch(numbers, vectors=rows.astype(np.float32)))
    store.ready()
    return store


def search(store: object, vector: list[float], k: int) -> Hits:
    return store.search(np.array(vector, np.float32), k, EXACT.Query())  # type: ignore[attr-defined]


def test_equal_scores_come_in_the_order_of_ids_and_the_cut_keeps_it() -> None:
    rows = np.ones((6, 2))
    assert search(filled(rows, ids=[5, 3, 1, 4, 2, 0]), [1, 1], 4).ids.tolist() == [0, 1, 2, 3]


def test_batches_do_not_change_the_answer() -> None:
    rows = np.random.default_rng(1).normal(size=(50, 8)).astype(np.float32)
    whole, parts = filled(rows), EXACT(EXACT.Params(), Path())
    parts.create("c", 8, Metric.COSINE)
    for begin in range(0, 50, 7):
        ids = np.arange(begin, min(begin + 7, 50))
        parts.insert(Batch(ids, vectors=rows[ids]))
    for vector in rows[:5]:
        one, other = search(whole, vector, 9), search(parts, vector, 9)
        assert one.ids.tolist() == other.ids.tolist()
        assert one.scores.tobytes() == other.scores.tobytes()


def test_a_zero_vector_is_far_from_everything_and_no_division_fails() -> None:
    store = filled(np.array([[0.0, 0.0], [1.0, 0.0]]))
    with np.errstate(all="raise"):
        assert search(store, [1, 0], 2).scores.tolist() == pytest.approx([1.0, 0.0])
        assert search(store, [0, 0], 2).scores.tolist() == [0.0, 0.0]


def test_scores_are_the_similarity_itself() -> None:
    rows = np.array([[3.0, 4.0], [1.0, 0.0]])
    assert search(filled(rows, Metric.DOT), [1, 1], 2).scores.tolist() == pytest.approx([7, 1])
    assert search(filled(rows, Metric.COSINE), [1, 0], 2).scores.tolist() == pytest.approx([1, 0.6])
    assert search(filled(rows, Metric.L2), [1, 0], 2).scores.tolist() == pytest.approx([0, -20])


def test_mapped_vectors_are_not_copied(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.eye(4, dtype=np.float32))
    mapped = np.load(tmp_path / "v.npy", mmap_mode="r")
    store = EXACT(EXACT.Params(), tmp_path)
    store.create("c", 4, Metric.COSINE)
    store.insert(Batch(np.arange(4), vectors=mapped))
    assert any(np.shares_memory(part, mapped) for block in store._blocks for part in block)
    assert search(store, [0, 0, 1, 0], 1).ids.tolist() == [2]
