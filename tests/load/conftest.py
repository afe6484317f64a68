"""Stores that misbehave on purpose, and a small dataset."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff.errors import StoreError
from bakeoff.load.null import Nothing, NullStore
from bakeoff.types import Hits


class StallingStore(NullStore):
    """Answers at once but for every `every`-th query, which blocks everything for `stall` seconds."""

    every, stall = 50, 1.0

    def __init__(self, params: Any = None, home: Path | None = None) -> None:
        super().__init__(Nothing(), Path())
        self._count = 0
        self._lock = threading.Lock()

    def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
        with self._lock:
            self._count += 1
            if self._count % self.every == 0:
                time.sleep(self.stall)
            return super().search(vector, k, query)


class HangingStore(NullStore):
    """Never comes back from the eleventh search on, until released."""

    released = threading.Event()

    def __init__(self, params: Any = None, home: Path | None = None) -> None:
        super().__init__(Nothing(), Path())
        self._count = 0

    def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
        self._count += 1
        if self._count > 10:
            self.released.wait(30)
        return super().search(vector, k, query)


class FailingStore(NullStore):
    """Refuses every third search."""

    def __init__(self, params: Any = None, home: Path | None = None) -> None:
        super().__init__(Nothing(), Path())
        self._count = 0

    def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
        self._count += 1
        if self._count % 3 == 0:
            raise StoreError("the engine is tired.")
        return super().search(vector, k, query)


@pytest.fixture
def null() -> NullStore:
    """The store that answers at once."""
    return NullStore(Nothing(), Path())


@pytest.fixture
def asked() -> np.ndarray:
    """Six hundred queries."""
    return np.random.default_rng(1).normal(size=(600, 8)).astype(np.float32)


@pytest.fixture
def stalling() -> Callable[..., StallingStore]:
    """Makes a store that stalls."""

    def make(every: int, stall: float) -> StallingStore:
        store = StallingStore()
        store.every, store.stall = every, stall
        return store

    return make


@pytest.fixture
def failing() -> FailingStore:
    """A store that refuses every third search."""
    return FailingStore()


@pytest.fixture
def hanging() -> Any:
    """A store that hangs, let go at the end of the test."""
    HangingStore.released.clear()
    yield HangingStore()
    HangingStore.released.set()
