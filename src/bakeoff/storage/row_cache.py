"""Rows by key: what a stage made from each input, so that a changed corpus costs only what changed.

A row cache is a set of segments in the cache. A segment is one batch of work, durable when finished, so a
kill costs one batch at most. The plan of batches is stored too: a killed run continues with its batches, and
so makes the same bytes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bakeoff.errors import CacheError
from bakeoff.fingerprint import bytes_fingerprint, fingerprint
from bakeoff.storage.arrow_take import ArrowTaker
from bakeoff.storage.cache import Cache
from bakeoff.storage.row_keys import InputKeys, KeyIndex
from bakeoff.storage.shared_cache import FetchCondition, fetch_artifacts, shared_location
from bakeoff.storage.shared_location import ArtifactWriter, SharedLocation

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

PREFIX = 16
INDEX = "index.arrow"
PLAN = "keys.npy"
GATHER_ROWS = 65_536


Keys = InputKeys | Iterable[str]
"""Keys of inputs, as strings where they are few."""


@dataclass(frozen=True, slots=True)
class BatchRows:
    """Result of a batch: `counts[i]` rows of `table` belong to the i-th input."""

    counts: Sequence[int]
    table: pa.Table


@dataclass(frozen=True, slots=True)
class SegmentLocation:
    """Location of segments in a cache: a stage, and the prefix of their keys."""

    stage: str
    prefix: str

    def key(self, names: Sequence[str]) -> str:
        """Key of the segment with the rows of these inputs."""
        return self.prefix + fingerprint(list(names))[:PREFIX]

    def keep(self, writer: ArtifactWriter, names: Sequence[str], rows: Callable[[], BatchRows]) -> None:
        """Write the segment of these inputs, unless it exists."""

        def write(folder: Path) -> None:
            _write_segment(folder, self.stage, names, rows())

        writer.keep(self.stage, self.key(names), write)


@dataclass(frozen=True, slots=True)
class WorkBatch:
    """Inputs whose rows make one segment: their keys, and their positions among all."""

    names: tuple[str, ...]
    positions: tuple[int, ...]


class RemoteRunner(Protocol):
    """Runs batches elsewhere: when it returns, each segment is in the shared location.

    Returns the seconds of the work itself, summed over all workers, without starting their plug-ins.
    """

    def __call__(
        self,
        shared: SharedLocation,
        place: SegmentLocation,
        batches: Iterator[WorkBatch],
        progress: Callable[[int], None],
    ) -> float: ...


class RowCache:
    """The rows one stage made under one key, by input key.

    `work_seconds` is the time of its fills, without planning, reading and writing.
    """

    def __init__(self, cache: Cache, stage: str, key: str) -> None:
        self._cache, self._stage, self._key = cache, stage, key
        self._loaded: _Segments | None = None
        self.work_seconds = 0.0

    def fill(
        self,
        keys: Keys,
        work: Callable[[list[int]], BatchRows],
        *,
        batch: int,
        order: Callable[[list[int]], list[int]] | None = None,
        progress: Callable[[int], None] = lambda _done: None,
        spread: RemoteRunner | None = None,
    ) -> int:
        """Process every input without rows and return their number.

        `work` takes positions in `keys`; `order` sorts the positions before they are split into batches.
        Batches, and so rows, are the same wherever they are processed.
        """
        keys = InputKeys.collect(keys)
        missing = self._missing(keys)
        progress(len(keys) - len(missing))
        if not len(missing):
            return 0
        self._loaded = None  # what is read next has the new rows, also after an interruption
        place = SegmentLocation(self._stage, self.prefix)
        batches = self._plan(keys, missing, batch, order)
        if spread is None:
            for positions in batches:
                place.keep(self._cache, keys.names(positions), partial(self._time_work, work, positions))
                progress(len(positions))
        else:
            named = (WorkBatch(tuple(keys.names(one)), tuple(one)) for one in batches)
            self.work_seconds += spread(shared_location(self._cache), place, named, progress)
            self._check(keys)
        return len(missing)

    def _time_work(self, work: Callable[[list[int]], BatchRows], positions: list[int]) -> BatchRows:
        begin = time.perf_counter()
        rows = work(positions)
        self.work_seconds += time.perf_counter() - begin
        return rows

    def gather(self, keys: Keys) -> Iterator[pa.Table]:
        """Yield the rows of all keys in order, in blocks of bounded size."""
        import numpy as np

        keys = InputKeys.collect(keys)
        segments = self._segments(keys)
        first, count = segments.find(keys)
        ends = np.cumsum(count)
        begin = 0
        while begin < len(keys):
            base = ends[begin - 1] if begin else 0
            end = max(begin + 1, int(np.searchsorted(ends, base + GATHER_ROWS, side="right")))
            yield segments.rows(first[begin:end], count[begin:end])
            begin = end

    def counts(self, keys: Keys) -> np.ndarray:
        """Number of rows per key."""
        keys = InputKeys.collect(keys)
        return self._segments(keys).find(keys)[1]

    @property
    def prefix(self) -> str:
        """Prefix of its segments' keys."""
        return self._key[:PREFIX]

    def inputs_by_segment(self, keys: Keys) -> dict[str, int]:
        """Number of these inputs in each segment; inputs without rows are left out."""
        keys = InputKeys.collect(keys)
        return self._segments(keys).inputs(keys)

    def _check(self, keys: InputKeys) -> None:
        """Raise unless everything that workers report as written is here."""
        left = self._missing(keys)
        if len(left):
            raise CacheError(
                f"{self._stage}: {len(left):,} of {len(keys):,} inputs were done elsewhere, but are not in "
                f"{self._cache}. Every node must see this very place; the same command does them again."
            )

    def _missing(self, keys: InputKeys) -> np.ndarray:
        """The first position of each key that has no rows, ascending."""
        return self._segments(keys).missing(keys)

    def _plan(
        self,
        keys: InputKeys,
        missing: np.ndarray,
        batch: int,
        order: Callable[[list[int]], list[int]] | None,
    ) -> Iterator[list[int]]:
        """The remaining batches: those of a killed run's plan, else new ones."""
        import numpy as np

        plan_key = fingerprint("plan", self._key, bytes_fingerprint(keys.array.data), batch)
        ordered = np.asarray(order(missing.tolist()), np.int64) if order else missing

        def write(folder: Path) -> None:
            np.save(folder / PLAN, keys.array[ordered])

        folder = self._cache.keep(f"{self._stage}-plan", plan_key, write)
        planned = np.load(folder / PLAN, mmap_mode="r")
        places = KeyIndex(keys.array[missing]).find(planned)
        for begin in range(0, len(planned), batch):
            part = places[begin : begin + batch]
            if len(positions := missing[part[part >= 0]]):
                yield positions.tolist()
        rest = np.delete(missing, places[places >= 0])
        for begin in range(0, len(rest), batch):
            yield rest[begin : begin + batch].tolist()

    def _segments(self, keys: InputKeys) -> _Segments:
        """The segments that are here, and remote ones with rows of these keys."""
        if self._loaded is None:
            self._loaded = _Segments(self._cache, self._stage, self.prefix)
            unknown = self._loaded.missing(keys)
            if len(unknown) and self._bring(keys, unknown):
                self._loaded = _Segments(self._cache, self._stage, self.prefix)
        return self._loaded

    def _bring(self, keys: InputKeys, unknown: np.ndarray) -> int:
        """Fetch the segments of others that have rows of unknown keys."""
        index: list[KeyIndex] = []

        def has_wanted_rows(data: bytes) -> bool:
            if not index:
                index.append(KeyIndex(keys.array[unknown]))
            return bool((index[0].find(InputKeys.collect(_index_keys(data)).array) >= 0).any())

        return fetch_artifacts(self._cache, self._stage, self.prefix, FetchCondition(INDEX, has_wanted_rows))


