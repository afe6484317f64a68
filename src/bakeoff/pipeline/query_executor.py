"""Runs and times each query on each system; systems with the same search share it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from bakeoff import registry
from bakeoff.config.modes import MODES
from bakeoff.config.plan import PluginSpec, System
from bakeoff.errors import BakeoffError
from bakeoff.pipeline.artifact_keys import model_name, store_identity
from bakeoff.pipeline.embed import QueryVectors
from bakeoff.pipeline.loops.latency_check import LatencyCheck, check_latency
from bakeoff.pipeline.once_map import Key, OnceMap
from bakeoff.pipeline.query_pipeline import (
    REFERENCES,
    WARM_UP_SEARCHES,
    QueryPipeline,
    RequestVector,
    Search,
    SearchRequest,
    StepResult,
    SystemAnswers,
    TimedStep,
    build_query_pipeline,
    time_fusion,
    time_rerank,
    time_search,
)
from bakeoff.pipeline.shared_artifacts import SharedArtifacts
from bakeoff.types import FULL_FORM

if TYPE_CHECKING:
    import numpy as np

_ALONE = {
    mode.legs[0]: PluginSpec("modes", mode.name, mode.name, mode.params())
    for mode in map(MODES.__getitem__, ("dense", "sparse", "late_interaction"))
}
"""The mode that makes one search and no other."""

WeightChooser = Callable[[tuple[StepResult, ...]], "np.ndarray"]
"""Chooses the dense share of each query's fusion from the search results."""
RunStep = Callable[[str, Callable[[], TimedStep]], StepResult]
"""Returns the result of a system's step by name; the second argument creates the step."""


