"""One query through a system: search, fuse, rerank; and the clock around each of these steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol, cast

from bakeoff.config.modes import MODES, Hybrid
from bakeoff.config.plan import RERANK_DEPTH, System
from bakeoff.errors import BakeoffError, RerankerError, StoreError
from bakeoff.pipeline.embed import QueryVectors
from bakeoff.pipeline.fuse import fuse_rankings
from bakeoff.protocols import (
    Reranker,
    Store,
    SupportsHybrid,
    SupportsKeywords,
    SupportsKeywordsWhere,
    SupportsPayload,
    SupportsVectors,
)
from bakeoff.types import Hits, Where

if TYPE_CHECKING:
    import numpy as np
    from pydantic import BaseModel

WARM_UP_SEARCHES = 10
"""Searches before each round that are not timed."""
WARM_UP_RERANKS = 3
"""Calls of a reranker before each round that are not timed: models load lazily at the first one (F32)."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One query as a search takes it."""

    text: str = ""
    vector: np.ndarray | None = None
    where: Where = ()


Search = Callable[[SearchRequest], Hits]
Fuse = Callable[[Hits, Hits, float | None], Hits]
Rerank = Callable[[str, Hits], Hits]


@dataclass(frozen=True, slots=True)
class QueryPipeline:
    """A system as functions of one query; `depth` is the length of the final ranking."""

    searches: tuple[Search, ...]
    fuse: Fuse | None
    reranks: tuple[Rerank, ...]
    depth: int

    def answer(self, request: SearchRequest, weight: float | None = None) -> Hits:
        """The ranking of one query, all steps in one call."""
        found = [search(request) for search in self.searches]
        hits = self.fuse(found[0], found[1], weight) if self.fuse else found[0]
        for rerank in self.reranks:
            hits = rerank(request.text, hits)
        return Hits(hits.ids[: self.depth], hits.scores[: self.depth])


def build_query_pipeline(
    system: System,
    stores: Sequence[Store],
    rerankers: Sequence[tuple[Reranker, int]],
    passages: Sequence[str],
    depth: int,
) -> QueryPipeline:
    """The steps of a system over its open stores and loaded rerankers, each reranker with its depth."""
    k, params = system.depth or depth, system.mode.params
    return QueryPipeline(
        tuple(
            build_search(kind, store, k, system.keyword_search if kind == "keywords" else system.search)
            for kind, store in zip(MODES[system.mode.name].legs, stores, strict=True)
        ),
        partial(_fuse, params, k) if isinstance(params, Hybrid) else None,
        tuple(partial(_rerank, reranker, passages, top) for reranker, top in rerankers),
        depth,
    )


class _SearchableStore(
    SupportsVectors, SupportsPayload, SupportsKeywords, SupportsKeywordsWhere, SupportsHybrid, Protocol
):
    """Every search that a mode may make; a store has the methods of the modes it serves."""


def build_search(kind: str, store: object, k: int, arguments: BaseModel | None) -> Search:
    """A search for the k best rows: `dense`, `keywords` or `native` (the store's own hybrid).

    The first and the last are for requests with a vector; nothing checks that while the clock runs.
    """
    engine = cast(_SearchableStore, store)

    def search_dense(request: SearchRequest) -> Hits:
        if request.where:
            return engine.search_where(request.vector, k, arguments, request.where)  # type: ignore[arg-type]
        return engine.search(request.vector, k, arguments)  # type: ignore[arg-type]

    def search_keywords(request: SearchRequest) -> Hits:
        if request.where:
            return engine.search_text_where(request.text, k, arguments, request.where)
        return engine.search_text(request.text, k, arguments)

    def search_native(request: SearchRequest) -> Hits:
        return engine.search_hybrid(request.text, request.vector, k, arguments)  # type: ignore[arg-type]

    return {"dense": search_dense, "keywords": search_keywords, "native": search_native}[kind]


def _fuse(params: Hybrid, k: int, dense: Hits, keywords: Hits, weight: float | None) -> Hits:
    return fuse_rankings(dense, keywords, params, k, weight)


def _rerank(reranker: Reranker, passages: Sequence[str], depth: int, query: str, hits: Hits) -> Hits:
    return rerank_rows(reranker, query, hits, passages, depth)


def rerank_rows(
    reranker: Reranker, query: str, hits: Hits, passages: Sequence[str], depth: int = RERANK_DEPTH
) -> Hits:
    """The first `depth` rows by the reranker's score, then the rest in their old order with lower scores."""
    import numpy as np

    head, tail = hits.ids[:depth], hits.ids[depth:]
    scores = np.asarray(reranker.rerank(query, [passages[i] for i in head.tolist()]), np.float64)
    if scores.shape != head.shape or not np.isfinite(scores).all():
        raise RerankerError(
            f"{len(head)} passages gave scores of shape {scores.shape}, or one that is not finite."
        )
    order = np.lexsort((head, -scores))
    floor = float(scores.min()) if len(scores) else 0.0
    below = floor - 1.0 - np.arange(len(tail), dtype=np.float64)
    return Hits(np.concatenate([head[order], tail]), np.concatenate([scores[order], below]))


