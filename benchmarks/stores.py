"""What an adapter costs: its searches and its bulk insert against the engine's bare client, in turns.

Wall time; with other work on the machine the insert rates swing. A search may cost 5 % or 20 µs more than the bare
client's, whichever is larger; rows must go in at 90 % of the rate of its best documented bulk path, until searchable.
Run with: python benchmarks/stores.py [STORE…]
"""

from __future__ import annotations

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff import registry
from bakeoff.errors import MissingExtraError, StoreError
from bakeoff.types import Batch, Metric
from common import Row, show
from storepeers import PEERS, K, Peer

ROWS, DIMS, BATCH, QUERIES = 10_000, 64, 8192, 2000
SECONDS, ROUNDS = 6.0, 5
SHARE, MICROSECONDS = 0.05, 20.0


def timed(work: Callable[[], Any]) -> float:
    """Seconds of one call."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def filled(plugin: Any, rows: np.ndarray, home: Path) -> Any:
    """A store with the rows, ready."""
    store = plugin(plugin.Params(), home)
    store.create("bench", DIMS, Metric.COSINE)
    for begin in range(0, len(rows), BATCH):
        ids = np.arange(begin, min(begin + BATCH, len(rows)), dtype=np.int64)
        store.insert(Batch(ids, vectors=rows[ids]))
    store.ready()
    return store


def searches(peer: Peer, store: Any, queries: np.ndarray) -> Row:
    """What a search costs more than the bare one of the same query, in turns; by each side's 25th percentile."""
    bare, query = peer.search(store), store.Query()
    ours: Callable[[np.ndarray], Any] = lambda vector: store.search(vector, K, query)  # noqa: E731
    for vector in queries[:50]:
        bare(vector), ours(vector)
    mine, theirs, begin = list[float](), list[float](), time.perf_counter()
    for i, vector in enumerate(queries):
        sides = [(ours, mine), (bare, theirs)]
        for search, seconds in sides if i % 2 else sides[::-1]:
            seconds.append(timed(lambda: search(vector)))  # noqa: B023 - called at once
        if time.perf_counter() - begin > SECONDS:
            break
    our_us, bare_us = (float(np.percentile(seconds, 25)) * 1e6 for seconds in (mine, theirs))
    allowed = max(SHARE * bare_us, MICROSECONDS)
    name = f"{peer.store}: µs a search over the bare {bare_us:.0f}, of those allowed"
    return Row(name, our_us - bare_us, allowed, "<= 1")


def inserts(peer: Peer, plugin: Any, rows: np.ndarray, folder: Path) -> Row:
    """Rows a second until searchable; the best of some rounds in turns."""
    ours, theirs = [], []
    for turn in range(ROUNDS):
        homes = [folder / f"{side}{turn}" for side in ("ours", "bare")]
        for home in homes:
            home.mkdir()
        ours.append(timed(lambda: filled(plugin, rows, homes[0]).close()))  # noqa: B023 - called at once
        theirs.append(timed(lambda: peer.insert(rows, homes[1])))  # noqa: B023 - called at once
    best = (len(rows) / min(ours), len(rows) / min(theirs))
    return Row(f"{peer.store}: rows a second inserted and searchable", *best, ">= 0.9")


def measured(names: list[str]) -> Iterator[Row]:
    """The rows of every store that is installed, or of those named."""
    generator = np.random.default_rng(3)
    rows, queries = (generator.standard_normal((n, DIMS), np.float32) for n in (ROWS, QUERIES))
    for peer in PEERS:
        if names and peer.store not in names:
            continue
        try:
            plugin = registry.load("stores", peer.store)
        except MissingExtraError as exc:
            print(f"not measured: {exc}", file=sys.stderr)
            continue
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder) / "searched"
            home.mkdir()
            try:
                store = filled(plugin, rows, home)
            except StoreError as exc:  # a server that is not there: bakeoff servers up NAME
                print(f"not measured: {exc}", file=sys.stderr)
                continue
            yield searches(peer, store, queries)
            store.close()
            yield inserts(peer, plugin, rows, Path(folder))


if __name__ == "__main__":
    sys.exit(show(measured(sys.argv[1:])))
