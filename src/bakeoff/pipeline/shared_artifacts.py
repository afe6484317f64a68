"""What systems are made of: each chunking, model, embedding and index is made once, whoever asks first."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

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
from bakeoff.protocols import Embedder, SupportsKeywordsWhere, SupportsPayload, SupportsVersion
from bakeoff.types import Metric, Query, Where

if TYPE_CHECKING:
    import numpy as np

WARM_UP_TEXTS = 10
WARM_UP_CHARACTERS = 80
STAND_IN = " (stand-in)"
"""Behind the name of a system whose model is no real one."""


@dataclass(frozen=True, slots=True)
class IngestionTimings:
    """A system's ingestion, None where a part was not made or failed; `seconds` is all of it by a clock of its own.

    That clock stands around each part, and work a system shares with others counts in full.
    """

    corpus: ReadCorpus
    chunking: ChunkedCorpus | None
    vectors: ChunkVectors | None
    indexes: tuple[OpenIndex | None, ...]
    seconds: float | None


class SharedArtifacts:
    """Makes and keeps what systems share; safe to ask from several threads."""

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
        self.corpus, self._shop = corpus, context
        self._texts = [query.text for query in queries]
        self._filters = filters or ((),) * len(queries)
        self._filtered = [query.id for query, where in zip(queries, self._filters, strict=True) if where]
        self._metric, self._depth, self.repeats = metric, depth, repeats
        self._read_seconds = corpus.seconds if read_seconds is None else read_seconds
        self._shared = OnceMap()

    def chunking(self, part: PluginSpec) -> ChunkedCorpus:
        """The corpus cut by a chunker."""
        plugin = registry.load("chunkers", part.name)
        return self._shared.once(
            ("chunk", part.label), lambda: chunk_corpus(part, plugin(part.params), self.corpus, self._shop)
        )

    def tokens(self, part: PluginSpec) -> np.ndarray:
        """Tokens of each chunk of a chunking."""
        return self._shared.once(("tokens", part.label), lambda: token_counts(self.chunking(part)))

    def passages(self, part: PluginSpec) -> list[str]:
        """What a reranker reads of each chunk of a chunking."""
        return self._shared.once(("passages", part.label), lambda: embedded_texts(self.chunking(part).chunks))

    def payload(self, part: PluginSpec) -> ChunkPayload:
        """What filters ask about, for each chunk of a chunking."""
        return self._shared.once(
            ("payload", part.label),
            lambda: build_payload(self._filters, self.corpus.documents, self.chunking(part).chunks),
        )

    def embedder(self, part: PluginSpec) -> Embedder:
        """A model, loaded once."""
        plugin = registry.load("embedders", part.name)
        return self._shared.once(("embedder", part.label), lambda: cast(Embedder, plugin(part.params)))

    def shown(self, system: System) -> System:
        """The system under the name that every table has: by a stand-in for a real model, it says so (F43)."""
        part = system.embedder
        if part is None or not self._shared.slot(("vectors", part.label, system.chunker.label)).made:
            return system
        real = not self.embedder(part).info.stand_in
        return system if real else replace(system, label=f"{system.label}{STAND_IN}")

    def reranker(self, part: PluginSpec) -> Any:
        """A reranker, loaded once."""
        plugin = registry.load("rerankers", part.name)
        return self._shared.once(("reranker", store_identity(part)), lambda: plugin(part.params))

    def vectors(self, embedder: PluginSpec, chunker: PluginSpec) -> ChunkVectors:
        """A chunking's vectors."""

        def make() -> ChunkVectors:
            self.lengths(embedder, chunker)
            return embed_chunks(embedder, self.embedder(embedder), self.chunking(chunker), self._shop)

        return self._shared.once(("vectors", embedder.label, chunker.label), make)

    def lengths(self, embedder: PluginSpec, chunker: PluginSpec) -> TokenLengths | None:
        """How long a chunking's chunks are for a model."""
        return self._shared.once(
            ("lengths", embedder.label, chunker.label),
            lambda: token_lengths(embedder, self.embedder(embedder), self.chunking(chunker), self._shop),
        )

    def known_lengths(self) -> list[TokenLengths]:
        """The lengths that were counted, by model and chunker."""
        found = [one for one in self._shared.made("lengths") if one is not None]
        return sorted(found, key=lambda one: (one.embedder, one.chunker))

    def engines(self) -> dict[str, str]:
        """The version of each open store's engine, by the store's name, where the engine tells it."""
        found = {}
        for key, index in self._shared.keyed("index"):
            if isinstance(index.store, SupportsVersion):
                with contextlib.suppress(
                    StoreError
                ):  # an engine that is gone by now failed its system, which tells it
                    found[str(key[1]).split()[0]] = index.store.engine_version()
        return found

    def known_vectors(self) -> list[ChunkVectors]:
        """The vectors of chunks that were made, by model and chunker."""
        return sorted(self._shared.made("vectors"), key=lambda one: (one.embedder, one.chunker))

    def query_vectors(self, embedder: PluginSpec) -> QueryVectors:
        """The queries' vectors with their times."""
        return self._shared.once(
            ("queries", embedder.label),
            lambda: embed_queries(
                embedder, self.embedder(embedder), self._texts, self.warm_up(), self.repeats, self._shop
            ),
        )

    def build(
        self, store: PluginSpec, chunker: PluginSpec, embedder: PluginSpec | None, *, texts: bool = False
    ) -> BuildTimes | None:
        """Build an index over a chunking's vectors, over its texts where there is no embedder, or over both.

        What lives in memory only is built when it is opened.
        """

        def make() -> BuildTimes | None:
            self._check_filters(store, words=embedder is None, both=texts)
            content = self._content(chunker, embedder, texts)
            return build_index(store, content, self._metric, self._shop)

        return self._shared.once(_index_key("build", store, chunker, embedder, texts), make)

    def index(
        self, store: PluginSpec, chunker: PluginSpec, embedder: PluginSpec | None, *, texts: bool = False
    ) -> OpenIndex:
        """The same index, open; the thread that asks first opens it."""

        def make() -> OpenIndex:
            built = self.build(store, chunker, embedder, texts=texts)
            content = self._content(chunker, embedder, texts)
            return open_index(store, content, self._metric, self._shop, built)

        return self._shared.once(_index_key("index", store, chunker, embedder, texts), make)

    def _content(self, chunker: PluginSpec, embedder: PluginSpec | None, texts: bool) -> IndexContent:
        vectors = self.vectors(embedder, chunker) if embedder else None
        payloads = self.payload(chunker) if self._filtered else None
        return IndexContent(self.chunking(chunker), vectors, texts, payloads)

    def indexes(self, system: System) -> list[OpenIndex]:
        """The open indexes of a system."""
        return [self.index(*which, texts=texts) for which, texts in _indexes(system)]

    def prepare(self, system: System) -> None:
        """Make everything a system needs, except what belongs to the thread that searches: its open indexes."""
        for which, texts in reversed(_indexes(system)):
            self.build(*which, texts=texts)

    def ingested(self, system: System) -> IngestionTimings:
        """What of a system's ingestion is there, made now or before; nothing is made for the question."""
        models = [("vectors", system.embedder.label, system.chunker.label)] if system.embedder else []
        places = [_index_key("index", *which, texts) for which, texts in _indexes(system)]
        builds = [_index_key("build", *which, texts) for which, texts in _indexes(system)]
        keys: list[Key] = [("chunk", system.chunker.label), *models, *places]
        slots = [self._shared.slot(key) for key in keys]
        chunking, *rest = (slot.value if slot.made else None for slot in slots)
        whole = all(slot.made for slot in slots)
        return IngestionTimings(
            self.corpus,
            chunking,
            rest[0] if models else None,
            tuple(rest[len(models) :]),
            self._read_seconds + sum(slot.seconds for slot in (*slots, *map(self._shared.slot, builds)))
            if whole
            else None,
        )

    def depth(self, system: System) -> int:
        """How many chunks a system's ranking of a query holds at most."""
        return min(system.depth or self._depth, self._depth)

    def close(self) -> None:
        """Close every store and model that was opened, whatever one of them says."""
        with contextlib.ExitStack() as stack:
            for one in self._shared.made("index", "embedder", "reranker"):
                stack.callback((one.store if isinstance(one, OpenIndex) else one).close)

    def warm_up(self) -> list[str]:
        """Texts that are not queries, the same for every system: pieces of the first documents."""
        texts = self.corpus.documents["text"][:WARM_UP_TEXTS].to_pylist()
        starts = range(0, WARM_UP_TEXTS * WARM_UP_CHARACTERS, WARM_UP_CHARACTERS)
        pieces = [text[at : at + WARM_UP_CHARACTERS].strip() for at in starts for text in texts]
        return [piece for piece in pieces if piece][:WARM_UP_TEXTS]

    def wheres(self, chunker: PluginSpec) -> list[Where]:
        """Each query's filter in the terms of a chunking's payload."""
        if not self._filtered:
            return list(self._filters)
        beside = self.payload(chunker)
        return [beside.where(where) for where in self._filters]

    def _check_filters(self, store: PluginSpec, *, words: bool, both: bool) -> None:
        """A store that cannot filter is refused; it is never asked without the filter instead."""
        plugin = registry.load("stores", store.name)
        able = SupportsKeywordsWhere if words else SupportsPayload
        if self._filtered and (both or not issubclass(plugin, able)):
            some = ", ".join(self._filtered[:3])
            how = "search by words" if words else "fuse" if both else "search"
            raise StoreError(
                f"{store.name} cannot {how} within a filter, and {len(self._filtered)} queries have one ({some}). "
                "Leave it out, or the filters."
            )


def _indexes(system: System) -> list[tuple[tuple[PluginSpec, PluginSpec, PluginSpec | None], bool]]:
    """What each index of a system is over, and whether vectors and texts lie in one."""
    found: list[tuple[tuple[PluginSpec, PluginSpec, PluginSpec | None], bool]] = []
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
    """A store by what it is: a label is the user's to choose, and may be that of another store."""
    return f"{store.name} {store.params.model_dump_json()}"