@dataclass(frozen=True, slots=True)
class StepResult:
    """One step's rankings of all queries, and its milliseconds (rounds × queries)."""

    hits: tuple[Hits, ...]
    milliseconds: np.ndarray

    def first(self, count: int) -> StepResult:
        """The same for the first queries only."""
        if count >= len(self.hits):
            return self
        return StepResult(self.hits[:count], self.milliseconds[:, :count])

    def cut(self, depth: int) -> StepResult:
        """The same with at most `depth` rows per query."""
        if all(len(hits.ids) <= depth for hits in self.hits):
            return self
        shorter = tuple(Hits(hits.ids[:depth], hits.scores[:depth]) for hits in self.hits)
        return StepResult(shorter, self.milliseconds)


@dataclass(frozen=True, slots=True)
class SystemAnswers:
    """A system's rankings and what each step took; a step that the system does not have is None or missing."""

    ranking: StepResult
    embed: QueryVectors | None
    searches: tuple[StepResult, ...]
    fuse: StepResult | None
    reranks: tuple[StepResult, ...] = ()

    @property
    def count(self) -> int:
        """The number of answered queries."""
        return len(self.ranking.hits)


class TimedStep:
    """Calls one step of a system for every query, once per round, and times each call; a fault loses nothing."""

    def __init__(
        self, call: Callable[[int], Hits], count: int, warm_up: Callable[[], object] = lambda: None
    ) -> None:
        self._call, self._count, self._warm_up = call, count, warm_up
        self._answers: list[Hits] = []
        self._nanoseconds: list[list[int]] = []
        self._checked = 0
        self._error: BakeoffError | None = None
        self._result: StepResult | None = None

    def results_after(self, rounds: int) -> StepResult:
        """The answers of the first round with the times of all rounds so far; every caller gets the same error."""
        if self._error is not None:
            raise self._error
        try:
            while self._complete_rounds() < rounds:
                self._time_round()
                self._result = None
        except BakeoffError as exc:
            self._error = exc
            raise
        if self._result is None:
            self._result = self._collect(self._count, self._complete_rounds())
        return self._result

    def partial(self) -> StepResult:
        """What was answered before a fault: the first queries, or all of them in fewer rounds."""
        self._check_answers()
        return self._collect(len(self._answers), max(self._complete_rounds(), 1))

    def _complete_rounds(self) -> int:
        return sum(len(row) == self._count for row in self._nanoseconds)

    def _time_round(self) -> None:
        """One round over the queries; a round that was interrupted continues with its next query."""
        if not self._nanoseconds or len(self._nanoseconds[-1]) == self._count:
            self._nanoseconds.append([])
        self._warm_up()
        row, first = self._nanoseconds[-1], len(self._nanoseconds) == 1
        clock = time.perf_counter_ns
        for i in range(len(row), self._count):
            begin = clock()
            answer = self._call(i)
            row.append(clock() - begin)
            if first:
                self._answers.append(answer)
        self._check_answers()

    def _check_answers(self) -> None:
        for hits in self._answers[self._checked :]:
            check_hits(hits)
            self._checked += 1

    def _collect(self, count: int, rounds: int) -> StepResult:
        import numpy as np

        rows = [row[:count] for row in self._nanoseconds[:rounds]]
        times = np.array(rows, np.float64).reshape(len(rows), count)
        return StepResult(tuple(self._answers[:count]), times / 1e6)


def time_search(
    search: Search, requests: Sequence[SearchRequest], warm_up_requests: Sequence[SearchRequest]
) -> TimedStep:
    """A search for every query, after a warm-up with requests that are not queries."""

    def warm_up() -> None:
        for request in warm_up_requests[:WARM_UP_SEARCHES]:
            search(request)

    return TimedStep(lambda i: search(requests[i]), len(requests), warm_up)


def time_fusion(fuse: Fuse, searches: Sequence[StepResult], weights: Sequence[float | None]) -> TimedStep:
    """The fusion of two searches for every query that both answered."""
    dense, keywords = searches
    return TimedStep(lambda i: fuse(dense.hits[i], keywords.hits[i], weights[i]), len(weights))


def time_rerank(
    rerank: Rerank, texts: Sequence[str], warm_up_texts: Sequence[str], before: StepResult
) -> TimedStep:
    """A reranking of every query's ranking so far, after a warm-up with other texts."""

    def warm_up() -> None:
        for text, hits in zip(warm_up_texts[:WARM_UP_RERANKS], before.hits, strict=False):
            rerank(text, hits)

    return TimedStep(lambda i: rerank(texts[i], before.hits[i]), len(before.hits), warm_up)


def check_hits(hits: Hits) -> None:
    """Refuse an answer that has a row twice, a score that is not finite, or is not in the order of its scores."""
    import numpy as np

    if len(np.unique(hits.ids)) != len(hits.ids):
        raise StoreError("the store returned a row twice in one answer.")
    if not np.isfinite(hits.scores).all():
        raise StoreError("the store returned a score that is not finite.")
    if len(hits.scores) > 1 and bool((np.diff(hits.scores) > 1e-6).any()):
        raise StoreError("the store's answer is not in the order of its scores.")
