"""Artifacts that another process ingested, shared with one configuration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

import numpy as np

from bakeoff.benchmark.configurations.jobs import SystemJob
from bakeoff.config.plan import Plan, PluginSpec, System
from bakeoff.errors import StoreError
from bakeoff.fingerprint import fingerprint
from bakeoff.pipeline import vector_file
from bakeoff.pipeline.blank_leaks import blank_leaked_sentences
from bakeoff.pipeline.chunk import ChunkedCorpus
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.embed import ChunkVectors, QueryVectors
from bakeoff.pipeline.index import IndexContent, OpenIndex, index_name
from bakeoff.pipeline.read import ReadCorpus
from bakeoff.pipeline.shared_artifacts import SharedArtifacts
from bakeoff.protocols import Store
from bakeoff.storage.cache import Cache
from bakeoff.truth.queries import QuerySet

A = TypeVar("A", bound=SharedArtifacts)


class IngestedArtifacts(SharedArtifacts):
    """Indexes and searches artifacts of another process; no model is loaded, so memory is the engine's."""

    def use(self, job: SystemJob) -> None:
        """Use chunks and vectors from there, under this trial's names."""
        self._job, self._ingested = job, StageContext(Cache(job.ingestion.home))

    def chunking(self, part: PluginSpec) -> ChunkedCorpus:
        """The chunks under this trial's name, which a server's collection shares."""

        def make() -> ChunkedCorpus:
            plain = SharedArtifacts(self.corpus, (), self._ingested, metric=self.metric, depth=1, repeats=1)
            chunking = plain.chunking(part)
            return replace(chunking, fingerprint=fingerprint(self._job.salt, chunking.fingerprint))

        return self._shared.once(("trial chunks", part.label), make)

    def vectors(self, embedder: PluginSpec, chunker: PluginSpec) -> ChunkVectors:
        """The vectors of this run."""
        name = self._job.ingestion.vectors
        folder = self._ingested.cache.get("vectors", name)
        if folder is None:
            raise StoreError(f"the vectors of {embedder.label} for this run are gone. Run the command again.")
        salted = fingerprint(self._job.salt, name)
        return ChunkVectors(
            matrix=vector_file.read_vectors(folder).matrix,
            fingerprint=salted,
            seconds=0.0,
            fresh=0,
            reused=0,
            embedder=embedder.label,
            chunker=chunker.label,
        )

    def query_vectors(self, embedder: PluginSpec, chunker: PluginSpec) -> QueryVectors:  # noqa: ARG002
        """The query vectors of this run."""
        file = self._job.ingestion.queries
        assert file is not None
        return QueryVectors(np.load(file), np.empty((0, 0)), embedder.label)

    def collections(self, system: System) -> Iterator[tuple[Store, str]]:
        """Each open store of a system with its collection's name."""
        for part, index in zip((system.store, system.keyword), self._by_part(system), strict=True):
            if part is not None and index is not None:
                embedder = system.embedder if part is system.store else None
                native = part is system.store and "native" in system.legs
                content: IndexContent = self.index_content(system.chunker, embedder, native)
                yield index.store, index_name(part, content, self.metric)

    def _by_part(self, system: System) -> tuple[OpenIndex | None, OpenIndex | None]:
        indexes = iter(self.indexes(system))
        return (next(indexes) if system.store else None, next(indexes) if system.keyword else None)


def make_artifacts(
    kind: type[A], plan: Plan, queries: QuerySet, corpus: ReadCorpus, context: StageContext
) -> A:
    """The shared artifacts of a plan, deep enough for all its depths."""
    settings = plan.settings
    return kind(
        blank_leaked_sentences(corpus, queries),
        queries.queries,
        context,
        metric=settings.metric,
        depth=max(settings.depth, *settings.top_k),
        repeats=1,
        filters=queries.filters,
    )
