"""Runs and times each query on each system; systems with the same search share it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from bakeoff import registry
from bakeoff.config.modes import MODES
from bakeoff.config.plan import PluginSpec, System
from bakeoff.pipeline.loops.latency_check import LatencyCheck, check_latency
from bakeoff.pipeline.once_map import Key, OnceMap
from bakeoff.pipeline.query_pipeline import (
    WARM_UP_SEARCHES,
    QueryPipeline,
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
from bakeoff.pipeline.shared_artifacts import SharedArtifacts, store_identity

if TYPE_CHECKING:
    import numpy as np

EXACT = "exact"
_DENSE = PluginSpec("modes", "dense", "dense", MODES["dense"].params())

WeightChooser = Callable[[tuple[StepResult, ...]], "np.ndarray"]
"""Chooses the dense share of each query's fusion from the results of the searches."""
RunStep = Callable[[str, Callable[[], TimedStep]], StepResult]
"""Gives the result of a system's step by the step's name; the second argument makes the step."""


class QueryExecutor:
    """Answers the queries with the systems built from shared artifacts, one system at a time."""

    def __init__(self, artifacts: SharedArtifacts) -> None:
        self.artifacts = artifacts
        self._steps = OnceMap()

    def answers(self, system: System, rounds: int, weigh: WeightChooser | None = None) -> SystemAnswers:
        """A system's rankings of all queries with the times of this many rounds; missing rounds are run now."""
        if system.embedder is not None:
            self.artifacts.query_vectors(system.embedder)
        searches = tuple(step.results_after(rounds) for step in self._searches(system))
        name = json.dumps(system.identity())

        def run_step(step: str, make: Callable[[], TimedStep]) -> StepResult:
            return self._steps.once((step, name), make).results_after(rounds)

        return self._fuse_and_rerank(system, searches, run_step, weigh)

    def partial_answers(self, system: System, weigh: WeightChooser | None = None) -> SystemAnswers | None:
        """What a system had answered when it failed: its first queries, or all in fewer rounds; None if nothing."""
        slots = [self._steps.slot(key) for key in self._search_keys(system)]
        searches = [slot.value.partial() for slot in slots if slot.made]
        count = min((len(search.hits) for search in searches), default=0)
        if len(searches) < len(slots) or not count:
            return None
        name = json.dumps(system.identity())

        def run_step(step: str, make: Callable[[], TimedStep]) -> StepResult:
            slot = self._steps.slot((step, name))
            return slot.value.partial() if slot.made else make().results_after(1)

        first = tuple(search.first(count) for search in searches)
        return self._fuse_and_rerank(system, first, run_step, weigh)

    def _fuse_and_rerank(
        self,
        system: System,
        searches: tuple[StepResult, ...],
        run_step: RunStep,
        weigh: WeightChooser | None,
    ) -> SystemAnswers:
        """The steps after the searches, for the queries that all searches answered."""
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
            ranking.cut(pipeline.depth),
            artifacts.query_vectors(system.embedder) if system.embedder else None,
            tuple(search.first(count) for search in searches),
            fused.first(count) if fused is not None else None,
            tuple(one.first(count) for one in reranks),
        )

    def pipeline(self, system: System, depth: int | None = None) -> QueryPipeline:
        """The steps of one query through a system; `depth` replaces the experiment's."""
        artifacts = self.artifacts
        stores = [index.store for index in artifacts.indexes(system)]
        rerankers = [(artifacts.reranker(one.part), one.depth) for one in system.rerank]
        passages = artifacts.passages(system.chunker) if rerankers else []
        return build_query_pipeline(system, stores, rerankers, passages, depth or artifacts.depth)

    def reference(self, system: System) -> StepResult:
        """Exact search with a system's vectors: what its index would find if it missed nothing."""
        store = system.store
        assert store is not None
        if store.name != EXACT:
            plugin = registry.load("stores", EXACT)
            exact = PluginSpec("stores", EXACT, EXACT, plugin.Params())
            system = replace(system, store=exact, search=plugin.Query())
        alone = replace(system, mode=_DENSE, keyword=None, keyword_search=None, rerank=())
        return self._searches(alone)[0].results_after(1)

    def latency_check(self, system: System) -> LatencyCheck:
        """A few of a system's queries in the loop of `bakeoff load`; systems with the same searches share it."""

        def make() -> LatencyCheck:
            results = [step.results_after(1) for step in self._searches(system)]
            searches = self.pipeline(replace(system, rerank=())).searches
            return check_latency(results, searches, self.requests(system), self.warm_up_requests(system))

        return self._steps.once(("latency check", *self._search_keys(system)), make)

    def _searches(self, system: System) -> list[TimedStep]:
        """The timed searches of a system, shared with the systems that make the same ones."""
        searches = self.pipeline(replace(system, rerank=())).searches

        def make(search: Search) -> TimedStep:
            return time_search(search, self.requests(system), self.warm_up_requests(system))

        keyed = zip(self._search_keys(system), searches, strict=True)
        return [self._steps.once(key, partial(make, search)) for key, search in keyed]

    def _search_keys(self, system: System) -> list[Key]:
        """Everything that shapes each search of a system."""
        depth = system.depth or self.artifacts.depth
        keys: list[Key] = []
        for kind in MODES[system.mode.name].legs:
            store, arguments, embedder = system.store, system.search, system.embedder
            if kind == "keywords":
                store, arguments, embedder = system.keyword, system.keyword_search, None
            assert store is not None
            model = embedder.label if embedder else ""
            given = arguments.model_dump_json() if arguments is not None else ""
            keys.append(("search", kind, system.chunker.label, model, store_identity(store), given, depth))
        return keys

    def requests(self, system: System) -> list[SearchRequest]:
        """The queries as a system's searches take them."""
        texts, artifacts = self.artifacts.texts, self.artifacts
        vectors = artifacts.query_vectors(system.embedder).matrix if system.embedder else [None] * len(texts)
        filters = artifacts.chunk_filters(system.chunker)
        return [SearchRequest(*one) for one in zip(texts, vectors, filters, strict=True)]

    def warm_up_requests(self, system: System) -> list[SearchRequest]:
        """Requests that are not queries; repeated where the corpus is too small for enough different ones."""
        texts = self.artifacts.warm_up() or [""]
        embedder = system.embedder
        rows = self.artifacts.vectors(embedder, system.chunker).matrix if embedder else [None]
        return [SearchRequest(texts[i % len(texts)], rows[i % len(rows)]) for i in range(WARM_UP_SEARCHES)]


def _weights(searches: tuple[StepResult, ...], weigh: WeightChooser | None) -> list[float | None]:
    """The dense share of each query's fusion; None where the mode's own share is used."""
    if weigh is None:
        return [None] * min(len(search.hits) for search in searches)
    weights: list[float | None] = weigh(searches).tolist()
    return weights
