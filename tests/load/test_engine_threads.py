"""A client thread is one thread: FAISS does not take the other cores for itself."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from bakeoff.stages.client_loop import closed_loop
from bakeoff.types import Hits


def test_every_client_thread_holds_faiss_to_one() -> None:
    faiss = pytest.importorskip("faiss")
    seen: set[tuple[int, int]] = set()

    def search(vector: np.ndarray, k: int, query: Any) -> Hits:
        seen.add((threading.get_ident(), faiss.omp_get_max_threads()))
        return Hits(np.arange(1), np.zeros(1))

    before = faiss.omp_get_max_threads()
    closed_loop(search, np.zeros((200, 2), np.float32), 1, None, threads=3)
    assert {threads for _, threads in seen} == {1}
    assert faiss.omp_get_max_threads() == before
