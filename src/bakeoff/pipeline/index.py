"""index: vectors and texts → an index in a store, built once and reopened afterwards."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from bakeoff import registry
from bakeoff.config.plan import PluginSpec
from bakeoff.errors import StoreError
from bakeoff.fingerprint import fingerprint
from bakeoff.pipeline.chunk import ChunkedCorpus, embedded_texts
from bakeoff.pipeline.context import StageContext, StageReport, stage_progress
from bakeoff.pipeline.embed import ChunkVectors
from bakeoff.pipeline.payload import ChunkPayload
from bakeoff.pipeline.work_time import find_time, measured_now, store_time
from bakeoff.protocols import CompleteStore, Store, SupportsReopen, SupportsStorage, SupportsVersion
from bakeoff.storage.cache import MANIFEST, folder_bytes
from bakeoff.types import FULL_FORM, Batch, Metric, SparseRows, TokenRows, VectorKind

VERSION = "1"
BATCH = 8192
PHASES = ("insert_seconds", "index_seconds", "ready_seconds")


@dataclass(frozen=True, slots=True)
class IndexContent:
    """The content of an index: chunk vectors, texts or both, and the payload for filters."""

    chunking: ChunkedCorpus
    vectors: ChunkVectors | None
    texts: bool = False
    payload: ChunkPayload | None = None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.chunking.chunks.num_rows

    @property
    def dims(self) -> int:
        """Vector length; 0 for a text index."""
        return self.vectors.matrix.shape[1] if self.vectors else 0

    @property
    def kind(self) -> VectorKind:
        """Kind of the vectors."""
        matrix = self.vectors.matrix if self.vectors else None
        if isinstance(matrix, SparseRows):
            return "sparse"
        return "tokens" if isinstance(matrix, TokenRows) else "dense"

    def fingerprint(self) -> str:
        """Fingerprint of the content."""
        name = self.vectors.fingerprint if self.vectors else self.chunking.fingerprint
        if self.vectors and self.texts:
            name = fingerprint("with texts", name)
        return fingerprint("with payload", name, self.payload.fields) if self.payload else name

    def batches(self) -> Iterator[Batch]:
        """Yield the rows in batches; ids count from 0."""
        import numpy as np

        for begin in range(0, self.rows, BATCH):
            rows = slice(begin, min(begin + BATCH, self.rows))
            part = self.vectors.matrix[rows] if self.vectors else None
            chunks = self.chunking.chunks.slice(begin, BATCH)
            yield Batch(
                np.arange(rows.start, rows.stop, dtype=np.int64),
                vectors=part if isinstance(part, np.ndarray) else None,
                texts=embedded_texts(chunks) if self.texts or not self.vectors else None,
                payloads=self.payload.rows(rows.start, rows.stop) if self.payload else None,
                sparse=part if isinstance(part, SparseRows) else None,
                tokens=part if isinstance(part, TokenRows) else None,
            )


@dataclass(frozen=True, slots=True)
class OpenIndex:
    """An open store; if an earlier run built the index, the seconds are that run's and `measured` is their date.

    Inserting ends with the last row sent, indexing when the store reports that every row is searchable
    through the requested index; the index is ready once it is on disk, open and has reported its row count.
    """

    store: CompleteStore
    bytes: int | None
    insert_seconds: float | None
    index_seconds: float | None
    ready_seconds: float | None = None
    measured: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class _IndexBuild:
    """The content of an index to build, and its destination."""

    plugin: type[CompleteStore]
    part: PluginSpec
    name: str
    content: IndexContent
    metric: Metric

    def store(self, home: Path) -> CompleteStore:
        """Open the store over a folder and declare the payload it will hold."""
        store = self.plugin(self.part.params, home)
        if self.content.payload is not None:
            store.declare(self.content.payload.fields)
        if self.content.kind != "dense":
            store.hold(self.content.kind)
        if self.part.form.storage != FULL_FORM.storage and isinstance(store, SupportsStorage):
            store.set_storage(self.part.form.storage)
        return store


@dataclass(frozen=True, slots=True)
class _FilledStore:
    """Seconds of inserting and of indexing, and when indexing ended."""

    insert: float
    index: float
    ended: float


@dataclass(frozen=True, slots=True)
class BuildTimes:
    """Seconds of a build: inserting, indexing, and then making the index durable."""

    insert: float
    index: float
    keep: float


def build_index(
    part: PluginSpec, content: IndexContent, metric: Metric, context: StageContext
) -> BuildTimes | None:
    """Build a persistent index and close it; None if it exists already or the store is in-memory only."""
    making = _making(part, content, metric)
    if not issubclass(making.plugin, SupportsReopen):
        return None
    with _stage(making, context) as report:
        if context.cache.get("index", making.name) is not None:
            report.advance(content.rows)
            return None
        return _build(making, context, report.advance)


def open_index(
    part: PluginSpec,
    content: IndexContent,
    metric: Metric,
    context: StageContext,
    built: BuildTimes | None = None,
) -> OpenIndex:
    """Return the store with the content, ready for search, opened by the calling thread; `built` is its build time.

    Some engines keep settings per thread, so the thread that opens a store must also search it (F52).
    """
    making = _making(part, content, metric)
    if not issubclass(making.plugin, SupportsReopen):
        with _stage(making, context) as report:
            report.advance(0)
            return _in_memory(making, context.cache.root, report.advance)
    opened = _open_existing(making, context, built)
    if opened is not None:
        return opened
    with _stage(making, context) as report:
        opened = _open_existing(making, context, _build(making, context, report.advance))
    if opened is None:
        raise StoreError(f"{part.label} can't open the index it just built.")
    return opened


def index_name(part: PluginSpec, content: IndexContent, metric: Metric) -> str:
    """Name of an index, also used as the collection name on a server."""
    return _making(part, content, metric).name


def _making(part: PluginSpec, content: IndexContent, metric: Metric) -> _IndexBuild:
    part = part.in_language(content.chunking.language)
    metric = metric if content.kind == "dense" else Metric.DOT
    name = fingerprint("index", VERSION, part.identity(), content.fingerprint(), metric)
    plugin = cast("type[CompleteStore]", registry.load("stores", part.name))
    return _IndexBuild(plugin, part, name, content, metric)


def _stage(making: _IndexBuild, context: StageContext) -> AbstractContextManager[StageReport]:
    label = f"{making.part.label} · {making.content.chunking.label}"
    return stage_progress(context, "index", label, making.content.rows, "rows")


def _in_memory(making: _IndexBuild, root: Path, advance: Callable[[int], None]) -> OpenIndex:
    """Build an index that lives as long as its store."""
    store = making.store(root)
    with contextlib.ExitStack() as on_failure:
        on_failure.callback(_close_after_fault, store)
        filled = _fill(store, making, advance)
        on_failure.pop_all()
    size = _bytes_in_memory(making.content, making.part)
    return OpenIndex(store, size, filled.insert, filled.index, time.perf_counter() - filled.ended)


def _build(making: _IndexBuild, context: StageContext, advance: Callable[[int], None]) -> BuildTimes | None:
    """Build an index and make it durable; None if another process built it meanwhile."""
    done: list[_FilledStore] = []

    def write(home: Path) -> None:
        advance(0)
        store = making.store(home)
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(_close_after_fault, store)
            done.append(_fill(store, making, advance))
            on_failure.pop_all()
        store.close()

    context.cache.make("index", making.name, write)
    if not done:
        return None
    filled = done[-1]  # if a shared folder disappeared during the write, write it again
    return BuildTimes(filled.insert, filled.index, time.perf_counter() - filled.ended)


def _open_existing(making: _IndexBuild, context: StageContext, built: BuildTimes | None) -> OpenIndex | None:
    """Open the cached index if it is complete; an index that a server lost is removed from the cache."""
    begin = time.perf_counter()
    home = context.cache.get("index", making.name)
    if home is None:
        return None
    store = making.store(home)
    try:
        rows = store.open(making.name, making.content.dims, making.metric)
    except StoreError as exc:
        _expect_answer(store, exc)
        rows = -1
    if rows == making.content.rows:
        index = OpenIndex(store, _bytes_on_disk(home), None, None)
        if built is None:
            return _with_earlier_times(index, making, context)
        ready = built.keep + time.perf_counter() - begin
        return _keep_times(
            replace(index, insert_seconds=built.insert, index_seconds=built.index, ready_seconds=ready),
            making,
            context,
        )
    _close_after_fault(store)
    context.cache.drop("index", making.name)
    return None


def _keep_times(index: OpenIndex, making: _IndexBuild, context: StageContext) -> OpenIndex:
    """Store the build times for runs that find the index in the cache."""
    for phase in PHASES:
        work_time = measured_now(making.content.rows, getattr(index, phase))
        if work_time is not None:
            store_time(context.cache, fingerprint(phase, making.name), work_time)
    return index


def _with_earlier_times(index: OpenIndex, making: _IndexBuild, context: StageContext) -> OpenIndex:
    """Return the index with the build times of the run that built it, if known."""
    insert, build, ready = (find_time(context.cache, fingerprint(phase, making.name)) for phase in PHASES)
    if insert is None or build is None or ready is None:
        return index
    return OpenIndex(index.store, index.bytes, insert.seconds, build.seconds, ready.seconds, insert.source)


def _expect_answer(store: Store, fault: StoreError) -> None:
    """Return if the engine answers, so a missing index is lost; raise if the server is unreachable."""
    if not isinstance(store, SupportsVersion):
        return
    try:
        store.engine_version()
    except StoreError:
        _close_after_fault(store)
        advice = "The cache entry is kept: run the same command when the server is back"
        raise StoreError(f"{str(fault).rstrip('. ')}. {advice}.") from fault


def _fill(store: Store, making: _IndexBuild, advance: Callable[[int], None]) -> _FilledStore:
    """Return the store's own seconds of inserting and indexing, without the time to prepare batches (F38)."""
    begin = time.perf_counter()
    store.create(making.name, making.content.dims, making.metric)
    seconds = time.perf_counter() - begin
    for batch in making.content.batches():
        sent = time.perf_counter()
        store.insert(batch)
        seconds += time.perf_counter() - sent
        advance(len(batch.ids))
    inserted = time.perf_counter()
    store.ready()
    ended = time.perf_counter()
    return _FilledStore(seconds, ended - inserted, ended)


def _close_after_fault(store: Store) -> None:
    """Close a store that failed, ignoring errors: the first fault matters more."""
    try:
        store.close()
    except (StoreError, OSError):
        return


def _bytes_on_disk(home: Path) -> int | None:
    """Bytes of the index on disk; None if it lives in a server."""
    files = [path for path in home.rglob("*") if path.is_file() and path.name != MANIFEST]
    return folder_bytes(home) if files else None


def _bytes_in_memory(content: IndexContent, part: PluginSpec) -> int:
    if content.vectors is None:
        return 0
    small = part.form.storage != FULL_FORM.storage
    return (
        content.rows * part.form.vector_bytes(content.dims) if small else int(content.vectors.matrix.nbytes)
    )
