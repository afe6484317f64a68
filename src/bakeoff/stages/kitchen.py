"""The queries of a run through its systems, one at a time and timed; systems that search alike share the search."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from bakeoff import registry
from bakeoff.modes import MODES
from bakeoff.plan import Part, System
from bakeoff.stages import retrieve
from bakeoff.stages.larder import Larder, which
from bakeoff.stages.latency_check import LatencyCheck, check_latency
from bakeoff.stages.once import Key
from bakeoff.stages.retrieve import Asked, Leg, Search, Step, searched
from bakeoff.stages.serving import Answers, Serving, Weigh, composed, serving

EXACT = "exact"


class Kitchen(Larder):
    """Answers the queries; preparing is safe from several threads, answering is for one system at a time."""

    def answers(self, system: System, rounds: int | None = None, weigh: Weigh | None = None) -> Answers:
        """A system's rankings for all queries, timed in as many rounds; call it for one system at a time."""
        many = self.repeats if rounds is None else rounds
        embedded = self.query_vectors(system.embedder) if system.embedder else None
        legs = tuple(step.upto(many) for step in self._legs(system))
        name = json.dumps(system.identity())

        def run(key: str, make: Callable[[], Step]) -> Leg:
            return self._shared.once((key, name), make).upto(many)

        return composed(self.serving(system), self._texts, self.warm_up(), legs, embedded, run, weigh)

    def latency_check(self, system: System) -> LatencyCheck:
        """A few of a system's queries in the loop of `load`, its searches only; systems that search alike share it."""

        def make() -> LatencyCheck:
            legs = [step.upto(1) for step in self._legs(system)]
            searches = self.serving(replace(system, rerank=())).legs
            return check_latency(legs, searches, self._asked(system), self._others(system))

        return self._shared.once(("latency check", *self._leg_keys(system)), make)

    def partial(self, system: System, weigh: Weigh | None = None) -> Answers | None:
        """What a system had answered when it failed: its first queries, or all in fewer rounds; None if nothing."""
        slots = [self._shared.slot(key) for key in self._leg_keys(system)]
        legs = [slot.value.partial() for slot in slots if slot.made]
        count = min((len(leg.hits) for leg in legs), default=0)
        if len(legs) < len(slots) or not count:
            return None
        name = json.dumps(system.identity())

        def run(key: str, make: Callable[[], Step]) -> Leg:
            slot = self._shared.slot((key, name))
            return slot.value.partial() if slot.made else make().upto(1)

        embedded = self.query_vectors(system.embedder) if system.embedder else None
        first = tuple(leg.first(count) for leg in legs)
        return composed(self.serving(system), self._texts, self.warm_up(), first, embedded, run, weigh)

    def serving(self, system: System, depth: int | None = None) -> Serving:
        """How one query goes through a system; `depth` instead of the experiment's."""
        stores = [index.store for index in self.indexes(system)]
        looks = [(self.reranker(one.part), one.depth) for one in system.rerank]
        passages = self.passages(system.chunker) if looks else []
        return serving(system, stores, looks, passages, depth or self._depth)

    def reference(self, system: System) -> Leg:
        """Exact search with a system's vectors: what its index would find if it missed nothing."""
        store = system.store
        assert store is not None
        if store.name != EXACT:
            plugin = registry.load("stores", EXACT)
            exact = Part("stores", EXACT, EXACT, plugin.Params())
            system = replace(system, store=exact, search=plugin.Query())
        alone = replace(system, mode=_DENSE, keyword=None, keyword_search=None, rerank=())
        return self._legs(alone)[0].upto(1)

    def _legs(self, system: System) -> list[Step]:
        """The searches of a system; systems that search alike share them."""
        found = self.serving(replace(system, rerank=())).legs
        return [self._leg(system, *one) for one in zip(self._leg_keys(system), found, strict=True)]

    def _leg(self, system: System, key: Key, search: Search) -> Step:
        return self._shared.once(key, lambda: searched(search, self._asked(system), self._others(system)))

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
            keys.append(("leg", leg, system.chunker.label, model, which(store), arguments, depth))
        return keys

    def _asked(self, system: System) -> list[Asked]:
        vectors = self.query_vectors(system.embedder).matrix if system.embedder else [None] * len(self._texts)
        wheres = self.wheres(system.chunker)
        return [Asked(*one) for one in zip(self._texts, vectors, wheres, strict=True)]

    def _others(self, system: System) -> list[Asked]:
        """As many as are said to warm up, however small the corpus."""
        texts = self.warm_up() or [""]
        rows = self.vectors(system.embedder, system.chunker).matrix if system.embedder else [None]
        return [Asked(texts[i % len(texts)], rows[i % len(rows)]) for i in range(retrieve.WARM_UP)]


_DENSE = Part("modes", "dense", "dense", MODES["dense"].params())
