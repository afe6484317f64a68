"""Overhead of measuring: the loops on a null store, and exact neighbours against a bare matrix product.

Truth is CPU time, so that other work on the machine enters less; loops are wall time where not said otherwise.
Run with: python benchmarks/load.py

VectorDBBench is measured where it is installed: BAKEOFF_VECTORDBBENCH_PYTHON names a Python that has it. The loop of
ann-benchmarks is no package; its behaviour is written down below.
"""

from __future__ import annotations

import os

os.environ |= {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}  # before numpy: waiting threads burn CPU time

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff import registry
from bakeoff.benchmark.clients.driver import gather_clients
from bakeoff.benchmark.clients.launch import Processes
from bakeoff.benchmark.clients.messages import LoadShare
from bakeoff.benchmark.null_store import NoParams, NullStore, harness_seconds
from bakeoff.benchmark.open_loop import open_loop
from bakeoff.benchmark.targets import VectorRecipe
from bakeoff.benchmark.vectors import neighbours
from bakeoff.benchmark.vectors.datasets import open_dataset
from bakeoff.benchmark.vectors.quality import quality_table
from bakeoff.pipeline.loops.closed_loop import closed_loop
from bakeoff.types import Batch, Hits, Metric
from common import Row, show

HERE = Path(__file__).parent
ASKED, K, SMALL = 20_000, 10, 8
MEMORY_LIMIT = 250.0
QUERIES, ROWS, DIMS, DEPTH = 1000, 200_000, 384, 100
PASSES = 31
RATES = (100_000, 141_000, 200_000, 283_000, 400_000, 566_000, 800_000, 1_131_000, 1_600_000)


def cpu(work: Callable[[], Any]) -> float:
    """CPU seconds of all threads."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def harness() -> list[Row]:
    """The closed loop's own cost, against one microsecond a query."""
    asked = np.zeros((50_000, 8), np.float32)
    null, query = NullStore(NoParams(), Path()), NoParams()
    spent = float(
        np.median([cpu(lambda: closed_loop(null.search, asked, 10, query)) for _ in range(9)])
    ) / len(asked)
    return [
        Row(
            "closed loop, null store, µs per query", harness_seconds(asked, 10, passes=15) * 1e6, 1.0, "<= 1"
        ),
        Row("closed loop, null store, µs of CPU per query, including thread start", spent * 1e6, 1.0),
    ]


def loops() -> list[Row]:
    """A query of our loop against one of other harnesses' loops, on stores that answer with the same ten rows at once.

    The whole loop by wall time, with everything that each does between two queries; passes take turns.
    """
    asked, rows = np.zeros((ASKED, SMALL), np.float32), np.zeros((1000, SMALL), np.float32)
    hits = Hits(np.arange(K), np.zeros(K))
    null, query = Ten(hits), NoParams()
    ours, scored, theirs = [], [], []
    for _ in range(7):
        begin = time.perf_counter()
        found = closed_loop(null.search, asked, K, query)
        ours.append(time.perf_counter() - begin)
        quality_table([answer for answer in found.answers if answer is not None], K, len(rows))
        scored.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        ann_benchmarks_loop(lambda vector, count: hits.ids, asked, rows, K)  # noqa: ARG005 - the shape of a query
        theirs.append(time.perf_counter() - begin)
    mine, whole, other = (float(np.median(side)) / ASKED * 1e6 for side in (ours, scored, theirs))
    vdb = vectordbbench_loop()
    found_rows = [Row("null store of ten rows, µs per query, loop of ann-benchmarks", mine, other, "<= 0.1")]
    if vdb is not None:
        found_rows.append(
            Row("null store of ten rows, µs per query, loop of VectorDBBench", mine, vdb, "<= 0.1")
        )
        found_rows.append(Row("the same, our answers made a table after the loop", whole, vdb))
    return found_rows


class Ten(NullStore):
    """Answers at once with the same rows."""

    def __init__(self, hits: Hits) -> None:
        super().__init__(NoParams(), Path())
        self._answer = hits


def ann_benchmarks_loop(
    query: Callable[[np.ndarray, int], Any], asked: np.ndarray, rows: np.ndarray, count: int
) -> list[tuple[float, list[tuple[int, float]]]]:
    """What ann-benchmarks does for each query: reads the clock twice, takes ids and distances row by row, counts."""
    done = 0

    def one(vector: np.ndarray) -> tuple[float, list[tuple[int, float]]]:
        nonlocal done
        begin = time.time()
        found = query(vector, count)
        took = time.time() - begin
        pairs = [(int(row), float(np.linalg.norm(vector - rows[row]))) for row in found]
        done += 1
        if len(pairs) > count:
            raise ValueError(len(pairs))
        return took, pairs

    return [one(vector) for vector in asked]


