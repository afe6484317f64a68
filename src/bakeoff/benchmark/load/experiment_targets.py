"""The systems of an experiment as load targets: opened from the cache, queried with the experiment's queries."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np

from bakeoff.benchmark.resources.usage import Sampler, sum_or_none
from bakeoff.benchmark.targets import LoadTarget, OpenStats, Pids, QualityReference, TargetSpec
from bakeoff.config import experiment
from bakeoff.config.modes import WEIGHT, Hybrid
from bakeoff.config.plan import ModelFile, Plan, System
from bakeoff.errors import DataError, RetrieverError, StoreError
from bakeoff.pipeline.blank_leaks import blank_leaked_sentences
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.index import OpenIndex
from bakeoff.pipeline.loops.closed_loop import WARM_UP, Search
from bakeoff.pipeline.query_executor import QueryExecutor
from bakeoff.pipeline.query_pipeline import SearchRequest
from bakeoff.pipeline.reading.readings import read_corpus
from bakeoff.pipeline.shared_artifacts import SharedArtifacts
from bakeoff.protocols import SupportsVectors
from bakeoff.runs.analysis import Result
from bakeoff.runs.cost import CHARACTERS_A_TOKEN, TokenUse
from bakeoff.runs.live.plan_of_run import choose_systems
from bakeoff.storage.cache import Cache
from bakeoff.storage.shared_location import SharedFolder, ensure_marker
from bakeoff.truth.queries import read_queries
from bakeoff.types import Hits

WARM_UP_CHARACTERS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemRecipe(TargetSpec):
    """A system of an experiment that a client process opens from the same cache."""

    kind = "system"
    experiment: str
    home: str
    mark: str
    label: str
    k: int
    end_to_end: bool
    queries: int | None = None
    models: str = ""
    models_only: tuple[str, ...] = ()

    def open(self, home: Path) -> LoadTarget:  # noqa: ARG002 - what it needs is in the cache
        """The target in this process."""
        cache = ReadOnlyCache(SharedFolder(Path(self.home), self.mark))
        models = ModelFile(Path(self.models) if self.models else None, tuple(self.models_only))
        plan = experiment.load(Path(self.experiment), models)
        (system,) = choose_systems(plan, self.label)
        opened = ExperimentTargets(
            plan, Path(self.experiment), StageContext(cache), k=self.k, queries=self.queries
        )
        return replace(opened.target(system, self.end_to_end), close=opened.close)


class ExperimentTargets:
    """An experiment's shared artifacts, from which its systems are opened for a load."""

    def __init__(
        self,
        plan: Plan,
        path: Path,
        context: StageContext,
        *,
        k: int | None = None,
        result: Result | None = None,
        queries: int | None = None,
    ) -> None:
        self.plan, self._path, self._context, self.result = plan, path, context, result
        self._k, self._limit = k, queries
        asked = read_queries(plan.queries)
        self._texts = [query.text for query in asked.queries][:queries]
        corpus = read_corpus(plan, context)
        self._check_corpus(corpus.fingerprint)
        self.artifacts = SharedArtifacts(
            blank_leaked_sentences(corpus, asked),
            asked.queries,
            context,
            metric=plan.settings.metric,
            depth=plan.settings.depth,
            repeats=1,
            filters=asked.filters,
        )

    @property
    def count(self) -> int:
        """The number of queries."""
        return len(self._texts)

    @property
    def query_tokens(self) -> TokenUse:
        """The estimated mean number of tokens per query."""
        return TokenUse(sum(map(len, self._texts)) / max(self.count, 1) / CHARACTERS_A_TOKEN, estimated=True)

    def stored_row(self, label: str) -> dict[str, object] | None:
        """A system's row in the run that was named, if it was measured there."""
        if self.result is None or label not in self.result.done:
            return None
        return next(row for row in self.result.systems.to_pylist() if row["system"] == label)

    def target(self, system: System, end_to_end: bool = False, pids: Pids = lambda *_: ()) -> LoadTarget:
        """A system with its index, model and query vectors; with `end_to_end`, queries are embedded at search time."""
        begin = time.perf_counter()
        store, k = system.store or system.keyword, self._k or self.artifacts.ranking_depth(system)
        with Sampler(pids=pids(store.name, store.params) if store else ()) as sampler:
            indexes = self.artifacts.indexes(system)
            search, queries, others = self._search_and_queries(system, k, end_to_end)
        label = self.artifacts.with_stand_in_label(system).label
        chosen = self.plan.model_file
        builds = [_build_seconds(index) for index in indexes]
        sizes = [*(index.bytes for index in indexes), self.artifacts.kept_bytes(system)]
        return LoadTarget(
            label=label,
            store=store.name if store else "",
            search=search,
            queries=queries,
            others=others,
            k=k,
            opening=OpenStats(
                time.perf_counter() - begin,
                sum_or_none(builds) if builds else None,
                sum_or_none(sizes) if indexes else None,
                sampler.result,
            ),
            query=system.search,
            setting="end to end" if end_to_end else "",
            params=store.params if store else None,
            full=_is_plain_search(system) and self.artifacts.chunking(system.chunker).chunks.num_rows >= k,
            grade=self._grade(label),
            recipe=SystemRecipe(
                experiment=str(self._path.resolve()),
                home=str(self._context.cache.root.resolve()),
                mark=ensure_marker(self._context.cache.root).marker,
                label=system.label,
                k=k,
                end_to_end=end_to_end,
                queries=self._limit,
                models=str(chosen.path.resolve()) if chosen.path else "",
                models_only=chosen.only,
            ),
        )

    def close(self) -> None:
        """Close every store and model."""
        self.artifacts.close()

    def _check_corpus(self, name: str) -> None:
        if self.result is None or self.result.record.corpus is None:
            return
        if self.result.record.corpus.fingerprint != name:
            raise DataError(
                f"the corpus has changed since {self.result.path.name}, so its quality says nothing about this load. "
                "Run the experiment again, or give the experiment instead of the run."
            )

    def _search_and_queries(
        self, system: System, k: int, end_to_end: bool
    ) -> tuple[Search, Sequence[object], Sequence[object]]:
        """A system's search function, its queries in the matching form, and warm-up queries."""
        texts, ids = self._texts, self.artifacts.ids[: self._limit]
        wheres = self.artifacts.chunk_filters(system)[: self._limit]
        own, none = self.artifacts.filters[: self._limit], [None] * len(texts)
        if system.retriever is not None:
            requests = [SearchRequest(*one) for one in zip(texts, none, wheres, ids, own, strict=True)]
            others = [SearchRequest(text) for text in self.artifacts.warm_up()]
            return self._retriever_search(system, k), requests, others
        rows = self._other_rows(system)
        chunks = self.artifacts.chunking(system.chunker).chunks["text"]
        other_texts = [chunks[int(row)].as_py()[:WARM_UP_CHARACTERS] for row in rows]
        if system.embedder is None or end_to_end:
            requests = [SearchRequest(*one) for one in zip(texts, none, wheres, ids, own, strict=True)]
            return (
                self._pipeline_search(system, k, end_to_end),
                requests,
                [SearchRequest(text) for text in other_texts],
            )
        matrices = [self.artifacts.query_vectors(part, system.chunker).matrix for part in system.models]
        vectors, *second = (list(matrix[: self._limit]) for matrix in matrices)
        near, *near_second = (self.artifacts.other_vectors(system, part, rows) for part in system.models)
        if _is_plain_search(system) and not any(wheres):
            return cast("SupportsVectors", self.artifacts.engines_of(system)[0]).search, vectors, near
        parts = (texts, vectors, wheres, ids, own, *second)
        others = [
            SearchRequest(text, vector, second=more[0] if more else None)
            for text, vector, *more in zip(other_texts, near, *near_second, strict=True)
        ]
        return (
            self._pipeline_search(system, k, False),
            [SearchRequest(*one) for one in zip(*parts, strict=True)],
            others,
        )

    def _retriever_search(self, system: System, k: int) -> Search:
        """A retriever's own search with its request limit; rankings from a file cannot be searched."""
        reader = self.artifacts.answer_reader(system)
        if reader.untimed:
            raise RetrieverError(f"its load cannot be measured: {reader.untimed}.")
        answer, pause = self._answer(system, k), reader.pause
        if pause is None:
            return lambda asked, k, query: answer(asked)  # noqa: ARG005 - both are in the serving
        return lambda asked, k, query: (pause(), answer(asked))[1]  # noqa: ARG005

    def _answer(self, system: System, k: int) -> Callable[..., Hits]:
        """All steps of a system as one call; a retriever's answers are not inspected."""
        return cast("Callable[..., Hits]", QueryExecutor(self.artifacts).pipeline(system, k).answer)

    def _pipeline_search(self, system: System, k: int, end_to_end: bool) -> Search:
        """All steps of a system as one call, embedding the query first if end to end."""
        answer = self._answer(system, k)
        params = system.mode.params
        weight = (
            WEIGHT if isinstance(params, Hybrid) and params.tuned else None
        )  # the weight does not affect speed
        if system.embedder is None or not end_to_end:
            return lambda asked, k, query: answer(asked, weight)  # noqa: ARG005 - both are in the serving
        embed = partial(self.artifacts.embed_request, system)
        return lambda asked, k, query: answer(embed(asked), weight)  # noqa: ARG005 - both are in the serving

    def _other_rows(self, system: System) -> np.ndarray:
        """Warm-up texts: chunks, none of which is a query."""
        count = self.artifacts.chunking(system.chunker).chunks.num_rows
        seeded = np.random.default_rng(self.plan.settings.seed)
        return seeded.choice(count, min(WARM_UP, count), replace=False)

    def _grade(self, label: str) -> QualityReference | None:
        if self.result is None or label not in self.result.done:
            return None
        matrix = self.result.matrix(self.result.record.primary)
        row = matrix.values[matrix.systems.index(label)]
        scores = row[~np.isnan(row)]
        return QualityReference(self.result.record.primary, float(scores.mean()) if len(scores) else None)


