"""Search during inserts: latency without and with a writer at a given rate, and which rows are found."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.benchmark.open_loop import open_loop
from bakeoff.benchmark.session import ENGINE_FAULTS
from bakeoff.benchmark.stores import StoreSpec, build_store
from bakeoff.benchmark.vectors.datasets import VectorSet
from bakeoff.errors import SystemFailure
from bakeoff.pipeline.loops.closed_loop import WARM_UP, closed_loop, warm_up
from bakeoff.pipeline.loops.loop_times import statistics
from bakeoff.protocols import CompleteStore
from bakeoff.types import Batch

if TYPE_CHECKING:
    from pydantic import BaseModel


WRITES_A_SECOND = 10
LOOKED_FOR = 200
Times = tuple[tuple[str, float | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedResult:
    """Milliseconds of searches without and with the writer; rows written, their rate, and how many are found.

    `visible` and `kept` are shares of new rows and of old rows that find themselves; `after_ready` of new rows then.
    """

    alone: Times
    during: Times
    written: int
    rate: float
    rate_reached: float | None
    visible: float | None
    kept: float | None
    after_ready: float | None
    errors: tuple[str, ...]
    ready_error: str = ""


class Writer:
    """Inserts rows at a rate on its own thread, never ahead of schedule, and reports its progress."""

    def __init__(self, store: CompleteStore, first: int, rows: np.ndarray, rate: float) -> None:
        self._store, self._first, self.rows, self.rate = store, first, rows, rate
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.written, self.seconds = 0, 0.0
        self.errors: list[str] = []

    def start(self) -> None:
        """Start writing."""
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether rows are still to be written."""
        return self._thread.is_alive()

    def join(self, seconds: float) -> None:
        """Wait for the last row, up to a time limit."""
        self._thread.join(seconds)

    def _run(self) -> None:
        step = max(1, round(self.rate / WRITES_A_SECOND))
        begin = time.perf_counter()
        for at in range(0, len(self.rows), step):
            wait = begin + at / self.rate - time.perf_counter()
            if wait > 0:
                time.sleep(wait)
            rows = self.rows[at : at + step]
            ids = np.arange(self._first + at, self._first + at + len(rows), dtype=np.int64)
            try:
                self._store.insert(Batch(ids, vectors=rows))
                self.written += len(rows)
            except (SystemFailure, *ENGINE_FAULTS) as exc:
                self.errors.append(f"{type(exc).__name__}: {exc}")
                break
        self.seconds = time.perf_counter() - begin


def insert_while_search(
    candidate: StoreSpec,
    dataset: VectorSet,
    home: Path,
    *,
    k: int,
    rate: float,
    seconds: float,
    timeout: float,
    search_rate: float | None = None,
) -> MixedResult:
    """Build with most rows, search alone, then search while the rest is inserted at `rate` rows per second.

    Searches go in a closed loop, or in an open one where `search_rate` a second is given.
    """
    inserted = max(1, min(len(dataset.base) // 2, round(rate * seconds)))
    first = len(dataset.base) - inserted
    part = replace(dataset, base=dataset.base[:first], neighbours=None, duplicates=0, leaked=0, notes=())
    with contextlib.closing(build_store(candidate, part, home, part="insert while search")) as built:
        store, query = built.store, candidate.query()
        warm_up(store.search, part.base[:WARM_UP], k, query, timeout=timeout)
        load = _Searches(store, part.queries, k, query, timeout, search_rate)
        end = time.perf_counter() + seconds
        alone = load.latencies(seconds, lambda: time.perf_counter() < end)
        writer = Writer(store, first, dataset.base[first:], rate)
        writer.start()
        during = load.latencies(seconds, lambda: writer.busy)
        writer.join(timeout)
        new, old = writer.rows[: writer.written], part.base
        visible, kept = _share_found(store, new, first, query), _share_found(store, old, 0, query)
        ready_error = _finish_index(store)
        return MixedResult(
            alone=alone,
            during=during,
            written=writer.written,
            rate=rate,
            rate_reached=min(rate, writer.written / writer.seconds) if writer.seconds > 0 else None,
            visible=visible,
            kept=kept,
            after_ready=None if ready_error else _share_found(store, new, first, query),
            errors=tuple(writer.errors),
            ready_error=ready_error,
        )


@dataclass(frozen=True, slots=True)
class _Searches:
    """The same searches without and with the writer: a closed loop, or an open one at `rate` per second."""

    store: CompleteStore
    queries: np.ndarray
    k: int
    query: BaseModel
    timeout: float
    rate: float | None

    def latencies(self, seconds: float, unfinished: Callable[[], bool]) -> Times:
        """Milliseconds by statistic; a closed loop lasts while `unfinished`, an open one `seconds`."""
        arguments = (self.store.search, self.queries, self.k, self.query)
        if self.rate is not None:
            loop = open_loop(*arguments, rate=self.rate, seconds=seconds, timeout=self.timeout)
            return tuple((row.name, row.milliseconds) for row in loop.latencies())
        done: list[np.ndarray] = []
        missing = 0
        while not done or unfinished():
            one = closed_loop(*arguments, timeout=self.timeout)
            done.append(one.done)
            missing += len(one.nanoseconds) - len(one.done)
            if one.stopped:
                break
        return tuple((row.name, row.milliseconds) for row in statistics(np.concatenate(done), missing))


def _share_found(store: CompleteStore, rows: np.ndarray, first: int, query: BaseModel) -> float | None:
    """The share of rows that are among their own ten nearest neighbours."""
    if not len(rows):
        return None
    chosen = np.unique(np.linspace(0, len(rows) - 1, min(LOOKED_FOR, len(rows))).astype(int))
    hits = [first + int(row) in store.search(rows[row], 10, query).ids for row in chosen]
    return sum(hits) / len(hits)


def _finish_index(store: CompleteStore) -> str:
    """Finish the index; return why the store could not, or nothing."""
    try:
        store.ready()
    except SystemFailure as exc:
        return str(exc)
    return ""
