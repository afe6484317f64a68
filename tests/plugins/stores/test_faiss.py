from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from bakeoff import registry
from bakeoff.errors import StoreError
from bakeoff.testing import exact
from bakeoff.types import Batch, Metric

FAISS = registry.load("stores", "faiss")
ROWS = np.random.default_rng(3).normal(size=(1500, 24)).astype(np.float32)


def filled(home: Path, **build: Any) -> Any:
    store = FAISS(FAISS.Params(build=build), home)
    store.create("c", ROWS.shape[1], Metric.COSINE)
    store.insert(Batch(np.arange(len(ROWS)), vectors=ROWS))
    store.ready()
    return store


def recall(store: Any, **query: Any) -> float:
    found = 0
    for vector in ROWS[:40] + np.float32(0.1):
        hits = store.search(vector, 10, FAISS.Query(**query))
        found += len(set(hits.ids.tolist()) & set(exact(ROWS, vector, Metric.COSINE)[:10].tolist()))
    return found / 400


def test_more_candidates_find_more_on_one_index(tmp_path: Path) -> None:
    store = filled(tmp_path, index="hnsw", m=4, ef_construction=20)
    assert recall(store, ef=10) < recall(store, ef=400)


def test_more_cells_find_more_on_one_index(tmp_path: Path) -> None:
    store = filled(tmp_path, index="ivf", lists=30)
    few, all_ = recall(store, probes=1), recall(store, probes=30)
    assert few < all_ == 1.0


def test_flat_finds_everything(tmp_path: Path) -> None:
    assert recall(filled(tmp_path, index="flat")) == 1.0


@pytest.mark.parametrize("index", ["hnsw", "ivf", "flat"])
def test_one_row_is_enough(tmp_path: Path, index: str) -> None:
    store = FAISS(FAISS.Params(build={"index": index}), tmp_path)
    store.create("c", 4, Metric.COSINE)
    store.insert(Batch(np.array([9]), vectors=np.ones((1, 4), np.float32)))
    store.ready()
    assert store.search(np.ones(4, np.float32), 5, FAISS.Query()).ids.tolist() == [9]


def test_opening_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="FAISS"):
        FAISS(FAISS.Params(), tmp_path).open("c", 4, Metric.COSINE)


@pytest.mark.parametrize("wrong", [{"index": "lsh"}, {"m": 1}, {"efconstruction": 3}])
def test_wrong_parameters(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        FAISS.Params(build=wrong)
