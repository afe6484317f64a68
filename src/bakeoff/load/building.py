"""A store filled with the dataset's vectors, freshly, with what that cost."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff.cache import folder_bytes
from bakeoff.load.datasets import VectorSet
from bakeoff.load.resources import Resources, Sampler
from bakeoff.load.settings import Candidate
from bakeoff.protocols import SupportsReopen
from bakeoff.types import Batch

BATCH = 8192
COLLECTION = "ann"


@dataclass(frozen=True, slots=True)
class Built:
    """An open store; `build_seconds` is inserting and indexing together (S1-9, C-14).

    `index_bytes` is None for an engine that keeps its index elsewhere: it can be reopened, and left no file here.
    """

    candidate: Candidate
    store: Any
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


def build(candidate: Candidate, dataset: VectorSet, home: Path, pids: Iterable[int] = ()) -> Built:
    """Insert every base vector and wait for the index; ids are row numbers, `pids` the store's server processes."""
    home.mkdir(parents=True, exist_ok=True)
    store = candidate.plugin(candidate.params, home)
    with Sampler(pids=pids) as sampler:
        begin = time.perf_counter()
        store.create(COLLECTION, dataset.dims, dataset.metric)
        for first in range(0, len(dataset.base), BATCH):
            rows = dataset.base[first : first + BATCH]
            store.insert(Batch(np.arange(first, first + len(rows), dtype=np.int64), vectors=rows))
        inserted = time.perf_counter()
        store.ready()
        ready = time.perf_counter()
    on_disk = folder_bytes(home)
    in_memory = not on_disk and not isinstance(store, SupportsReopen)
    size = int(dataset.base.nbytes) if in_memory else on_disk or None
    return Built(candidate, store, inserted - begin, ready - inserted, size, in_memory, sampler.found)
