"""cutting: batches of documents → their rows, here or, where it pays, in processes side by side.

Cutting is Python, so threads would take turns. A process costs most of a second to start and every document a copy
there and back; so the first batches are cut here, and only a corpus whose rest would take longer gets processes.
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
"""Slices of a batch for each process: the last one to end keeps the others waiting."""


class ParallelChunker:
    """The work of the chunk stage: positions of documents → their rows."""

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
        """The rows of these documents, in order."""
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
        """Whether the rest would take long at the rate seen so far, and another process could cut it."""
        if self._processes < 2 or not self._order or not self._done:
            return False
        return self._left * self._seconds / self._done > WORTH_SECONDS


class _ChunkProcesses:
    """Processes that cut, each with a thread that talks to it."""

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
        """The rows of a batch; its slices side by side, the largest first, so that no process is left with it alone."""
        import pyarrow as pa

        parts = [
            documents.slice(begin, end - begin) for begin, end in _slices(sizes, len(self._all) * SLICES)
        ]
        largest = sorted(range(len(parts)), key=lambda i: -parts[i].nbytes)
        asked = {i: self._threads.submit(self._ask, parts[i]) for i in largest}
        answers = [asked[i].result() for i in range(len(parts))]
        return BatchRows(
            [n for counts, _ in answers for n in counts], pa.concat_tables([t for _, t in answers])
        )

    def close(self) -> None:
        """End the processes: their input ends, so do they."""
        self._threads.shutdown(cancel_futures=True)
        for worker in self._all:
            assert worker.stdin is not None and worker.stdout is not None
            with contextlib.suppress(
                BrokenPipeError
            ):  # it ended before us, and that was said where it was asked
                worker.stdin.close()
            worker.stdout.close()
            worker.wait()

    def _ask(self, documents: pa.Table) -> tuple[list[int], pa.Table]:
        with self._lock:
            worker = self._free.pop()
        try:
            _send(worker, pickle.dumps(to_bytes(documents)))
            assert worker.stdout is not None
            said, counts, rows = pickle.load(worker.stdout)  # noqa: S301 - from a process of ours
        except (OSError, EOFError) as exc:
            raise ChunkerError(_exit_reason(worker, documents)) from exc
        finally:
            with self._lock:
                self._free.append(worker)
        if said:
            raise ChunkerError(said)
        return counts, from_bytes(rows)


def _slices(sizes: np.ndarray, most: int) -> list[tuple[int, int]]:
    """The documents in at most `most` runs of about equal bytes, each as begin and end."""
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
        f"a process that cuts documents ended with {worker.wait()} between {first} and {last}; see its last words "
        "above. Leave the chunker out, or exclude the document."
    )


def _order(chunker: Chunker, params: BaseModel) -> bytes:
    """The chunker for another process; nothing for one that only this process has."""
    plugin = type(chunker)
    if plugin.__module__ == "__main__":
        return b""
    try:
        return pickle.dumps((plugin, params))
    except (pickle.PicklingError, AttributeError, TypeError):
        return b""


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
