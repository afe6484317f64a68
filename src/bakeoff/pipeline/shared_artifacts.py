"""What systems share: each chunking, model, set of vectors and index is made once, on first use."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from bakeoff.config.plan import RETRIEVERS, PluginSpec, RerankSpec, System
from bakeoff.errors import StoreError
from bakeoff.pipeline.artifact_keys import (
    index_key,
    index_parts,
    model_name,
    passage_encoder,
    passage_encoders,
    reads_corpus,
    vectors_key,
)
from bakeoff.pipeline.chunk import ChunkedCorpus, TokenCounts, chunk_corpus, embedded_texts
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.embed import (
    ChunkVectors,
    QueryVectors,
    embed_chunks,
    embed_queries,
)
from bakeoff.pipeline.encoded_rows import EncodedRows
from bakeoff.pipeline.existing_collection import ReadOnlyStore, open_collection
from bakeoff.pipeline.given_vectors import store_given_vectors, vector_supplier
from bakeoff.pipeline.index import BuildTimes, IndexContent, OpenIndex, build_index, open_index
from bakeoff.pipeline.once_map import Key, OnceMap
from bakeoff.pipeline.payload import ChunkPayload, build_payload, require_filters
from bakeoff.pipeline.query_pipeline import AnswerReader, RequestVector, RerankStage, SearchRequest
from bakeoff.pipeline.read import ReadCorpus
from bakeoff.pipeline.shared_models import SharedModels
from bakeoff.pipeline.shared_retrievers import SharedRetrievers
from bakeoff.pipeline.timing import IngestionTimings
from bakeoff.pipeline.vector_forms import FormedStore, cut_vectors, require_unit_vectors
from bakeoff.protocols import Reranker, SupportsStoredTokens, SupportsVersion
from bakeoff.types import Hits, Metric, Query, Role, TokenRows, Where

if TYPE_CHECKING:
    import numpy as np

WARM_UP_TEXTS = 10
WARM_UP_CHARACTERS = 80
STAND_IN = " (stand-in)"
"""Appended to the label of a system whose model replaces a real one."""


class SharedArtifacts:
    """Makes and keeps what systems share; thread-safe.

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
        self.texts, self.ids = [query.text for query in queries], [query.id for query in queries]
        self.filters = filters or ((),) * len(queries)
        self._filtered = [query.id for query, where in zip(queries, self.filters, strict=True) if where]
        self.metric, self.depth, self._repeats = metric, depth, repeats
        self._read_seconds = corpus.seconds if read_seconds is None else read_seconds
        self._shared = OnceMap()
        self.models = SharedModels(self._shared, self.chunking, context)
        self.retrievers = SharedRetrievers(corpus, self._filtered, self._shared)

    def chunking(self, part: PluginSpec) -> ChunkedCorpus:
        """Return the chunks of a chunker, or the passages a retriever has returned so far."""
        if part.kind == RETRIEVERS:
            return self.retrievers.passages(part).chunking()
        return self._shared.once(
            ("chunk", part.label), lambda: chunk_corpus(part, self.corpus.read_for(part), self._context)
        )

    def tokens(self, part: PluginSpec) -> TokenCounts:
        """Tokens of each chunk."""
        return self._shared.once(("tokens", part.label), lambda: TokenCounts(self.chunking(part)))

    def passages(self, part: PluginSpec) -> list[str]:
        """The text of each chunk as a reranker reads it."""
        return self._shared.once(("passages", part.label), lambda: embedded_texts(self.chunking(part).chunks))

    def payload(self, part: PluginSpec) -> ChunkPayload:
        """The payload of each chunk, with the fields that filters use."""
        return self._shared.once(
            ("payload", part.label),
            lambda: build_payload(
                self.filters, self.corpus.read_for(part).documents, self.chunking(part).chunks
            ),
        )

    def with_stand_in_label(self, system: System) -> System:
        """Return the system under its label in all tables, which marks a stand-in for a real model (F43)."""
        part = system.embedder
        if part is None or not self._shared.slot(vectors_key(part, system)).made:
            return system
        real = not self.models.model(part, system.chunker).info.stand_in
        return system if real else replace(system, label=f"{system.label}{STAND_IN}")

    def answer_reader(self, system: System) -> AnswerReader:
        """Return what turns a system's answers into rankings."""
        return self.retrievers.answer_reader(system, self.ranking_depth(system))

    def vectors(self, embedder: PluginSpec, chunker: PluginSpec) -> ChunkVectors:
        """Return a chunking's vectors."""

        def make() -> ChunkVectors:
            self.models.start(embedder, chunker)
            self.models.lengths(embedder, chunker)
            model, chunking = self.models.model(embedder, chunker), self.chunking(chunker)
            if embedder.kind != "embedders":
                return embed_chunks(embedder, model, chunking, self._context)
            self.models.canary(embedder, chunking)
            if supplier := vector_supplier(chunker, embedder):
                return store_given_vectors(
                    embedder, self.models.embedder(embedder), supplier, chunking, self._context
                )
            return embed_chunks(embedder, model, chunking, self._context)

        def make_smaller() -> ChunkVectors:
            full = self.vectors(embedder.full, chunker)
            return cut_vectors(full, embedder, self.models.embedder(embedder).info, self._context)

        key = ("vectors", model_name(embedder), chunker.label)
        return self._shared.once(key, make if embedder.form.dims is None else make_smaller)

    def engines(self) -> dict[str, str]:
        """Engine version of each open store, by name, where the engine reports it."""
        versions = {}
        for key, index in self._shared.items_of("index"):
            if isinstance(index, OpenIndex) and isinstance(index.store, SupportsVersion):
                # an engine that is gone fails its system, which is reported
                with contextlib.suppress(StoreError):
                    versions[str(key[1]).split()[0]] = index.store.engine_version()
        return versions

    def known_vectors(self) -> list[ChunkVectors]:
        """The chunk vectors made so far, by model and chunker."""
        vectors = [one for one in self._shared.values_of("vectors") if isinstance(one, ChunkVectors)]
        return sorted(vectors, key=lambda one: (one.embedder, one.chunker))

    def other_vectors(self, system: System, part: PluginSpec, rows: np.ndarray) -> list[RequestVector]:
        """A model's vectors of some chunks, for warming up; for an existing collection, only these chunks are
        embedded."""
        if part is not system.embedder or system.store is None or system.store.existing is None:
            matrix = self.vectors(part.full, system.chunker).matrix
            if isinstance(matrix, EncodedRows):
                return [matrix.row(int(row)) for row in rows]
            return list(matrix[rows])
        texts = embedded_texts(self.chunking(system.chunker).chunks.take(rows))
        return list(self.models.embedder(part).embed(texts, Role.DOCUMENT))

    def query_vectors(self, embedder: PluginSpec, chunker: PluginSpec) -> QueryVectors:
        """The queries' full-length vectors with their times, also used for searches in a shorter form.

        An encoder with corpus statistics has them from this chunking.
        """
        embedder = embedder.full
        fitted = chunker.label if reads_corpus(embedder) else ""

        def make() -> QueryVectors:
            model = self.models.model(embedder, chunker)
            return embed_queries(embedder, model, self.texts, self.warm_up(), self._repeats, self._context)

        return self._shared.once(("queries", model_name(embedder), fitted), make)

    def embed_request(self, system: System, request: SearchRequest) -> SearchRequest:
        """Add the vectors that a system's searches need to a request."""

        def embed(part: PluginSpec | None) -> RequestVector | None:
            if part is None:
                return None
            vectors: Iterable[RequestVector] = self.models.model(part, system.chunker).embed(
                [request.text], Role.QUERY
            )
            return next(iter(vectors))

        return replace(request, vector=embed(system.embedder), second=embed(system.encoder))

    def build(
        self, store: PluginSpec, chunker: PluginSpec, embedder: PluginSpec | None, *, texts: bool = False
    ) -> BuildTimes | None:
        """Build an index over a chunking's vectors, its texts (without an embedder), or both.

        An in-memory index is built when it is opened.
        """

        def make() -> BuildTimes | None:
            require_filters(store, embedder, self._filtered, both=texts)
            if store.existing is not None:
                return None
            content = self.index_content(chunker, embedder, texts)
            if content.vectors is not None:
                require_unit_vectors(content.vectors, store.form, self.metric)
            return build_index(store.indexed, content, self.metric, self._context)

        return self._shared.once(index_key("build", store, chunker, embedder, texts), make)

    def index(
        self, store: PluginSpec, chunker: PluginSpec, embedder: PluginSpec | None, *, texts: bool = False
    ) -> OpenIndex:
        """Return that index, opened by the first thread that asks for it."""

        def make() -> OpenIndex:
            built = self.build(store, chunker, embedder, texts=texts)
            if store.existing is not None and embedder is not None:
                return self._collection(store, chunker, embedder)
            content = self.index_content(chunker, embedder, texts)
            return open_index(store.indexed, content, self.metric, self._context, built)

        return self._shared.once(index_key("index", store, chunker, embedder, texts), make)

    def _collection(self, store: PluginSpec, chunker: PluginSpec, embedder: PluginSpec) -> OpenIndex:
        """Open an existing collection for searching."""
        return open_collection(
            store,
            self.chunking(chunker),
            self.corpus.documents["id"].to_pylist(),
            self.models.embedder(embedder).info,
            self.metric,
            self._context,
        )

    def search_collection_exactly(
        self, system: System, requests: Sequence[SearchRequest], depth: int
    ) -> list[Hits] | str:
        """Exact search in the vectors of an existing collection, or the reason why it is impossible."""
        (index,) = (one for one in self.indexes(system) if isinstance(one.store, ReadOnlyStore))
        try:
            return cast("ReadOnlyStore", index.store).search_exactly(requests, depth, self.metric)
        except StoreError as exc:
            return str(exc)

    def has_given_vectors(self, system: System) -> bool:
        """Whether a system's chunks came with vectors of its model."""
        part = system.embedder
        return part is not None and vector_supplier(system.chunker, part.full) is not None

    def collection_notes(self) -> list[str]:
        """Notes on the existing collections that are open."""
        indexes = [one for one in self._shared.values_of("index") if isinstance(one, OpenIndex)]
        return sorted({one.note for one in indexes if one.note})

    def index_content(self, chunker: PluginSpec, embedder: PluginSpec | None, texts: bool) -> IndexContent:
        """Collect the content of an index."""
        vectors = self.vectors(embedder, chunker) if embedder else None
        payloads = self.payload(chunker) if self._filtered else None
        return IndexContent(self.chunking(chunker), vectors, texts, payloads)

    def indexes(self, system: System) -> list[OpenIndex]:
        """Return the open indexes of a system."""
        return [self.index(*parts, texts=texts) for parts, texts in index_parts(system)]

    def engines_of(self, system: System) -> list[object]:
        """The engine behind each search of a system: open stores, or its retriever."""
        if system.retriever is not None:
            return [self.retrievers.open(system.retriever)]
        stores = [index.store for index in self.indexes(system)]
        form = system.form
        if system.embedder is None or not (form.rescore or form.dims):
            return list(stores)
        full = self.vectors(system.embedder.full, system.chunker) if form.rescore else None
        return [FormedStore(stores[0], form, full, self.metric), *stores[1:]]

    def rerank_stages(self, system: System) -> list[RerankStage]:
        """The rerankers of a system, each with the passages or stored token vectors it reads."""
        return [self._rerank_stage(system, one) for one in system.rerank]

    def _rerank_stage(self, system: System, chosen: RerankSpec) -> RerankStage:
        reranker = self.models.reranker(chosen.part)
        encoder = passage_encoder(chosen.part) if system.retriever is None else None
        if encoder is None:
            return RerankStage(reranker.rerank, self.passages(system.chunker).__getitem__, chosen.depth)
        rows = cast(TokenRows, self.vectors(encoder, system.chunker).matrix)
        return RerankStage(cast(SupportsStoredTokens, reranker).rerank_tokens, rows.row, chosen.depth)

    def kept_bytes(self, system: System) -> int:
        """Bytes that a system keeps next to its indexes: full vectors for rescoring, passages' token vectors."""
        rescoring = [one.kept_bytes for one in self.engines_of(system) if isinstance(one, FormedStore)]
        passages = [self.vectors(part, system.chunker).matrix.nbytes for part in passage_encoders(system)]
        return sum((*rescoring, *passages))

    def prepare(self, system: System) -> None:
        """Make everything a system needs except its open indexes, which belong to the searching thread (F52)."""
        for parts, texts in reversed(index_parts(system)):
            self.build(*parts, texts=texts)

    def ingestion_timings(self, system: System) -> IngestionTimings:
        """What has been made for a system so far, with its times; makes nothing itself."""
        names = [model_name(part) for part in system.models]
        models: list[Key] = [("vectors", name, system.chunker.label) for name in names]
        cut = [part.full for part in system.models if part.form.dims is not None]
        vector_keys: list[Key] = [("vectors", model_name(part), system.chunker.label) for part in cut]
        opened = [index_key("index", *parts, texts) for parts, texts in index_parts(system)]
        builds = [index_key("build", *parts, texts) for parts, texts in index_parts(system)]
        encoders = [model_name(part) for part in passage_encoders(system)]
        passages: list[Key] = [("vectors", name, system.chunker.label) for name in encoders]
        keys: list[Key] = [("chunk", system.chunker.label), *models, *vector_keys, *passages, *opened]
        slots = [self._shared.slot(key) for key in keys]
        start: Key = ("start", model_name(system.embedder.full) if system.embedder else "")
        own = sum(slot.seconds for slot in (*slots, *map(self._shared.slot, builds)))
        corpus = self.corpus.read_for(system.chunker)
        read_seconds = corpus.seconds if self.corpus.readings else self._read_seconds
        return IngestionTimings(
            corpus=corpus,
            chunking=self._shared.find(keys[0], ChunkedCorpus),
            vectors=self._shared.find(models[0], ChunkVectors) if models else None,
            indexes=tuple(self._shared.find(key, OpenIndex) for key in opened),
            seconds=read_seconds + own if all(slot.made for slot in slots) else None,
            model_start=self._shared.find(start, float),
            encoded=tuple(self._shared.find(key, ChunkVectors) for key in (*models[1:], *passages)),
        )

    def ranking_depth(self, system: System) -> int:
        """Most chunks in a system's ranking of a query."""
        return min(system.depth or self.depth, self.depth)

    def close(self) -> None:
        """Close every open store and model, even if closing one of them fails."""
        with contextlib.ExitStack() as stack:
            for one in self._shared.values_of("index", "embedder", "encoder", "reranker", "retriever"):
                stack.callback((one.store if isinstance(one, OpenIndex) else cast(Reranker, one)).close)

    def warm_up(self) -> list[str]:
        """Texts that are not queries, the same for every system: pieces of the first documents."""
        texts = self.corpus.documents["text"][:WARM_UP_TEXTS].to_pylist()
        starts = range(0, WARM_UP_TEXTS * WARM_UP_CHARACTERS, WARM_UP_CHARACTERS)
        pieces = [text[at : at + WARM_UP_CHARACTERS].strip() for at in starts for text in texts]
        return [piece for piece in pieces if piece][:WARM_UP_TEXTS]

    def chunk_filters(self, system: System) -> list[Where]:
        """Each query's filter on our payload; unchanged if searches have payload fields of their own."""
        return [self.chunk_filter(system, where) for where in self.filters]

    def chunk_filter(self, system: System, where: Where) -> Where:
        """A filter on our payload, for a system whose index we built."""
        return self.payload(system.chunker).where(where) if where and system.builds_index else where
