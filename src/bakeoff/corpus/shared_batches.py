"""Arrow batches in memory that two processes share: one writes, the other maps what was written.

The writer uses a part of the memory again after the reader has released it, so that no page is allocated,
cleared or copied twice. Linux only.
"""

from __future__ import annotations

import mmap
import os
import weakref
from typing import NamedTuple

import pyarrow as pa

SMALLEST_PART = 2**20


class Part(NamedTuple):
    """Where a batch is in the shared memory, in bytes; `size` is what the writer reserved."""

    offset: int
    size: int


class BatchReader:
    """Maps batches that another process wrote; a part is released with the last reference to its batch."""

    def __init__(self) -> None:
        self.file = os.memfd_create("bakeoff")
        self._parts: dict[Part, mmap.mmap] = {}
        self._received: set[int] = set()
        self._used: set[int] = set()
        weakref.finalize(self, os.close, self.file)

    def read(self, part: Part) -> pa.RecordBatch:
        """The batch, without copying it."""
        if part not in self._parts:
            self._parts[part] = mmap.mmap(
                self.file, part.size, mmap.MAP_SHARED | mmap.MAP_POPULATE, mmap.PROT_READ, offset=part.offset
            )
        view = memoryview(self._parts[part])
        self._received.add(part.offset)
        self._used.add(part.offset)
        weakref.finalize(view, self._used.discard, part.offset)
        return pa.ipc.open_stream(pa.py_buffer(view)).read_next_batch()

    def take_released(self) -> list[int]:
        """Offsets of the parts released since the last call."""
        released = self._received - self._used
        self._received -= released
        return sorted(released)


class BatchWriter:
    """Writes batches into a file in memory."""

    def __init__(self, file: int) -> None:
        self._file, self._end = file, 0
        self._parts: dict[int, mmap.mmap] = {}
        self._free: set[int] = set()

    def release(self, offsets: list[int]) -> None:
        """Let parts be written again."""
        self._free.update(offsets)

    def write(self, batch: pa.RecordBatch) -> Part:
        """Copy a batch into a free part that holds it, or into a new one."""
        needed = _stream_bytes(batch)
        offset = min((at for at in self._free if len(self._parts[at]) >= needed), default=self._end)
        if offset == self._end:
            self._add_part(needed)
        self._free.discard(offset)
        memory = self._parts[offset]
        _write_stream(pa.FixedSizeBufferWriter(pa.py_buffer(memory)), batch)
        return Part(offset, len(memory))

    def _add_part(self, needed: int) -> None:
        """Add a part at the end; sizes go in steps, so that batches of similar size fit into each other's parts."""
        step = max(SMALLEST_PART, 1 << max(0, needed.bit_length() - 3))
        size = -(-needed // step) * step
        os.ftruncate(self._file, self._end + size)
        flags = mmap.MAP_SHARED | mmap.MAP_POPULATE  # all pages at once instead of a fault for each
        self._parts[self._end] = mmap.mmap(self._file, size, flags, offset=self._end)
        self._end += size


def _stream_bytes(batch: pa.RecordBatch) -> int:
    counter = pa.MockOutputStream()
    _write_stream(counter, batch)
    return int(counter.size())


def _write_stream(sink: pa.NativeFile, batch: pa.RecordBatch) -> None:
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