class _Segments:
    """All segments, memory-mapped, with the position of each key's rows."""

    def __init__(self, cache: Cache, stage: str, prefix: str) -> None:
        import numpy as np

        self._tables: list[pa.Table] = []
        self._names: list[str] = []
        self._ends: list[int] = []
        keys, firsts, counts, base, place = [], [], [], 0, 0
        for key in cache.keys(stage, prefix):
            folder = cache.get(stage, key)
            if folder is None:
                continue
            index, table = read_arrow(folder / INDEX), read_arrow(folder / "rows.arrow")
            count = index["count"].to_numpy().astype(np.int64)
            firsts.append(base + np.cumsum(count) - count)
            counts.append(count)
            keys.append(InputKeys.collect(index["key"].to_pylist()).array)
            place += len(count)
            self._tables.append(table)
            self._names.append(key)
            self._ends.append(place)
            base += table.num_rows
        self._first = np.concatenate(firsts) if firsts else np.empty(0, np.int64)
        self._count = np.concatenate(counts) if counts else np.empty(0, np.int64)
        self._index = KeyIndex(np.concatenate(keys) if keys else InputKeys.collect(()).array)
        self._take: ArrowTaker | None = None

    def find(self, keys: InputKeys) -> tuple[np.ndarray, np.ndarray]:
        """First row and number of rows of each key."""
        place = self._index.find(keys.array)
        if (place < 0).any():
            raise CacheError(f"{int((place < 0).sum()):,} of {len(keys):,} inputs have no rows yet.")
        return self._first[place], self._count[place]

    def missing(self, keys: InputKeys) -> np.ndarray:
        """The first position of each key that is in no segment, ascending."""
        return keys.distinct[self._index.find(keys.array[keys.distinct]) < 0]

    def inputs(self, keys: InputKeys) -> dict[str, int]:
        """Number of these inputs in each segment."""
        import numpy as np

        places = self._index.find(keys.array[keys.distinct])
        places = places[places >= 0]
        segment, count = np.unique(np.searchsorted(self._ends, places, side="right"), return_counts=True)
        return {self._names[at]: int(number) for at, number in zip(segment, count, strict=True)}

    def rows(self, first: np.ndarray, count: np.ndarray) -> pa.Table:
        """Rows starting at `first`, `count` of each, in that order."""
        import numpy as np
        import pyarrow as pa

        if self._take is None:
            self._take = ArrowTaker(pa.concat_tables(self._tables))
        total = int(count.sum())
        offsets = np.repeat(first - (np.cumsum(count) - count), count)
        return self._take(offsets + np.arange(total))


