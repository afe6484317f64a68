"""A clock for loops, stores that misbehave on purpose, and a small dataset."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff.benchmark import open_loop as open_loops
from bakeoff.benchmark import stores
from bakeoff.benchmark.null_store import NoParams, NullStore
from bakeoff.errors import StoreError
from bakeoff.pipeline.loops import client_threads, closed_loop
from bakeoff.types import Hits

GUARD_SECONDS = 120


class HangingStore(NullStore):
    """From the eleventh search on never comes back: when all `clients` wait, `then` is called once."""

    def __init__(self, clients: int, then: Callable[[], object]) -> None:
        super().__init__(NoParams(), Path())
        self.released = threading.Event()
        self._numbers = itertools.count(1)
        self._all_wait = threading.Barrier(clients, then)

    def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
        if next(self._numbers) > 10 and not self.released.is_set():
            self._all_wait.wait(GUARD_SECONDS)
            self.released.wait(GUARD_SECONDS)
        return super().search(vector, k, query)


class FailingStore(NullStore):
    """Refuses every third search."""

    def __init__(self, params: Any = None, home: Path | None = None) -> None:
        super().__init__(NoParams(), Path())
        self._count = 0

    def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
        self._count += 1
        if self._count % 3 == 0:
            raise StoreError("the engine is tired.")
        return super().search(vector, k, query)


@pytest.fixture
def null() -> NullStore:
    """The store that answers at once."""
    return NullStore(NoParams(), Path())


@pytest.fixture
def asked() -> np.ndarray:
    """Six hundred queries."""
    return np.random.default_rng(1).normal(size=(600, 8)).astype(np.float32)


@pytest.fixture
def failing() -> FailingStore:
    """A store that refuses every third search."""
    return FailingStore()


@pytest.fixture
def hanging() -> Iterator[Callable[..., HangingStore]]:
    """Makes stores that hang, let go at the end of the test."""
    made: list[HangingStore] = []

    def make(clients: int, then: Callable[[], object]) -> HangingStore:
        made.append(HangingStore(clients, then))
        return made[-1]

    yield make
    for store in made:
        store.released.set()


@pytest.fixture
def clock(made_clock: Callable[..., Any]) -> Any:
    """The clock of building and of every loop: a test says how much time passes."""
    return made_clock(stores, closed_loop, open_loops, client_threads)


@dataclass(frozen=True)
class Watch:
    """Set when a loop is first looked at, and when it is told to stop: by Ctrl-C, a time-out or a deadline."""

    began: threading.Event
    halted: threading.Event


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    """How far whoever watches the loop's threads has come."""
    seen, look, halt = Watch(threading.Event(), threading.Event()), client_threads._look, client_threads._halt

    def looking(*given: Any) -> None:
        look(*given)
        seen.began.set()

    def halting(*given: Any) -> None:
        halt(*given)
        seen.halted.set()

    monkeypatch.setattr(client_threads, "_look", looking)
    monkeypatch.setattr(client_threads, "_halt", halting)
    return seen
