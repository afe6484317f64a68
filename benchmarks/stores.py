"""Adapter overhead: searches and bulk insert against the engine's bare client, in turns.

Wall time, and beside it the client's CPU. A search may cost 5 % or 20 µs more than the bare client's, whichever is
larger; rows must go in at 90 % of the rate of its best documented bulk path, until searchable. A server that is
installed and not running is started for its own turn and stopped after it; one that runs stays. duckdb_vss holds
DuckDB at another release: name a Python that has `bakeoff[duckdb_vss]` in BAKEOFF_BENCH_DUCKDB, and it measures that.
Run with: python benchmarks/stores.py [STORE…]
"""

from __future__ import annotations

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff import registry
from bakeoff.errors import BakeoffError
from bakeoff.protocols import SupportsDrop
from bakeoff.runtime.servers.control import TABLE, down, needing_a_server, status, up
from bakeoff.types import Batch, Metric
from common import Row, show
from peers.server_stores import SERVERS
from storepeers import PEERS, K, Peer

ROWS, DIMS, BATCH, QUERIES = 10_000, 64, 8192, 2000
SEARCH_S, INSERT_S, ROUNDS = 5.0, 15.0, 5
SHARE, MICROSECONDS = 0.05, 20.0
ELSEWHERE = {"duckdb_vss": "BAKEOFF_BENCH_DUCKDB"}
"""Stores that cannot be installed beside the others, and what names a Python that has one."""
WARM = 50  # searches of each side before any counts


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of one call: of the clock, and of this process's CPU."""

    wall: float
    cpu: float


def timed(work: Callable[[], Any]) -> Cost:
    """What one call costs."""
    cpu, begin = time.process_time(), time.perf_counter()
    work()
    wall = time.perf_counter() - begin
    return Cost(wall, time.process_time() - cpu)


def filled(plugin: Any, rows: np.ndarray, home: Path) -> Any:
    """A store with the rows, ready."""
    store = plugin(plugin.Params(), home)
    store.create("bench", DIMS, Metric.COSINE)
    for begin in range(0, len(rows), BATCH):
        ids = np.arange(begin, min(begin + BATCH, len(rows)), dtype=np.int64)
        store.insert(Batch(ids, vectors=rows[ids]))
    store.ready()
    return store


def quarter(costs: list[Cost], of: str) -> float:
    """The 25th percentile in µs: what a call costs when nothing else is in its way."""
    return float(np.percentile([getattr(cost, of) for cost in costs], 25)) * 1e6


def searches(peer: Peer, store: Any, queries: np.ndarray) -> Iterator[Row]:
    """What a search costs more than the bare one of the same query, in turns; by each side's 25th percentile."""
    bare, query = peer.search(store), store.Query()
    ours: Callable[[np.ndarray], Any] = lambda vector: store.search(vector, K, query)  # noqa: E731
    for vector in queries[:WARM]:
        bare(vector), ours(vector)
    mine, theirs, begin = list[Cost](), list[Cost](), time.perf_counter()
    for i, vector in enumerate(queries):
        sides = [(ours, mine), (bare, theirs)]
        for search, costs in sides if i % 2 else sides[::-1]:
            costs.append(timed(lambda: search(vector)))  # noqa: B023 - called at once
        if time.perf_counter() - begin > SEARCH_S:
            break
    bare_us = quarter(theirs, "wall")
    over, allowed = quarter(mine, "wall") - bare_us, max(SHARE * bare_us, MICROSECONDS)
    why = f"; {peer.limits}" if peer.limits and over > allowed else ""
    name = f"{peer.store}: µs a search over the bare {bare_us:.0f} ({peer.client}), of those allowed{why}"
    yield Row(name, over, allowed, "<= 1")
    yield Row(f"{peer.store}: µs of the client's CPU a search", quarter(mine, "cpu"), quarter(theirs, "cpu"))


