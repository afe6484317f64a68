"""How one query goes through a system: its searches, their fusion, and each closer look; and that for all queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from bakeoff.config.modes import MODES, Hybrid
from bakeoff.config.plan import System
from bakeoff.pipeline import retrieve
from bakeoff.pipeline.embed import QueryVectors
from bakeoff.pipeline.fuse import fuse_rankings
from bakeoff.pipeline.rerank import rerank_rows
from bakeoff.pipeline.retrieve import Search, SearchRequest, StepResult, TimedStep
from bakeoff.types import Hits

if TYPE_CHECKING:
    import numpy as np

Fuse = Callable[[Hits, Hits, float | None], Hits]
RerankStep = Callable[[str, Hits], Hits]
WeightChooser = Callable[[tuple[StepResult, ...]], "np.ndarray"]
"""The dense share of each query from what the searches found: how a tuned weight is chosen."""

WARM_UP = 3
"""Closer looks with other texts before each round, not timed: the first one pays for what a model puts off (F32)."""


@dataclass(frozen=True, slots=True)
class QueryPipeline:
    """A system as functions of one query; `depth` is how much of a ranking is kept in the end."""

    legs: tuple[Search, ...]
    fuse: Fuse | None
    looks: tuple[RerankStep, ...]
    depth: int

    def answer(self, asked: SearchRequest, weight: float | None = None) -> Hits:
        """The ranking of one query, all steps in one call."""
        found = [search(asked) for search in self.legs]
        hits = self.fuse(found[0], found[1], weight) if self.fuse else found[0]
        for look in self.looks:
            hits = look(asked.text, hits)
        return Hits(hits.ids[: self.depth], hits.scores[: self.depth])


@dataclass(frozen=True, slots=True)
class SystemAnswers:
    """A system's rankings and what each of their steps cost; a step that did not happen is None or not there."""

    ranking: StepResult
    embed: QueryVectors | None
    legs: tuple[StepResult, ...]
    fuse: StepResult | None
    looks: tuple[StepResult, ...] = ()

    @property
    def count(self) -> int:
        """How many queries were answered."""
        return len(self.ranking.hits)


def build_query_pipeline(
    system: System,
    stores: Sequence[Any],
    looks: Sequence[tuple[Any, int]],
    passages: Sequence[str],
    depth: int,
) -> QueryPipeline:
    """The functions of a system over its open stores and rerankers."""
    k = system.depth or depth
    kinds = MODES[system.mode.name].legs
    queries = {"dense": system.search, "native": system.search, "keywords": system.keyword_search}
    makers = {
        "dense": retrieve.search_dense,
        "native": retrieve.search_native_hybrid,
        "keywords": retrieve.search_keywords,
    }
    legs = tuple(makers[kind](store, k, queries[kind]) for kind, store in zip(kinds, stores, strict=True))
    params = system.mode.params
    return QueryPipeline(
        legs,
        _fuse(params, k) if isinstance(params, Hybrid) else None,
        tuple(_look(reranker, passages, many) for reranker, many in looks),
        depth,
    )


def assemble_answers(
    way: QueryPipeline,
    texts: Sequence[str],
    others: Sequence[str],
    legs: tuple[StepResult, ...],
    embedded: QueryVectors | None,
    run: Callable[[str, Callable[[], TimedStep]], StepResult],
    weigh: WeightChooser | None,
) -> SystemAnswers:
    """What follows the searches, for as many queries as they answered; `run` makes a step and times it.

    `others` are texts that are no queries, for the warm-up of a closer look.
    """
    count = min(len(leg.hits) for leg in legs)
    ranking, joined, looks = legs[0], None, list[StepResult]()
    if way.fuse is not None:
        joined = ranking = run("fuse", partial(_fusing, way.fuse, legs, weigh, count))
    for place, look in enumerate(way.looks):
        ranking = run(f"look {place}", partial(_looking, look, texts, others, ranking))
        looks.append(ranking)
    done = len(ranking.hits)
    return SystemAnswers(
        ranking.cut(way.depth),
        embedded,
        tuple(leg.first(done) for leg in legs),
        joined.first(done) if joined is not None else None,
        tuple(one.first(done) for one in looks),
    )


def _fuse(params: Hybrid, k: int) -> Fuse:
    return lambda dense, words, weight: fuse_rankings(dense, words, params, k, weight)


def _look(reranker: Any, passages: Sequence[str], depth: int) -> RerankStep:
    return lambda text, hits: rerank_rows(reranker, text, hits, passages, depth)


def _fusing(fuse: Fuse, legs: tuple[StepResult, ...], weigh: WeightChooser | None, count: int) -> TimedStep:
    dense, words = legs
    weights = weigh(legs).tolist() if weigh is not None else [None] * count
    return TimedStep(lambda i: fuse(dense.hits[i], words.hits[i], weights[i]), count)


def _looking(look: RerankStep, texts: Sequence[str], others: Sequence[str], before: StepResult) -> TimedStep:
    def warm_up() -> None:
        for text, hits in zip(others[:WARM_UP], before.hits, strict=False):
            look(text, hits)

    return TimedStep(lambda i: look(texts[i], before.hits[i]), len(before.hits), warm_up)