def _index_keys(index: bytes) -> list[str]:
    """Keys in a segment's index."""
    import pyarrow as pa

    return list(pa.ipc.open_file(pa.py_buffer(index)).read_all()["key"].to_pylist())


def _write_segment(folder: Path, stage: str, names: Sequence[str], rows: BatchRows) -> None:
    import pyarrow as pa

    if len(rows.counts) != len(names) or sum(rows.counts) != rows.table.num_rows:
        raise CacheError(f"{stage}: a batch of {len(names)} gave {len(rows.counts)} results")
    index = pa.table({"key": list(names), "count": pa.array(rows.counts, pa.int32())})
    write_arrow(folder / INDEX, [index])
    write_arrow(folder / "rows.arrow", [rows.table])


def write_arrow(path: Path, tables: Sequence[pa.Table] | Iterator[pa.Table]) -> None:
    """Write tables of one schema as one Arrow file."""
    import pyarrow as pa

    writer = None
    for table in tables:
        writer = writer or pa.ipc.new_file(str(path), table.schema)
        writer.write_table(table)
    if writer is None:
        raise CacheError(f"nothing to write to {path.name}")
    writer.close()


def read_arrow(path: Path) -> pa.Table:
    """Memory-map an Arrow file."""
    import pyarrow as pa

    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def to_bytes(table: pa.Table) -> bytes:
    """A table as an Arrow stream."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def from_bytes(data: bytes) -> pa.Table:
    """The table of an Arrow stream."""
    import pyarrow as pa

    return pa.ipc.open_stream(pa.py_buffer(data)).read_all()