def inserts(peer: Peer, plugin: Any, rows: np.ndarray, folder: Path) -> Iterator[Row]:
    """Rows a second until searchable; the best of some rounds in turns."""
    ours, theirs, begin = list[Cost](), list[Cost](), time.perf_counter()
    for turn in range(ROUNDS):
        homes = [folder / f"{side}{turn}" for side in ("ours", "bare")]
        for home in homes:
            home.mkdir()
        sides = [
            (ours, lambda: filled(plugin, rows, homes[0]).close()),  # noqa: B023 - called at once
            (theirs, lambda: peer.insert(rows, homes[1])),  # noqa: B023 - called at once
        ]
        for costs, work in sides if turn % 2 else sides[::-1]:
            costs.append(timed(work))
        if turn and time.perf_counter() - begin > INSERT_S:
            break
    best = [len(rows) / min(cost.wall for cost in costs) for costs in (ours, theirs)]
    cpu = [min(cost.cpu for cost in costs) for costs in (ours, theirs)]
    yield Row(f"{peer.store}: rows per second inserted and searchable", best[0], best[1], ">= 0.9")
    yield Row(f"{peer.store}: s of the client's CPU to insert {len(rows):,} rows", cpu[0], cpu[1])


@contextmanager
def running(name: str) -> Iterator[None]:
    """The server of a store, started if it is down and then stopped again."""
    server = TABLE[name] if name in needing_a_server() else None
    here = server is not None and status(server).state != "running"
    if server is not None and here:
        up(server, tell=lambda said: print(said, file=sys.stderr))
    try:
        yield
    finally:
        if server is not None and here:
            down(server)


def compared(peer: Peer, rows: np.ndarray, queries: np.ndarray, folder: Path) -> Iterator[Row]:
    """The rows of one store; on a server nothing is left behind."""
    plugin, home = registry.load("stores", peer.store), folder / "searched"
    home.mkdir()
    store = filled(plugin, rows, home)
    yield from searches(peer, store, queries)
    store.close()
    yield from inserts(peer, plugin, rows, folder)
    again = plugin(plugin.Params(), home)
    if isinstance(again, SupportsDrop) and peer.store in needing_a_server():
        again.drop("bench")
        again.drop("bare")
    again.close()


def by_another(python: str, store: str) -> Iterator[Row]:
    """The rows of a store as this script prints them in another Python."""
    there = {name: value for name, value in os.environ.items() if name != ELSEWHERE[store]}
    command = [python, __file__, store]
    try:
        done = subprocess.run(command, env=there, capture_output=True, text=True, check=False)
    except OSError as exc:
        raise ImportError(f"{ELSEWHERE[store]}: {exc}") from exc
    rows = [line.split("|") for line in done.stdout.splitlines()[1:]]
    if not rows:
        raise ImportError(f"{ELSEWHERE[store]}: {(done.stderr.strip() or 'no message').splitlines()[-1]}")
    for name, ours, theirs, _, target in rows:
        yield Row(name, float(ours), float(theirs), target.removesuffix("MISSED").strip(" -"))


def of_one(peer: Peer, rows: np.ndarray, queries: np.ndarray) -> Iterator[Row]:
    """The rows of one store, measured in this Python or in the one that is named for it."""
    variable = ELSEWHERE.get(peer.store, "")
    python = os.environ.get(variable)
    try:
        if python:
            yield from by_another(python, peer.store)
            return
        with tempfile.TemporaryDirectory() as folder, running(peer.store):
            yield from compared(peer, rows, queries, Path(folder))
    except (BakeoffError, ImportError) as exc:
        why = str(exc).replace("|", "/").splitlines()[0]
        hint = f" (or name a Python that has it in {variable})" if variable and not python else ""
        yield Row(f"{peer.store}: not measured: {why}{hint}", np.nan, np.nan)


def measured(names: list[str]) -> Iterator[Row]:
    """The rows of every store, or of those named; where one cannot be measured here, its row says why."""
    generator = np.random.default_rng(3)
    rows, queries = (generator.standard_normal((n, DIMS), np.float32) for n in (ROWS, QUERIES))
    for peer in (*PEERS, *SERVERS):
        if not names or peer.store in names:
            yield from of_one(peer, rows, queries)


if __name__ == "__main__":
    sys.exit(show(measured(sys.argv[1:])))
