"""index, for existing collections: opens them read-only, checks them, and maps their ids to chunks."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from bakeoff import registry
from bakeoff.config.plan import PluginSpec
from bakeoff.errors import StoreError
from bakeoff.pipeline.chunk import ChunkedCorpus
from bakeoff.pipeline.context import StageContext, stage_progress
from bakeoff.pipeline.index import OpenIndex
from bakeoff.pipeline.query_pipeline import EXACT, SearchRequest
from bakeoff.protocols import CompleteStore, SupportsExisting, SupportsVersion
from bakeoff.storage.temp_dir import TempDir
from bakeoff.types import (
    Batch,
    CollectionFacts,
    ExistingCollection,
    Hits,
    Metric,
    ModelInfo,
    NamedHits,
    NamedVectors,
    SparseVector,
    Where,
)

if TYPE_CHECKING:
    import numpy as np
    from pydantic import BaseModel

PROBED = 100
"""Number of rows in the first search, which checks the ids."""


class ReadOnlyStore:
    """A store over an existing collection: it searches, and has no method that writes."""

    def __init__(
        self, store: SupportsExisting, rows: Mapping[str, int], copy: TempDir, collection: ExistingCollection
    ) -> None:
        self._store, self._rows, self._copy, self._collection = store, rows, copy, collection

    def search(self, vector: np.ndarray, k: int, query: BaseModel) -> Hits:
        """Return the k nearest rows; ids without a chunk are dropped, and a chunk counts once."""
        return self.map_ids(self._store.search_existing(vector, k, query))

    def search_own_fields(self, vector: np.ndarray, k: int, query: BaseModel, where: Where) -> Hits:
        """Return the k nearest rows whose own payload satisfies a filter."""
        return self.map_ids(self._store.search_existing(vector, k, query, where))

    def search_exactly(self, requests: Sequence[SearchRequest], k: int, metric: Metric) -> list[Hits]:
        """Exact search for each request; the vectors are read once per distinct filter."""
        hits_by_request: dict[int, Hits] = {}
        for where in dict.fromkeys(request.filter_as_written for request in requests):
            places = [place for place, request in enumerate(requests) if request.filter_as_written == where]
            nearest = NearestRows([_dense(requests[place]) for place in places], k, metric)
            for rows in self._pages(where):
                nearest.add(rows)
            hits_by_request |= dict(zip(places, map(self.map_ids, nearest.named_hits()), strict=True))
        return [hits_by_request[place] for place in range(len(requests))]

    def _pages(self, where: Where) -> Iterator[NamedVectors]:
        rows = self._store.read_existing(where)
        yield rows
        while rows.after is not None:
            rows = self._store.read_existing(where, rows.after)
            yield rows

    def map_ids(self, hits: NamedHits) -> Hits:
        """Translate an answer's ids into chunk rows."""
        import numpy as np

        scores: dict[int, float] = {}
        for name, score in zip(hits.ids, hits.scores, strict=True):
            row = self._rows.get(name)
            if row is not None:
                scores.setdefault(row, score)
        return Hits(
            np.fromiter(scores, np.int64, len(scores)), np.fromiter(scores.values(), np.float64, len(scores))
        )

    def engine_version(self) -> str:
        """The engine's version, with the name of the collection."""
        own = self._store.engine_version() if isinstance(self._store, SupportsVersion) else ""
        return f'{own} (collection "{self._collection.name}", read only)'.strip()

    def close(self) -> None:
        """Close the connection and delete the copy of an embedded engine's folder."""
        cast("CompleteStore", self._store).close()
        self._copy.close()


class NearestRows:
    """Finds the rows nearest to some vectors while reading a collection page by page."""

    def __init__(self, vectors: Sequence[np.ndarray | None], k: int, metric: Metric) -> None:
        self._vectors, self._k, self._metric = vectors, k, metric
        self._best: list[list[tuple[float, int, str]]] = [[] for _ in vectors]
        self._read = 0

    def add(self, rows: NamedVectors) -> None:
        """Compare every row of a page; ties keep the order in which rows were read."""
        import numpy as np

        if not rows.ids:
            return
        exact = _exact_store(rows.matrix, self._metric)
        for place, vector in enumerate(self._vectors):
            hits = exact.search(np.asarray(vector), self._k, type(exact).Query())
            pairs = zip(hits.ids.tolist(), hits.scores.tolist(), strict=True)
            page = [(-score, self._read + row, rows.ids[row]) for row, score in pairs]
            self._best[place] = sorted([*self._best[place], *page])[: self._k]
        self._read += len(rows.ids)

    def named_hits(self) -> list[NamedHits]:
        """Return the ids of the nearest rows of each vector."""
        return [
            NamedHits(tuple(name for _, _, name in best), tuple(-far for far, _, _ in best))
            for best in self._best
        ]