def _is_plain_search(system: System) -> bool:
    """Whether a system is nothing but its store's search, so that it needs no wrapper."""
    return system.legs == ("dense",) and not system.rerank


def _build_seconds(index: OpenIndex) -> float | None:
    if index.measured or index.insert_seconds is None or index.index_seconds is None:
        return None  # an earlier run built it
    return index.insert_seconds + index.index_seconds


INDEX = "index"


class ReadOnlyCache(Cache):
    """A cache whose indexes belong to the driver."""

    def __init__(self, folder: SharedFolder) -> None:
        super().__init__(folder.root)
        if not folder.is_available():
            raise StoreError(
                f"{socket.gethostname()} does not see the driver's cache folder {folder.root}. Set BAKEOFF_HOME to a "
                "folder that every node sees under this path."
            )

    def make(self, stage: str, key: str, write: Callable[[Path], None]) -> Path:
        """Like any cache, but a missing index is an error: the client sees another experiment or corpus."""
        if stage == INDEX and self.get(stage, key) is None:
            raise StoreError(
                f"{socket.gethostname()} finds no index for this system: the experiment's file, queries and corpus "
                "must be the driver's own, under the same paths on every node."
            )
        return super().make(stage, key, write)

    def drop(self, stage: str, key: str) -> None:
        """Like any cache, but an index that does not open here is not treated as damaged."""
        if stage == INDEX:
            raise StoreError(
                f"{socket.gethostname()} cannot open the index that the driver has open: an embedded engine admits one "
                "process only, and a server must be reached from the client's machine at the address it is given. "
                "Leave --clients out, or use a store that is a server."
            )
        super().drop(stage, key)
