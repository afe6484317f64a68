"""What systems share: each chunking, model, set of vectors and index is made once, by whoever asks first."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from bakeoff import registry
from bakeoff.config.modes import MODES
from bakeoff.config.plan import PluginSpec, System
from bakeoff.errors import StoreError
from bakeoff.pipeline.chunk import ChunkedCorpus, chunk_corpus, embedded_texts, token_counts
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.embed import ChunkVectors, QueryVectors, embed_chunks, embed_queries
from bakeoff.pipeline.index import BuildTimes, IndexContent, OpenIndex, build_index, open_index
from bakeoff.pipeline.lengths import TokenLengths, token_lengths
from bakeoff.pipeline.once_map import Key, OnceMap
from bakeoff.pipeline.payload import ChunkPayload, build_payload
from bakeoff.pipeline.read import ReadCorpus
from bakeoff.protocols import Embedder, Reranker, SupportsKeywordsWhere, SupportsPayload, SupportsVersion
from bakeoff.types import Metric, Query, Where

if TYPE_CHECKING:
    import numpy as np

WARM_UP_TEXTS = 10
WARM_UP_CHARACTERS = 80
STAND_IN = " (stand-in)"
"""Follows the label of a system whose model replaces a real one."""


@dataclass(frozen=True, slots=True)
class IngestionTimings:
    """A system's ingestion, None where a part was not made or failed; `seconds` is all of it by a separate clock.

    Work that a system shares with others counts in full.
    """

    corpus: ReadCorpus
    chunking: ChunkedCorpus | None
    vectors: ChunkVectors | None
    indexes: tuple[OpenIndex | None, ...]
    seconds: float | None


class SharedArtifacts:
    """Makes and keeps what systems share; safe to use from several threads.

    `repeats` is how often the embedding of a query is timed.
    """

    def __init__(
        self,
        corpus: ReadCorpus,
        queries: tuple[Query, ...],
        context: StageContext,
        *,
        metric: Metric,
        depth: int,
        repeats: int,
        filters: tuple[Where, ...] = (),
        read_seconds: float | None = None,
    ) -> None:
        self.corpus, self._context = corpus, context
        self.texts = [query.text for query in queries]
        self._filters = filters or ((),) * len(queries)
        self._filtered = [query.id for query, where in zip(queries, self._filters, strict=True) if where]
        self.metric, self.depth, self._repeats = metric, depth, repeats
        self._read_seconds = corpus.seconds if read_seconds is None else read_seconds
        self._shared = OnceMap()

    def chunking(self, part: PluginSpec) -> ChunkedCorpus:
        """The chunks of a chunker."""
        plugin = registry.load("chunkers", part.name)
        return self._shared.once(
            ("chunk", part.label), lambda: chunk_corpus(part, plugin(part.params), self.corpus, self._context)
        )

    def tokens(self, part: PluginSpec) -> np.ndarray:
        """Tokens of each chunk of a chunking."""
        return self._shared.once(("tokens", part.label), lambda: token_counts(self.chunking(part)))

    def passages(self, part: PluginSpec) -> list[str]:
        """What a reranker reads of each chunk of a chunking."""
        return self._shared.once(("passages", part.label), lambda: embedded_texts(self.chunking(part).chunks))

    def payload(self, part: PluginSpec) -> ChunkPayload:
        """The fields that filters use, for each chunk of a chunking."""
        return self._shared.once(
            ("payload", part.label),
            lambda: build_payload(self._filters, self.corpus.documents, self.chunking(part).chunks),
        )

    def embedder(self, part: PluginSpec) -> Embedder:
        """A model, loaded once."""
        plugin = registry.load("embedders", part.name)
        return self._shared.once(("embedder", part.label), lambda: cast(Embedder, plugin(part.params)))

    def with_stand_in_label(self, system: System) -> System:
        """The system under the label of every table, which marks a stand-in for a real model (F43)."""
        part = system.embedder
        if part is None or not self._shared.slot(("vectors", part.label, system.chunker.label)).made:
            return system
        real = not self.embedder(part).info.stand_in
        return system if real else replace(system, label=f"{system.label}{STAND_IN}")

    def reranker(self, part: PluginSpec) -> Reranker:
        """A reranker, loaded once."""
        plugin = registry.load("rerankers", part.name)
        return self._shared.once(
            ("reranker", store_identity(part)), lambda: cast(Reranker, plugin(part.params))
        )

    def vectors(self, embedder: PluginSpec, chunker: PluginSpec) -> ChunkVectors:
        """A chunking's vectors."""

        def make() -> ChunkVectors:
            self.lengths(embedder, chunker)
            return embed_chunks(embedder, self.embedder(embedder), self.chunking(chunker), self._context)

        return self._shared.once(("vectors", embedder.label, chunker.label), make)

    def lengths(self, embedder: PluginSpec, chunker: PluginSpec) -> TokenLengths | None:
        """How long a chunking's chunks are for a model."""
        return self._shared.once(
            ("lengths", embedder.label, chunker.label),
            lambda: token_lengths(embedder, self.embedder(embedder), self.chunking(chunker), self._context),
        )

    def known_lengths(self) -> list[TokenLengths]:
        """The token lengths counted so far, by model and chunker."""
        found = [one for one in self._shared.made("lengths") if one is not None]
        return sorted(found, key=lambda one: (one.embedder, one.chunker))

    def engines(self) -> dict[str, str]:
        """The version of each open store's engine, by the store's name, where the engine reports it."""
        found = {}
        for key, index in self._shared.keyed("index"):
            if isinstance(index.store, SupportsVersion):
                with contextlib.suppress(
                    StoreError
                ):  # an engine that is gone fails its system, which is reported
                    found[str(key[1]).split()[0]] = index.store.engine_version()
        return found

    def known_vectors(self) -> list[ChunkVectors]:
        """The chunk vectors made so far, by model and chunker."""
        return sorted(self._shared.made("vectors"), key=lambda one: (one.embedder, one.chunker))

    def query_vectors(self, embedder: PluginSpec) -> QueryVectors:
        """The queries' vectors with their times."""
        return self._shared.once(
            ("queries", embedder.label),
            lambda: embed_queries(
                embedder, self.embedder(embedder), self.texts, self.warm_up(), self._repeats, self._context
            ),
        )

    def build(
        self, store: PluginSpec, chunker: PluginSpec, embedder: PluginSpec | None, *, texts: bool = False
    ) -> BuildTimes | None:
        """Build an index over a chunking's vectors, over its texts where there is no embedder, or over both.

        An index that is kept in memory only is built when it is opened.
        """

        def make() -> BuildTimes | None:
            self._check_filters(store, words=embedder is None, both=texts)
            content = self.index_content(chunker, embedder, texts)
            return build_index(store, content, self.metric, self._context)

        return self._shared.once(_index_key("build", store, chunker, embedder, texts), make)

    def index(
        self, store: PluginSpec, chunker: PluginSpec, embedder: PluginSpec | None, *, texts: bool = False
    ) -> OpenIndex:
        """The same index, opened by the first thread that asks for it."""

        def make() -> OpenIndex:
            built = self.build(store, chunker, embedder, texts=texts)
            content = self.index_content(chunker, embedder, texts)
            return open_index(store, content, self.metric, self._context, built)

        return self._shared.once(_index_key("index", store, chunker, embedder, texts), make)

    def index_content(self, chunker: PluginSpec, embedder: PluginSpec | None, texts: bool) -> IndexContent:
        """What an index is built over."""
        vectors = self.vectors(embedder, chunker) if embedder else None
        payloads = self.payload(chunker) if self._filtered else None
        return IndexContent(self.chunking(chunker), vectors, texts, payloads)

    def indexes(self, system: System) -> list[OpenIndex]:
        """The open indexes of a system."""
        return [self.index(*parts, texts=texts) for parts, texts in _index_parts(system)]

    def prepare(self, system: System) -> None:
        """Make everything a system needs except its open indexes, which belong to the thread that searches (F52)."""
        for parts, texts in reversed(_index_parts(system)):
            self.build(*parts, texts=texts)

    def ingestion_timings(self, system: System) -> IngestionTimings:
        """What has been made for a system so far, with its times; makes nothing itself."""
        models = [("vectors", system.embedder.label, system.chunker.label)] if system.embedder else []
        opened = [_index_key("index", *parts, texts) for parts, texts in _index_parts(system)]
        builds = [_index_key("build", *parts, texts) for parts, texts in _index_parts(system)]
        keys: list[Key] = [("chunk", system.chunker.label), *models, *opened]
        slots = [self._shared.slot(key) for key in keys]
        chunking, *rest = (slot.value if slot.made else None for slot in slots)
        own = sum(slot.seconds for slot in (*slots, *map(self._shared.slot, builds)))
        return IngestionTimings(
            self.corpus,
            chunking,
            rest[0] if models else None,
            tuple(rest[len(models) :]),
            self._read_seconds + own if all(slot.made for slot in slots) else None,
        )

    def ranking_depth(self, system: System) -> int:
        """The most chunks that a system's ranking of a query holds."""
        return min(system.depth or self.depth, self.depth)

    def close(self) -> None:
        """Close every open store and model, even where closing one of them fails."""
        with contextlib.ExitStack() as stack:
            for one in self._shared.made("index", "embedder", "reranker"):
                stack.callback((one.store if isinstance(one, OpenIndex) else one).close)

    def warm_up(self) -> list[str]:
        """Texts that are not queries, the same for every system: pieces of the first documents."""
        texts = self.corpus.documents["text"][:WARM_UP_TEXTS].to_pylist()
        starts = range(0, WARM_UP_TEXTS * WARM_UP_CHARACTERS, WARM_UP_CHARACTERS)
        pieces = [text[at : at + WARM_UP_CHARACTERS].strip() for at in starts for text in texts]
        return [piece for piece in pieces if piece][:WARM_UP_TEXTS]

    def chunk_filters(self, chunker: PluginSpec) -> list[Where]:
        """Each query's filter in the terms of a chunking's payload."""
        if not self._filtered:
            return list(self._filters)
        payload = self.payload(chunker)
        return [payload.where(where) for where in self._filters]

    def _check_filters(self, store: PluginSpec, *, words: bool, both: bool) -> None:
        """Refuse a store that cannot filter; a filtered query is never searched without its filter."""
        plugin = registry.load("stores", store.name)
        able = SupportsKeywordsWhere if words else SupportsPayload
        if self._filtered and (both or not issubclass(plugin, able)):
            some = ", ".join(self._filtered[:3])
            how = "search by words" if words else "fuse" if both else "search"
            raise StoreError(
                f"{store.name} cannot {how} within a filter, and {len(self._filtered)} queries have one ({some}). "
                "Leave it out, or the filters."
            )


IndexParts = tuple[PluginSpec, PluginSpec, PluginSpec | None]
"""The store, chunker and embedder of an index; one over texts only has no embedder."""


def _index_parts(system: System) -> list[tuple[IndexParts, bool]]:
    """The parts of each index of a system, and whether it holds vectors and texts together."""
    found: list[tuple[IndexParts, bool]] = []
    if system.store is not None:
        native = "native" in MODES[system.mode.name].legs
        found.append(((system.store, system.chunker, system.embedder), native))
    if system.keyword is not None:
        found.append(((system.keyword, system.chunker, None), False))
    return found


def _index_key(
    step: str, store: PluginSpec, chunker: PluginSpec, embedder: PluginSpec | None, texts: bool
) -> Key:
    return (step, store_identity(store), chunker.label, embedder.label if embedder else "", texts)


def store_identity(store: PluginSpec) -> str:
    """Plug-in name and parameters of a store (labels are chosen by users and not unique)."""
    return f"{store.name} {store.params.model_dump_json()}"
