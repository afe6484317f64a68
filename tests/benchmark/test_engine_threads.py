"""A client thread is one thread: FAISS does not take the other cores for itself."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.pipeline.loops.closed_loop import closed_loop
from bakeoff.types import Batch, Hits, Metric


def test_every_client_thread_holds_faiss_to_one(tmp_path: Path) -> None:
    faiss = pytest.importorskip("faiss")
    plugin = registry.load("stores", "faiss")
    store, rows = plugin(plugin.Params(), tmp_path), np.eye(8, dtype=np.float32)
    store.create("x", 8, Metric.COSINE)
    store.insert(Batch(np.arange(8, dtype=np.int64), vectors=rows))
    store.ready()
    seen: dict[int, int] = {}

    def search(vector: np.ndarray, k: int, query: Any) -> Hits:
        faiss.omp_set_num_threads(2)
        hits: Hits = store.search(vector, k, query)
        seen[threading.get_ident()] = faiss.omp_get_max_threads()
        return hits

    closed_loop(search, np.tile(rows, (25, 1)), 1, plugin.Query(), threads=3)
    assert set(seen.values()) == {1}
