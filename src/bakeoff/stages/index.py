"""index: vectors and texts → an index in a store, built once and opened again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff import registry
from bakeoff.cache import MANIFEST, folder_bytes
from bakeoff.errors import StoreError
from bakeoff.fingerprint import fingerprint
from bakeoff.plan import Part
from bakeoff.protocols import SupportsReopen
from bakeoff.stages.chunk import Chunking, embedded_texts
from bakeoff.stages.embed import Vectors
from bakeoff.stages.work import Workshop, stage
from bakeoff.types import Batch, Metric

VERSION = "1"
BATCH = 8192


@dataclass(frozen=True, slots=True)
class Content:
    """What goes into an index: the chunks' vectors, or their texts."""

    chunking: Chunking
    vectors: Vectors | None

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.chunking.chunks.num_rows

    @property
    def dims(self) -> int:
        """The vectors' length; 0 for texts."""
        return self.vectors.matrix.shape[1] if self.vectors else 0

    def fingerprint(self) -> str:
        """The name of the content."""
        return self.vectors.fingerprint if self.vectors else self.chunking.fingerprint

    def batches(self) -> Iterator[Batch]:
        """The rows in batches, ids counting from 0."""
        import numpy as np

        texts = None if self.vectors else embedded_texts(self.chunking.chunks)
        for begin in range(0, self.rows, BATCH):
            rows = slice(begin, min(begin + BATCH, self.rows))
            ids = np.arange(rows.start, rows.stop, dtype=np.int64)
            if self.vectors is not None:
                yield Batch(ids, vectors=self.vectors.matrix[rows])
            else:
                assert texts is not None
                yield Batch(ids, texts=texts[rows])


@dataclass(frozen=True, slots=True)
class Index:
    """An open store; the seconds are None where the index was built by an earlier run."""

    store: Any
    bytes: int | None
    insert_seconds: float | None
    index_seconds: float | None


def open_index(part: Part, content: Content, metric: Metric, shop: Workshop) -> Index:
    """The store holding the content, ready to be searched; built now unless an earlier run left it."""
    plugin = registry.load("stores", part.name)
    name = fingerprint("index", VERSION, part.identity(), content.fingerprint(), metric)
    with stage(shop, "index", f"{part.label} · {content.chunking.label}", content.rows, "rows") as report:
        if not issubclass(plugin, SupportsReopen):
            report.advance(0)
            store = plugin(part.params, shop.cache.root)
            insert, ready = _build(store, name, content, metric, report.advance)
            return Index(store, _bytes_in_memory(content), insert, ready)
        opened = _opened(plugin, part, name, content, metric, shop)
        if opened is not None:
            report.advance(content.rows)
            return opened
        seconds: list[float] = []

        def write(home: Path) -> None:
            report.advance(0)
            store = plugin(part.params, home)
            try:
                seconds.extend(_build(store, name, content, metric, report.advance))
            finally:
                store.close()

        shop.cache.make("index", name, write)
        opened = _opened(plugin, part, name, content, metric, shop)
    if opened is None:
        raise StoreError(f"{part.label} does not find the index it has just built.")
    insert_s, index_s = seconds if seconds else (None, None)
    return Index(opened.store, opened.bytes, insert_s, index_s)


def _opened(
    plugin: Any, part: Part, name: str, content: Content, metric: Metric, shop: Workshop
) -> Index | None:
    """The index an earlier run left, if it is whole."""
    home = shop.cache.get("index", name)
    if home is None:
        return None
    store = plugin(part.params, home)
    try:
        rows = store.open(name, content.dims, metric)
    except StoreError:
        rows = -1
    if rows == content.rows:
        return Index(store, _bytes_on_disk(home), None, None)
    store.close()
    shop.cache.drop("index", name)
    return None


def _build(store: Any, name: str, content: Content, metric: Metric, advance: Any) -> tuple[float, float]:
    """Seconds of inserting, and of the wait until everything inserted is searchable."""
    begin = time.perf_counter()
    store.create(name, content.dims, metric)
    for batch in content.batches():
        store.insert(batch)
        advance(len(batch.ids))
    inserted = time.perf_counter()
    store.ready()
    return inserted - begin, time.perf_counter() - inserted


def _bytes_on_disk(home: Path) -> int | None:
    """What the index takes here; unknown for one that lives in a server."""
    files = [path for path in home.rglob("*") if path.is_file() and path.name != MANIFEST]
    return folder_bytes(home) if files else None


def _bytes_in_memory(content: Content) -> int:
    return int(content.vectors.matrix.nbytes) if content.vectors else 0
