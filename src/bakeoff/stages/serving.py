"""How one query goes through a system: its searches, their fusion, and each closer look; and that for all queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from bakeoff.modes import MODES, Hybrid
from bakeoff.plan import System
from bakeoff.stages import retrieve
from bakeoff.stages.embed import QueryVectors
from bakeoff.stages.fuse import fused
from bakeoff.stages.rerank import reranked
from bakeoff.stages.retrieve import Asked, Leg, Search, Step
from bakeoff.types import Hits

if TYPE_CHECKING:
    import numpy as np

Fuse = Callable[[Hits, Hits, float | None], Hits]
Look = Callable[[str, Hits], Hits]
Weigh = Callable[[tuple[Leg, ...]], "np.ndarray"]
"""The dense share of each query from what the searches found: how a tuned weight is chosen."""

WARM_UP = 3
"""Closer looks with other texts before each round, not timed: the first one pays for what a model puts off (F32)."""


@dataclass(frozen=True, slots=True)
class Serving:
    """A system as functions of one query; `depth` is how much of a ranking is kept in the end."""

    legs: tuple[Search, ...]
    fuse: Fuse | None
    looks: tuple[Look, ...]
    depth: int

    def answer(self, asked: Asked, weight: float | None = None) -> Hits:
        """The ranking of one query, all steps in one call."""
        found = [search(asked) for search in self.legs]
        hits = self.fuse(found[0], found[1], weight) if self.fuse else found[0]
        for look in self.looks:
            hits = look(asked.text, hits)
        return Hits(hits.ids[: self.depth], hits.scores[: self.depth])


@dataclass(frozen=True, slots=True)
class Answers:
    """A system's rankings and what each of their steps cost; a step that did not happen is None or not there."""

    ranking: Leg
    embed: QueryVectors | None
    legs: tuple[Leg, ...]
    fuse: Leg | None
    looks: tuple[Leg, ...] = ()

    @property
    def count(self) -> int:
        """How many queries were answered."""
        return len(self.ranking.hits)


def serving(
    system: System,
    stores: Sequence[Any],
    looks: Sequence[tuple[Any, int]],
    passages: Sequence[str],
    depth: int,
) -> Serving:
    """The functions of a system over its open stores and rerankers."""
    k = system.depth or depth
    kinds = MODES[system.mode.name].legs
    queries = {"dense": system.search, "native": system.search, "keywords": system.keyword_search}
    makers = {"dense": retrieve.dense, "native": retrieve.native, "keywords": retrieve.keywords}
    legs = tuple(makers[kind](store, k, queries[kind]) for kind, store in zip(kinds, stores, strict=True))
    params = system.mode.params
    return Serving(
        legs,
        _fuse(params, k) if isinstance(params, Hybrid) else None,
        tuple(_look(reranker, passages, many) for reranker, many in looks),
        depth,
    )


def composed(
    way: Serving,
    texts: Sequence[str],
    others: Sequence[str],
    legs: tuple[Leg, ...],
    embedded: QueryVectors | None,
    run: Callable[[str, Callable[[], Step]], Leg],
    weigh: Weigh | None,
) -> Answers:
    """What follows the searches, for as many queries as they answered; `run` makes a step and times it.

    `others` are texts that are no queries, for the warm-up of a closer look.
    """
    count = min(len(leg.hits) for leg in legs)
    ranking, joined, looks = legs[0], None, list[Leg]()
    if way.fuse is not None:
        joined = ranking = run("fuse", partial(_fusing, way.fuse, legs, weigh, count))
    for place, look in enumerate(way.looks):
        ranking = run(f"look {place}", partial(_looking, look, texts, others, ranking))
        looks.append(ranking)
    done = len(ranking.hits)
    return Answers(
        ranking.cut(way.depth),
        embedded,
        tuple(leg.first(done) for leg in legs),
        joined.first(done) if joined is not None else None,
        tuple(one.first(done) for one in looks),
    )


def _fuse(params: Hybrid, k: int) -> Fuse:
    return lambda dense, words, weight: fused(dense, words, params, k, weight)


def _look(reranker: Any, passages: Sequence[str], depth: int) -> Look:
    return lambda text, hits: reranked(reranker, text, hits, passages, depth)


def _fusing(fuse: Fuse, legs: tuple[Leg, ...], weigh: Weigh | None, count: int) -> Step:
    dense, words = legs
    weights = weigh(legs).tolist() if weigh is not None else [None] * count
    return Step(lambda i: fuse(dense.hits[i], words.hits[i], weights[i]), count)


def _looking(look: Look, texts: Sequence[str], others: Sequence[str], before: Leg) -> Step:
    def warm_up() -> None:
        for text, hits in zip(others[:WARM_UP], before.hits, strict=False):
            look(text, hits)

    return Step(lambda i: look(texts[i], before.hits[i]), len(before.hits), warm_up)