def _exact_store(matrix: np.ndarray, metric: Metric) -> CompleteStore:
    """An exact store over one page of vectors."""
    import numpy as np

    plugin = cast("type[CompleteStore]", registry.load("stores", EXACT))
    store = plugin(plugin.Params(), Path())
    store.create("page", matrix.shape[1], metric)
    store.insert(Batch(np.arange(len(matrix)), matrix))
    return store


def open_collection(
    part: PluginSpec,
    chunking: ChunkedCorpus,
    documents: Sequence[str],
    model: ModelInfo,
    metric: Metric,
    context: StageContext,
) -> OpenIndex:
    """Open an existing collection for searching, after checking its rows, dimensions, metric and ids."""
    dims = model.dims
    assert part.existing is not None
    copy = TempDir("collection")
    label = f"{part.label} · {chunking.label}"
    with stage_progress(context, "index", label, chunking.chunks.num_rows, "rows") as report:
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(copy.close)
            store = _connect(part, part.existing, copy)
            on_failure.callback(store.close)
            facts = cast("SupportsExisting", store).open_existing(part.existing, metric)
            _check_facts(part, facts, dims, metric)
            opened = ReadOnlyStore(
                cast("SupportsExisting", store), _chunk_rows(chunking, documents), copy, part.existing
            )
            note = _check_ids(part, opened, cast("SupportsExisting", store), facts, dims, chunking)
            on_failure.pop_all()
        report.advance(chunking.chunks.num_rows)
        report.summary = f'{facts.rows:,} rows of "{part.existing.name}", read only'
    return OpenIndex(cast("CompleteStore", opened), None, None, None, note=note)


def _connect(part: PluginSpec, collection: ExistingCollection, copy: TempDir) -> CompleteStore:
    """Open the store; an embedded engine gets a copy of its folder, because many write when they open one."""
    plugin = cast("type[CompleteStore]", registry.load("stores", part.name))
    if not issubclass(plugin, SupportsExisting):
        raise StoreError(f"{part.name} cannot search an existing collection. Remove `collection`.")
    home = copy.path / "home"
    if collection.path:
        folder = Path(collection.path)
        if not folder.is_dir():
            raise StoreError(
                f"{part.name}: {folder} is not a folder. Set `path` to the engine's data folder."
            )
        shutil.copytree(folder, home)
    else:
        home.mkdir()
    return plugin(part.params, home)


def _check_facts(part: PluginSpec, facts: CollectionFacts, dims: int, metric: Metric) -> None:
    name = part.existing.name if part.existing else ""
    if not facts.rows:
        raise StoreError(f'{part.name}: collection "{name}" is empty.')
    if facts.dims != dims:
        raise StoreError(
            f'{part.name}: collection "{name}" has vectors of {facts.dims} dimensions, but the model makes {dims}. '
            "Use the model that filled it."
        )
    if facts.metric is not None and facts.metric is not metric:
        raise StoreError(
            f'{part.name}: collection "{name}" is searched by {facts.metric}, but the experiment says {metric}. '
            f"Set metric: {facts.metric}."
        )


def _chunk_rows(chunking: ChunkedCorpus, documents: Sequence[str]) -> dict[str, int]:
    """Map each chunk id to its row; document ids too, if each document is one chunk."""
    chunks = chunking.chunks
    rows = {name: row for row, name in enumerate(chunks["id"].to_pylist())}
    docs = chunks["doc"].to_pylist()
    if len(set(docs)) == len(docs):
        rows |= {documents[doc]: row for row, doc in enumerate(docs)}
    return rows


def _check_ids(
    part: PluginSpec,
    opened: ReadOnlyStore,
    store: SupportsExisting,
    facts: CollectionFacts,
    dims: int,
    chunking: ChunkedCorpus,
) -> str:
    """Search once and check the ids: an error if all are unknown; returns a note if some are, or if row
    counts differ."""
    import numpy as np

    query = cast("type[CompleteStore]", registry.load("stores", part.name)).Query()
    hits = store.search_existing(np.full(dims, dims**-0.5, np.float32), min(PROBED, facts.rows), query)
    mapped = len(opened.map_ids(hits).ids)
    unknown = [
        name for name in dict.fromkeys(hits.ids) if not len(opened.map_ids(NamedHits((name,), (0.0,))).ids)
    ]
    if not mapped:
        raise StoreError(
            f"{part.name}: none of {len(hits.ids)} ids, such as {', '.join(map(repr, hits.ids[:3]))}, is a chunk of "
            f"{chunking.label}. Name the payload field of chunk ids with `id`; ids of documents need chunkers: [whole]."
        )
    rows = chunking.chunks.num_rows
    if not unknown and facts.rows == rows:
        return ""
    return (
        f'Collection "{part.existing.name if part.existing else ""}" of {part.label} holds {facts.rows:,} rows, and '
        f"{chunking.label} {rows:,} chunks; {len(unknown)} of {len(hits.ids)} ids of a first search are not among "
        "them. Such rows are left out of its rankings."
    )


def _dense(request: SearchRequest) -> np.ndarray | None:
    assert not isinstance(
        request.vector, SparseVector
    )  # existing collections are searched by dense vectors only
    return request.vector
