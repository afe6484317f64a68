"""Chunks batches of documents, in this process or in parallel ones where that saves time.

Chunkers are pure Python, so threads would not run in parallel. Starting a process takes most of a second and
every document is copied both ways, so the first batches run here and processes start only if the rest would
take longer than that.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Self

from bakeoff.errors import ChunkerError
from bakeoff.pipeline.chunking.worker import READ, chunk_documents
from bakeoff.protocols import Chunker
from bakeoff.storage.arrow_take import ArrowTaker
from bakeoff.storage.row_cache import BatchRows, from_bytes, to_bytes

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from pydantic import BaseModel

WORTH_SECONDS = 5.0
SLICES = 8
"""Slices per process and batch: more slices mean less waiting for the slowest process."""


class ParallelChunker:
    """The work of the chunk stage: document positions → chunk rows."""

    def __init__(
        self, chunker: Chunker, params: BaseModel, documents: pa.Table, processes: int | None = None
    ) -> None:
        import pyarrow.compute as pc

        self._chunker = chunker
        self._documents = ArrowTaker(documents.select(list(READ)))
        self._sizes: np.ndarray = pc.binary_length(documents["text"]).to_numpy()
        self._left = int(self._sizes.sum())
        self._seconds, self._done = 0.0, 0
        self._order = _order(chunker, params)
        self._processes = processes or available_cores()
        self._crew: _ChunkProcesses | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._crew is not None:
            self._crew.close()

    def __call__(self, positions: list[int]) -> BatchRows:
        """Return the rows of these documents, in order."""
        sizes = self._sizes[positions]
        size = int(sizes.sum())
        if self._crew is None and self._pays():
            self._crew = _ChunkProcesses(self._order, self._processes)
        if self._crew is not None:
            return self._crew.chunk_batch(self._documents(positions), sizes)
        begin = time.perf_counter()
        counts, table = chunk_documents(self._chunker, self._documents(positions))
        self._seconds, self._done = self._seconds + time.perf_counter() - begin, self._done + size
        self._left -= size
        return BatchRows(counts, table)

    def _pays(self) -> bool:
        """Whether the remaining work is long enough, at the rate so far, to repay starting processes."""
        if self._processes < 2 or not self._order or not self._done:
            return False
        return self._left * self._seconds / self._done > WORTH_SECONDS


class _ChunkProcesses:
    """Chunking processes, each with one thread that talks to it."""

    def __init__(self, order: bytes, processes: int) -> None:
        command = [sys.executable, "-m", "bakeoff.pipeline.chunking.worker"]
        self._free: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()
        for _ in range(processes):
            worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603
            _send(worker, order)
            self._free.append(worker)
        self._all = tuple(self._free)
        self._threads = ThreadPoolExecutor(processes, thread_name_prefix="cut")

    def chunk_batch(self, documents: pa.Table, sizes: np.ndarray) -> BatchRows:
        """Return the rows of a batch; the largest slices are sent first so that none is left to the end."""
        import pyarrow as pa

        parts = [
            documents.slice(begin, end - begin) for begin, end in _slices(sizes, len(self._all) * SLICES)
        ]
        largest = sorted(range(len(parts)), key=lambda i: -parts[i].nbytes)
        futures = {i: self._threads.submit(self._ask, parts[i]) for i in largest}
        answers = [futures[i].result() for i in range(len(parts))]
        return BatchRows(
            [n for counts, _ in answers for n in counts], pa.concat_tables([t for _, t in answers])
        )

    def close(self) -> None:
        """Close each process's input, which makes it exit."""
        self._threads.shutdown(cancel_futures=True)
        for worker in self._all:
            assert worker.stdin is not None and worker.stdout is not None
            with contextlib.suppress(
                BrokenPipeError
            ):  # it exited before us, and the request that found out reported it
                worker.stdin.close()
            worker.stdout.close()
            worker.wait()

    def _ask(self, documents: pa.Table) -> tuple[list[int], pa.Table]:
        with self._lock:
            worker = self._free.pop()
        try:
            _send(worker, pickle.dumps(to_bytes(documents)))
            assert worker.stdout is not None
            reply, counts, rows = pickle.load(worker.stdout)  # noqa: S301 - from a process of ours
        except (OSError, EOFError) as exc:
            raise ChunkerError(_exit_reason(worker, documents)) from exc
        finally:
            with self._lock:
                self._free.append(worker)
        if reply:
            raise ChunkerError(reply)
        return counts, from_bytes(rows)


def _slices(sizes: np.ndarray, most: int) -> list[tuple[int, int]]:
    """Split the documents into at most `most` runs of about equal bytes, each as (begin, end)."""
    import numpy as np

    ends = np.cumsum(sizes + 1)
    marks = np.searchsorted(ends, np.linspace(0, ends[-1], most + 1)[1:-1]) + 1
    edges = sorted({0, *marks.tolist(), len(sizes)})
    return list(pairwise(edges))


def _send(worker: subprocess.Popen[bytes], data: bytes) -> None:
    assert worker.stdin is not None
    worker.stdin.write(data)
    worker.stdin.flush()


def _exit_reason(worker: subprocess.Popen[bytes], documents: pa.Table) -> str:
    first, last = documents["id"][0].as_py(), documents["id"][-1].as_py()
    return (
        f"a chunking process exited with status {worker.wait()} between {first} and {last}; see its output "
        "above. Leave the chunker out, or exclude the document."
    )


def _order(chunker: Chunker, params: BaseModel) -> bytes:
    """Serialise the chunker for another process; empty if it exists only in this one."""
    plugin = type(chunker)
    if plugin.__module__ == "__main__":
        return b""
    try:
        return pickle.dumps((plugin, params))
    except (pickle.PicklingError, AttributeError, TypeError):
        return b""


def available_cores() -> int:
    """Number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