def vectordbbench_loop() -> float | None:
    """Microseconds a query of VectorDBBench's serial loop, or None where it is not installed."""
    python = os.environ.get("BAKEOFF_VECTORDBBENCH_PYTHON", sys.executable)
    words = [python, str(HERE / "peers" / "vectordbbench_loop.py"), str(ASKED), str(K), str(SMALL), "7"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"VectorDBBench was not measured: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    return float(done.stdout.split()[-1])


def open_rates() -> list[Row]:
    """What of the intended rate is held on the null store, and how late the 99th of 100 queries is sent."""
    null, asked, rows = NullStore(NoParams(), Path()), np.zeros((1000, 8), np.float32), []
    for rate in (1000, 5000, 20_000):
        loop = open_loop(null.search, asked, 10, NoParams(), rate=rate, seconds=2, arrivals="fixed")
        rows.append(Row(f"open loop, null store, {rate:,}/s", loop.rate_measured or 0.0, rate, ">= 0.95"))
        late = next(row.milliseconds for row in loop.lags() if row.name == "p99_ms")
        rows.append(
            Row(
                f"open loop, {rate:,}/s: sent late, p99 ms; time between two queries", late or 0.0, 1e3 / rate
            )
        )
    return rows


def client_processes() -> list[Row]:
    """The highest of these rates that is held on the null store, by two client processes and by one, taking turns.

    A process is limited by its interpreter, of which one thread runs at a time; two need two idle cores to hold more.
    """
    recipe = VectorRecipe("synthetic:1000x8", "l2", 1000, 7, "exact", None, K, "", server=False)
    held = {1: 0.0, 2: 0.0}
    with (
        gather_clients(Processes(), 1, recipe, 60.0) as one,
        gather_clients(Processes(), 2, recipe, 60.0) as two,
    ):
        for rate in RATES:
            for clients, team in ((1, one), (2, two)):
                loop = team.run(_sent(rate))
                qps = loop.window.qps if loop.window else None
                if loop.report.reached and (qps or 0.0) >= 0.95 * rate:
                    held[clients] = qps or 0.0
    name = f"open loop, null store, highest of {RATES[0]:,}…{RATES[-1]:,}/s held: two client processes; one"
    return [Row(name, held[2], held[1], ">= 1.4")]


def _sent(rate: int) -> LoadShare:
    return LoadShare(
        number=0, clients=0, threads=16, timeout=10.0, deadline=20.0, rate=rate, seconds=1.0, arrivals="fixed",
        null=True,
    )  # fmt: skip


class Highest:
    """The highest anonymous memory of this process while the block runs, in MB above what it was before. Linux only."""

    def __enter__(self) -> Highest:
        self._before = self._peak = self._now()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def megabytes(self) -> float:
        """What was added at the highest."""
        return (self._peak - self._before) / 1e3

    def _look(self) -> None:
        while not self._stop.wait(0.005):
            self._peak = max(self._peak, self._now())

    def _now(self) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("RssAnon")))


def products(base: np.ndarray, queries: np.ndarray) -> None:
    """Every score and nothing else, in blocks that fit the cache."""
    out = np.empty((len(queries), 8192), np.float32)
    for begin in range(0, len(base), 8192):
        rows = base[begin : begin + 8192]
        np.matmul(queries, rows.T, out=out[:, : len(rows)])


def exact_truth() -> list[Row]:
    """Multiplications a second of exact truth, against those of the bare product."""
    generator = np.random.default_rng(1)
    base = generator.standard_normal((ROWS, DIMS), np.float32)
    queries = generator.standard_normal((QUERIES, DIMS), np.float32)
    giga = 2e-9 * QUERIES * ROWS * DIMS
    bare = giga / min(cpu(lambda: products(base, queries)) for _ in range(3))
    rows = []
    with Highest() as memory:
        neighbours.exact_neighbours(base, queries, Metric.COSINE, DEPTH)
    rows.append(
        Row(
            "exact truth by cosine, memory added at its highest, MB; limit",
            memory.megabytes,
            MEMORY_LIMIT,
            "<= 1",
        )
    )
    for metric in (Metric.L2, Metric.DOT, Metric.COSINE):
        seconds = min(
            cpu(lambda: neighbours.exact_neighbours(base, queries, metric, DEPTH))  # noqa: B023 - called at once
            for _ in range(3)
        )
        rows.append(Row(f"exact truth by {metric.value}, Gflop/s of CPU", giga / seconds, bare, ">= 0.55"))
    return rows


def graph() -> list[Row]:
    """FAISS HNSW on one thread: our closed loop against a bare loop that keeps the answers too.

    Twice: the queries a second that we report against those of the bare loop by wall time, and all CPU time spent,
    which holds starting the thread and its memory as well. Passes take turns, and the ratio is the median of the
    ratios of neighbours: what else the machine does hits both.
    """
    dataset = open_dataset("synthetic:20000x64", queries=2000)
    asked = list(dataset.queries)
    plugin = registry.load("stores", "faiss")
    ours, peer = [], []
    with tempfile.TemporaryDirectory() as folder:
        store, query = plugin(plugin.Params(), Path(folder)), plugin.Query()
        store.create("bench", dataset.dims, dataset.metric)
        store.insert(Batch(np.arange(len(dataset.base)), vectors=dataset.base))
        store.ready()
        for _ in range(PASSES):
            begin = time.process_time()
            wall = closed_loop(store.search, dataset.queries, 10, query).seconds
            ours.append((wall, time.process_time() - begin))
            begin, start = time.process_time(), time.perf_counter()
            answers = [store.search(vector, 10, query) for vector in asked]
            peer.append((time.perf_counter() - start, time.process_time() - begin))
            assert len(answers) == len(asked)
        store.close()
    theirs = len(asked) / np.median(np.array(peer), axis=0)
    rates = [theirs * np.median(np.array(peer) / np.array(ours), axis=0), theirs]
    names = (
        "FAISS HNSW, reported queries per second",
        "FAISS HNSW, queries a CPU second, including thread start",
    )
    return [
        Row(name, float(mine), float(theirs), ">= 0.97")
        for name, mine, theirs in zip(names, *rates, strict=True)
    ]


if __name__ == "__main__":
    sys.exit(show([*harness(), *loops(), *open_rates(), *client_processes(), *graph(), *exact_truth()]))