class QueryExecutor:
    """Answers queries with the systems built from shared artifacts, one system at a time."""

    def __init__(self, artifacts: SharedArtifacts) -> None:
        self.artifacts = artifacts
        self._steps = OnceMap()

    def answers(self, system: System, rounds: int, weigh: WeightChooser | None = None) -> SystemAnswers:
        """Return a system's rankings of all queries with the times of `rounds` rounds, running the missing
        ones."""
        for part in system.models:
            self.artifacts.query_vectors(part, system.chunker)
        searches = tuple(step.results_after(rounds) for step in self._searches(system))
        name = json.dumps(system.identity())

        def run_step(step: str, make: Callable[[], TimedStep]) -> StepResult:
            return self._steps.once((step, name), make).results_after(rounds)

        return self._fuse_and_rerank(system, searches, run_step, weigh)

    def partial_answers(self, system: System, weigh: WeightChooser | None = None) -> SystemAnswers | None:
        """What a system answered before it failed: its first queries, or all in fewer rounds; None if
        nothing."""
        steps = [self._steps.find(key, TimedStep) for key in self._search_keys(system)]
        searches = [step.partial() for step in steps if step is not None]
        count = min((len(search.hits) for search in searches), default=0)
        if len(searches) < len(steps) or not count:
            return None
        name = json.dumps(system.identity())

        def run_step(step: str, make: Callable[[], TimedStep]) -> StepResult:
            done = self._steps.find((step, name), TimedStep)
            return done.partial() if done is not None else make().results_after(1)

        first = tuple(search.first(count) for search in searches)
        return self._fuse_and_rerank(system, first, run_step, weigh)

    def _fuse_and_rerank(
        self,
        system: System,
        searches: tuple[StepResult, ...],
        run_step: RunStep,
        weigh: WeightChooser | None,
    ) -> SystemAnswers:
        """Run the steps after the searches, for the queries that all searches answered."""
        pipeline, artifacts = self.pipeline(system), self.artifacts
        ranking, fused, reranks = searches[0], None, list[StepResult]()
        if pipeline.fuse is not None:
            fuse = pipeline.fuse
            fused = ranking = run_step("fuse", lambda: time_fusion(fuse, searches, _weights(searches, weigh)))
        for place, rerank in enumerate(pipeline.reranks):
            make = partial(time_rerank, rerank, artifacts.texts, artifacts.warm_up(), ranking)
            ranking = run_step(f"rerank {place}", make)
            reranks.append(ranking)
        count = len(ranking.hits)
        return SystemAnswers(
            ranking.truncate(pipeline.depth),
            self._query_vectors(system),
            tuple(search.first(count) for search in searches),
            fused.first(count) if fused is not None else None,
            tuple(one.first(count) for one in reranks),
        )

    def _query_vectors(self, system: System) -> QueryVectors | None:
        """The query vectors of a system's first model, with the times of all its models."""
        vectors = [self.artifacts.query_vectors(part, system.chunker) for part in system.models]
        if not vectors:
            return None
        first, *others = vectors
        return replace(first, milliseconds=sum((one.milliseconds for one in others), first.milliseconds))

    def pipeline(self, system: System, depth: int | None = None) -> QueryPipeline:
        """The steps of one query through a system; `depth` overrides the experiment's."""
        artifacts = self.artifacts
        reranks = artifacts.rerank_stages(system)
        return build_query_pipeline(system, artifacts.engines_of(system), reranks, depth or artifacts.depth)

    def reference(self, system: System) -> StepResult | None:
        """Exact search with a system's vectors: what its index would find if it missed nothing; None if unknown.

        Uses float32 vectors, full-length ones if candidates are rescored.
        """
        if system.store is None or system.store.existing is None:
            return self._own_reference(system)
        reference = self._collection_reference(system)
        return reference if isinstance(reference, StepResult) else None

    def unknown_reference(self, system: System) -> str:
        """Why the misses of a collection's index are unknown; '' if they are known."""
        if "dense" not in system.legs or system.store is None or system.store.existing is None:
            return ""
        reference = self._collection_reference(system)
        return reference if isinstance(reference, str) else ""

    def _own_reference(self, system: System) -> StepResult:
        store, leg = system.store, system.legs[0]
        assert store is not None
        if store.name != (name := REFERENCES[leg]):
            plugin = registry.load("stores", name)
            exact = PluginSpec("stores", name, name, plugin.Params())
            system = replace(system, store=exact, search=plugin.Query())
        elif store.form != FULL_FORM:
            system = replace(system, store=store.full)
        if store.form.rescore and system.embedder is not None:
            system = replace(system, embedder=system.embedder.full)
        alone = replace(system, mode=_ALONE[leg], keyword=None, keyword_search=None, encoder=None, rerank=())
        return self._searches(alone)[0].results_after(1)

    def _collection_reference(self, system: System) -> StepResult | str:
        """Exact search in the vectors a collection returns, else in those supplied with the chunks, else the
        reason why not."""
        import numpy as np

        artifacts, depth = self.artifacts, system.depth or self.artifacts.depth

        def make() -> StepResult | str:
            rankings = artifacts.search_collection_exactly(system, self.requests(system), depth)
            if not isinstance(rankings, str):
                return StepResult(tuple(rankings), np.full((1, len(rankings)), np.nan), "not timed")
            if not artifacts.has_given_vectors(system):
                return rankings
            try:
                return self._own_reference(system)
            except BakeoffError as exc:
                return str(exc)

        assert system.store is not None and system.embedder is not None
        parts = (store_identity(system.store), system.chunker.label, system.embedder.label, str(depth))
        return self._steps.once(("collection reference", *parts), make)

    def latency_check(self, system: System) -> LatencyCheck:
        """Send a few of a system's queries through the loop of `bakeoff load`; systems with the same searches
        share it."""

        def make() -> LatencyCheck:
            results = [step.results_after(1) for step in self._searches(system)]
            if untimed := next((one.untimed for one in results if one.untimed), ""):
                return LatencyCheck(0, note=untimed)
            searches = self.pipeline(replace(system, rerank=())).searches
            return check_latency(results, searches, self.requests(system), self.warm_up_requests(system))

        return self._steps.once(("latency check", *self._search_keys(system)), make)

    def _searches(self, system: System) -> list[TimedStep]:
        """The timed searches of a system, shared with systems that make the same ones."""
        searches = self.pipeline(replace(system, rerank=())).searches

        def make(search: Search) -> TimedStep:
            reader = self.artifacts.answer_reader(system)
            warm_up = [] if reader.untimed else self.warm_up_requests(system)
            return time_search(search, self.requests(system), warm_up, reader)

        keyed = zip(self._search_keys(system), searches, strict=True)
        return [self._steps.once(key, partial(make, search)) for key, search in keyed]

    def _search_keys(self, system: System) -> list[Key]:
        """Keys with everything that shapes each search of a system."""
        depth = system.depth or self.artifacts.depth
        keys: list[Key] = []
        parts = [
            (system.store or system.retriever, system.search, system.embedder),
            (system.keyword, system.keyword_search, system.encoder),
        ]
        searched = [one for one in parts if one[0] is not None]
        for kind, (store, arguments, embedder) in zip(system.legs, searched, strict=True):
            assert store is not None
            model = model_name(embedder) if embedder else ""
            parameters = arguments.model_dump_json() if arguments is not None else ""
            name = (store_identity(store), parameters, depth, store.form.rescore)
            keys.append(("search", kind, system.chunker.label, model, *name))
        return keys

    def requests(self, system: System) -> list[SearchRequest]:
        """The queries in the form a system's searches take."""
        texts, artifacts = self.artifacts.texts, self.artifacts
        vectors, second = (
            artifacts.query_vectors(part, system.chunker).matrix if part else [None] * len(texts)
            for part in (system.embedder, system.encoder)
        )
        parts = (texts, vectors, artifacts.chunk_filters(system), artifacts.ids, artifacts.filters, second)
        return [SearchRequest(*one) for one in zip(*parts, strict=True)]

    def warm_up_requests(self, system: System) -> list[SearchRequest]:
        """Requests that are not queries, repeated if the corpus is too small for enough different ones."""
        import numpy as np

        texts = self.artifacts.warm_up() or [""]
        rows: list[Sequence[RequestVector | None]] = []
        for part in (system.embedder, system.encoder):
            count = self.artifacts.chunking(system.chunker).chunks.num_rows if part else 0
            few = np.arange(min(count, WARM_UP_SEARCHES))
            rows.append(self.artifacts.other_vectors(system, part, few) if part else [None])
        first, second = rows
        return [
            SearchRequest(texts[i % len(texts)], first[i % len(first)], second=second[i % len(second)])
            for i in range(WARM_UP_SEARCHES)
        ]


def _weights(searches: tuple[StepResult, ...], weigh: WeightChooser | None) -> list[float | None]:
    """The dense share of each query's fusion; None to use the mode's own."""
    if weigh is None:
        return [None] * min(len(search.hits) for search in searches)
    weights: list[float | None] = weigh(searches).tolist()
    return weights
