"""Exact neighbours against a plain double-precision sort."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bakeoff.benchmark.vectors import neighbours
from bakeoff.benchmark.vectors.datasets import open_dataset
from bakeoff.benchmark.vectors.neighbours import exact_neighbours, truth_of
from bakeoff.errors import DataError
from bakeoff.storage.cache import Cache
from bakeoff.testing import exact
from bakeoff.types import Metric

GENERATOR = np.random.default_rng(5)
BASE = (GENERATOR.normal(size=(3000, 12)) * GENERATOR.uniform(0.5, 2, (3000, 1))).astype(np.float32)
QUERIES = GENERATOR.normal(size=(70, 12)).astype(np.float32)


@pytest.mark.parametrize("metric", list(Metric))
@pytest.mark.parametrize("depth", [1, 100, 3000])
def test_equals_a_plain_sort(metric: Metric, depth: int) -> None:
    found = exact_neighbours(BASE, QUERIES, metric, depth)
    for i in range(0, 70, 9):
        assert found.ids[i].tolist() == exact(BASE, QUERIES[i], metric)[:depth].tolist()
    assert (np.diff(found.distances, axis=1) >= 0).all()


@pytest.mark.parametrize("metric", list(Metric))
def test_in_small_blocks(metric: Metric, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "BASE_BLOCK", 512)
    monkeypatch.setattr(neighbours, "QUERY_BLOCK", 32)
    found = exact_neighbours(BASE, QUERIES, metric, 100)
    for i in range(0, 70, 9):
        assert found.ids[i].tolist() == exact(BASE, QUERIES[i], metric)[:100].tolist()


def test_equal_rows_come_in_the_order_of_their_numbers() -> None:
    base = np.repeat(BASE[:20], 5, axis=0)
    found = exact_neighbours(base, QUERIES[:3], Metric.L2, 10)
    for row in found.ids:
        assert row.reshape(2, 5).tolist() == [sorted(part) for part in row.reshape(2, 5).tolist()]


@pytest.mark.parametrize("metric", list(Metric))
def test_more_equal_rows_than_are_spared(metric: Metric) -> None:
    """Single precision cannot say which of 300 equal rows belong to the first 100: the lowest numbers do."""
    base = BASE[np.random.default_rng(3).permutation(np.repeat(np.arange(10), 300))]
    found = exact_neighbours(base, QUERIES[:9], metric, 100)
    for i in range(9):
        assert found.ids[i].tolist() == exact(base, QUERIES[i], metric)[:100].tolist()


@pytest.mark.parametrize("metric", list(Metric))
def test_rows_that_single_precision_cannot_tell_apart(metric: Metric) -> None:
    far = np.float32(300.0)  # a step of this number is larger than what sets the rows apart
    base = np.concatenate([np.full((3000, 1), far), BASE[:, 1:] * np.float32(0.01)], axis=1)
    queries = np.concatenate([np.full((9, 1), far), QUERIES[:9, 1:] * np.float32(0.01)], axis=1)
    found = exact_neighbours(base, queries, metric, 50)
    for i in range(9):
        assert found.ids[i].tolist() == exact(base, queries[i], metric)[:50].tolist()


def test_is_kept_and_read_again(tmp_path: Path) -> None:
    dataset = open_dataset("synthetic:800x8", queries=20)
    cache = Cache(tmp_path)
    first = truth_of(dataset, 100, cache)
    assert cache.use()[0].stage == "neighbours" and cache.use()[0].artifacts == 1
    np.testing.assert_array_equal(truth_of(dataset, 100, Cache(tmp_path)).ids, first.ids)
    truth_of(replace(dataset, metric=Metric.DOT), 100, cache)
    assert cache.use()[0].artifacts == 2


def test_given_truth_is_believed_only_when_true(tmp_path: Path) -> None:
    dataset = open_dataset("synthetic:800x8", queries=40)
    right = exact_neighbours(dataset.base, dataset.queries, dataset.metric, 100).ids
    found = truth_of(replace(dataset, neighbours=right), 50, Cache(tmp_path))
    np.testing.assert_array_equal(found.ids, right[:, :50])
    assert not Cache(tmp_path).use()
    shifted = np.roll(right, 1, axis=0)
    with pytest.raises(DataError):
        truth_of(replace(dataset, neighbours=shifted), 50, Cache(tmp_path))


def test_depth_beyond_the_base() -> None:
    with pytest.raises(DataError, match="3001 neighbours"):
        exact_neighbours(BASE, QUERIES, Metric.L2, 3001)
    assert exact_neighbours(BASE[:5], QUERIES, Metric.L2, 5).ids.shape == (70, 5)
