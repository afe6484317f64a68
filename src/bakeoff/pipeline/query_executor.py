"""The queries of a run through its systems, one at a time and timed; systems that search alike share the search."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from bakeoff import registry
from bakeoff.config.modes import MODES
from bakeoff.config.plan import PluginSpec, System
from bakeoff.pipeline import retrieve
from bakeoff.pipeline.loops.latency_check import LatencyCheck, check_latency
from bakeoff.pipeline.once_map import Key
from bakeoff.pipeline.query_pipeline import (
    QueryPipeline,
    SystemAnswers,
    WeightChooser,
    assemble_answers,
    build_query_pipeline,
)
from bakeoff.pipeline.retrieve import Search, SearchRequest, StepResult, TimedStep, timed_search
from bakeoff.pipeline.shared_artifacts import SharedArtifacts, store_identity

EXACT = "exact"


class QueryExecutor(SharedArtifacts):
    """Answers the queries; preparing is safe from several threads, answering is for one system at a time."""

    def answers(
        self, system: System, rounds: int | None = None, weigh: WeightChooser | None = None
    ) -> SystemAnswers:
        """A system's rankings for all queries, timed in as many rounds; call it for one system at a time."""
        many = self.repeats if rounds is None else rounds
        embedded = self.query_vectors(system.embedder) if system.embedder else None
        legs = tuple(step.upto(many) for step in self._legs(system))
        name = json.dumps(system.identity())

        def run(key: str, make: Callable[[], TimedStep]) -> StepResult:
            return self._shared.once((key, name), make).upto(many)

        return assemble_answers(self.serving(system), self._texts, self.warm_up(), legs, embedded, run, weigh)

    def latency_check(self, system: System) -> LatencyCheck:
        """A few of a system's queries in the loop of `load`, its searches only; systems that search alike share it."""

        def make() -> LatencyCheck:
            legs = [step.upto(1) for step in self._legs(system)]
            searches = self.serving(replace(system, rerank=())).legs
            return check_latency(legs, searches, self._asked(system), self._others(system))

        return self._shared.once(("latency check", *self._leg_keys(system)), make)

    def partial(self, system: System, weigh: WeightChooser | None = None) -> SystemAnswers | None:
        """What a system had answered when it failed: its first queries, or all in fewer rounds; None if nothing."""
        slots = [self._shared.slot(key) for key in self._leg_keys(system)]
        legs = [slot.value.partial() for slot in slots if slot.made]
        count = min((len(leg.hits) for leg in legs), default=0)
        if len(legs) < len(slots) or not count:
            return None
        name = json.dumps(system.identity())

        def run(key: str, make: Callable[[], TimedStep]) -> StepResult:
            slot = self._shared.slot((key, name))
            return slot.value.partial() if slot.made else make().upto(1)

        embedded = self.query_vectors(system.embedder) if system.embedder else None
        first = tuple(leg.first(count) for leg in legs)
        return assemble_answers(
            self.serving(system), self._texts, self.warm_up(), first, embedded, run, weigh
        )

    def serving(self, system: System, depth: int | None = None) -> QueryPipeline:
        """How one query goes through a system; `depth` instead of the experiment's."""
        stores = [index.store for index in self.indexes(system)]
        looks = [(self.reranker(one.part), one.depth) for one in system.rerank]
        passages = self.passages(system.chunker) if looks else []
        return build_query_pipeline(system, stores, looks, passages, depth or self._depth)

    def reference(self, system: System) -> StepResult:
        """Exact search with a system's vectors: what its index would find if it missed nothing."""
        store = system.store
        assert store is not None
        if store.name != EXACT:
            plugin = registry.load("stores", EXACT)
            exact = PluginSpec("stores", EXACT, EXACT, plugin.Params())
            system = replace(system, store=exact, search=plugin.Query())
        alone = replace(system, mode=_DENSE, keyword=None, keyword_search=None, rerank=())
        return self._legs(alone)[0].upto(1)

    def _legs(self, system: System) -> list[TimedStep]:
        """The searches of a system; systems that search alike share them."""
        found = self.serving(replace(system, rerank=())).legs
        return [self._leg(system, *one) for one in zip(self._leg_keys(system), found, strict=True)]

    def _leg(self, system: System, key: Key, search: Search) -> TimedStep:
        return self._shared.once(key, lambda: timed_search(search, self._asked(system), self._others(system)))

    def _leg_keys(self, system: System) -> list[Key]:
        depth = system.depth or self._depth
        keys: list[Key] = []
        for leg in MODES[system.mode.name].legs:
            store, query = system.store, system.search
            embedder = system.embedder
            if leg == "keywords":
                store, query, embedder = system.keyword, system.keyword_search, None
            assert store is not None
            model = embedder.label if embedder else ""
            arguments = query.model_dump_json() if query is not None else ""
            keys.append(("leg", leg, system.chunker.label, model, store_identity(store), arguments, depth))
        return keys

    def _asked(self, system: System) -> list[SearchRequest]:
        vectors = self.query_vectors(system.embedder).matrix if system.embedder else [None] * len(self._texts)
        wheres = self.wheres(system.chunker)
        return [SearchRequest(*one) for one in zip(self._texts, vectors, wheres, strict=True)]

    def _others(self, system: System) -> list[SearchRequest]:
        """As many as are said to warm up, however small the corpus."""
        texts = self.warm_up() or [""]
        rows = self.vectors(system.embedder, system.chunker).matrix if system.embedder else [None]
        return [SearchRequest(texts[i % len(texts)], rows[i % len(rows)]) for i in range(retrieve.WARM_UP)]


_DENSE = PluginSpec("modes", "dense", "dense", MODES["dense"].params())
