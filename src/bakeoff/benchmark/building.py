"""A store filled with the dataset's vectors, freshly, with what that cost."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff.benchmark.ann.store_specs import StoreSpec
from bakeoff.benchmark.collection import Collection
from bakeoff.benchmark.resources.usage import Resources, Sampler
from bakeoff.benchmark.vectors.datasets import VectorSet
from bakeoff.errors import StoreError
from bakeoff.protocols import SupportsReopen
from bakeoff.storage.cache import folder_bytes
from bakeoff.types import Batch

BATCH = 8192


@dataclass(frozen=True, slots=True)
class BuiltStore:
    """An open store; `build_seconds` is inserting and indexing together (S1-9, C-14).

    `index_bytes` is None for an engine that keeps its index elsewhere: it can be reopened, and left no file here.
    """

    candidate: StoreSpec
    store: Any
    collection: Collection
    insert_seconds: float
    index_seconds: float
    index_bytes: int | None
    in_memory: bool
    resources: Resources

    @property
    def elsewhere(self) -> bool:
        """Whether the engine is a server that keeps the index."""
        return self.index_bytes is None

    @property
    def build_seconds(self) -> float:
        """Seconds from the empty collection to the last row searchable."""
        return self.insert_seconds + self.index_seconds

    def close(self, *, keep: bool = False, hung: bool = False) -> None:
        """Drop what was built from its server, unless it is to stay, and close the store."""
        in_its_folder = hung and not self.elsewhere  # which is removed with the run
        self.collection.end(self.store, keep=keep or in_its_folder, hung=hung)


def build_store(
    candidate: StoreSpec, dataset: VectorSet, home: Path, pids: Iterable[int] = (), part: str = ""
) -> BuiltStore:
    """Insert every base vector and wait for the index; ids are row numbers, `pids` the store's server processes."""
    with fill_batches(candidate, dataset, home, part) as (store, collection), Sampler(pids=pids) as sampler:
        begin = time.perf_counter()
        store.create(collection.name, dataset.dims, dataset.metric)
        for first in range(0, len(dataset.base), BATCH):
            rows = dataset.base[first : first + BATCH]
            store.insert(Batch(np.arange(first, first + len(rows), dtype=np.int64), vectors=rows))
        inserted = time.perf_counter()
        store.ready()
        ready = time.perf_counter()
    on_disk = folder_bytes(home)
    in_memory = not on_disk and not isinstance(store, SupportsReopen)
    size = int(dataset.base.nbytes) if in_memory else on_disk or None
    return BuiltStore(
        candidate, store, collection, inserted - begin, ready - inserted, size, in_memory, sampler.found
    )


@contextlib.contextmanager
def fill_batches(
    candidate: StoreSpec, dataset: VectorSet, home: Path, part: str = ""
) -> Iterator[tuple[Any, Collection]]:
    """A store and the locked name of the collection to fill; after a failure neither is left behind."""
    home.mkdir(parents=True, exist_ok=True)
    collection = Collection(candidate, dataset, part)
    collection.acquire()
    try:
        store = candidate.plugin(candidate.params, home)
        try:
            yield store, collection
        except BaseException:
            with contextlib.suppress(StoreError):  # the first failure is the one to report
                collection.end(store)
            raise
    except BaseException:
        collection.release()
        raise
