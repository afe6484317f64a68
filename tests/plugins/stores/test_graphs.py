"""The index that was asked for is the one that answers: a narrow search loses neighbours, a wide one finds them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.errors import MissingExtraError
from bakeoff.testing import exact
from bakeoff.types import Batch, Metric

ROWS, DIMS, K = 4000, 48, 10
GRAPHS = ("duckdb_vss", "faiss", "hnswlib", "lancedb", "qdrant", "usearch")


def plugin(name: str) -> Any:
    try:
        return registry.load("stores", name)
    except MissingExtraError as exc:
        pytest.skip(str(exc))


def vectors() -> np.ndarray:
    return np.random.default_rng(5).normal(size=(ROWS, DIMS)).astype(np.float32)


def filled(name: str, home: Path, **build: Any) -> Any:
    made = plugin(name)
    store = made(made.Params(build={"m": 8, "ef_construction": 64, **build}), home)
    store.create("rows", DIMS, Metric.COSINE)
    store.insert(Batch(np.arange(ROWS, dtype=np.int64), vectors=vectors()))
    store.ready()
    return store


def recall(store: Any, query: Any) -> float:
    rows = vectors()
    found = 0
    for vector in np.random.default_rng(6).normal(size=(40, DIMS)).astype(np.float32):
        truth = exact(rows, vector, Metric.COSINE)[:K]
        found += len(set(truth.tolist()) & set(store.search(vector, K, query).ids.tolist()))
    return found / (40 * K)


@pytest.mark.parametrize("name", GRAPHS)
def test_ef_shapes_the_search(name: str, tmp_path: Path) -> None:
    store = filled(name, tmp_path)
    narrow, wide = (recall(store, store.Query(ef=ef)) for ef in (K, 600))
    again = recall(store, store.Query(ef=K))
    store.close()
    assert narrow < 0.9 < wide
    assert again < 0.9


def test_chroma_reads_ef_when_the_collection_is_made(tmp_path: Path) -> None:
    found = []
    for ef in (K, 600):
        (tmp_path / str(ef)).mkdir()
        store = filled("chroma", tmp_path / str(ef), ef_search=ef)
        found.append(recall(store, store.Query()))
        store.close()
    assert found[0] < 0.9 < found[1]


def test_lancedb_probes_shape_the_search(tmp_path: Path) -> None:
    store = filled("lancedb", tmp_path, index="ivf_flat", partitions=32)
    assert recall(store, store.Query(probes=1)) < 0.5
    assert recall(store, store.Query(probes=32)) == 1.0


@pytest.mark.parametrize("name", ["exact", "milvus", "sqlite_vec"])
def test_what_compares_every_row_finds_every_neighbour(name: str, tmp_path: Path) -> None:
    made = plugin(name)
    store = made(made.Params(), tmp_path)
    store.create("rows", DIMS, Metric.COSINE)
    store.insert(Batch(np.arange(ROWS, dtype=np.int64), vectors=vectors()))
    store.ready()
    found = recall(store, store.Query())
    store.close()
    assert found == 1.0
