"""Runs one query through a system (search, fuse, rerank) and times each step."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast, runtime_checkable

from bakeoff.config.modes import Hybrid
from bakeoff.config.plan import System
from bakeoff.errors import BakeoffError, RerankerError, StoreError
from bakeoff.pipeline.embed import QueryVectors
from bakeoff.pipeline.fuse import fuse_rankings
from bakeoff.protocols import CompleteStore, Retriever, SupportsQueryIds
from bakeoff.types import Answer, Hits, SparseVector, Where

if TYPE_CHECKING:
    import numpy as np
    from pydantic import BaseModel


@runtime_checkable
class SupportsOwnFilters(Protocol):
    """A collection with its own payload fields, searched with the filters as written in the queries."""

    def search_own_fields(self, vector: np.ndarray, k: int, query: BaseModel, where: Where) -> Hits:
        """Return the k nearest rows within a filter."""
        ...


EXACT = "exact"
"""The store that compares every row."""
REFERENCES = {"dense": EXACT, "tokens": EXACT, "sparse": "postings"}
"""The exhaustive store for each kind of search."""
WARM_UP_SEARCHES = 10
"""Untimed searches before each round."""
WARM_UP_RERANKS = 3
"""Untimed reranker calls before each round: models load lazily at the first one (F32)."""


RequestVector: TypeAlias = "np.ndarray | SparseVector"
"""A query vector: one vector, tokens × dims, or term weights."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One query in the form a search takes: its filter on our payloads, and the filter as written.

    `second` is the vector for the second search of a two-model fusion.
    """

    text: str = ""
    vector: RequestVector | None = None
    where: Where = ()
    id: str = ""
    filter_as_written: Where = ()
    second: RequestVector | None = None


Search = Callable[[SearchRequest], Answer]
Fuse = Callable[[Hits, Hits, float | None], Hits]
Rerank = Callable[[str, Hits], Hits]
ScorePassages = Callable[[str, list[Any]], "np.ndarray"]
"""Scores passages for a query: texts, or token vectors."""


@dataclass(frozen=True, slots=True)
class RerankStage:
    """A loaded reranker: `passage` returns a row in the form that `score` reads."""

    score: ScorePassages
    passage: Callable[[int], Any]
    depth: int


@dataclass(frozen=True, slots=True)
class QueryPipeline:
    """A system as functions of one query; `depth` is the length of the final ranking."""

    searches: tuple[Search, ...]
    fuse: Fuse | None
    reranks: tuple[Rerank, ...]
    depth: int

    def answer(self, request: SearchRequest, weight: float | None = None) -> Answer:
        """Answer one query, running all steps."""
        results = [search(request) for search in self.searches]
        dense, *others = cast(list[Hits], results)
        hits: Answer = self.fuse(dense, others[0], weight) if self.fuse else dense
        if not isinstance(hits, Hits):
            return hits
        for rerank in self.reranks:
            hits = rerank(request.text, hits)
        return Hits(hits.ids[: self.depth], hits.scores[: self.depth])


def build_query_pipeline(
    system: System,
    engines: Sequence[object],
    reranks: Sequence[RerankStage],
    depth: int,
) -> QueryPipeline:
    """Build a system's steps from its search engines and loaded rerankers."""
    k, params = system.depth or depth, system.mode.params
    return QueryPipeline(
        tuple(
            build_search(kind, engine, k, settings)
            for kind, engine, settings in zip(system.legs, engines, leg_settings(system), strict=True)
        ),
        partial(_fuse, params, k) if isinstance(params, Hybrid) else None,
        tuple(partial(rerank_rows, one) for one in reranks),
        depth,
    )


def build_search(kind: str, store: object, k: int, arguments: BaseModel | None) -> Search:
    """Build a search for the k best rows: `dense`, `sparse`, `tokens`, `keywords`, `native` (the store's own
    hybrid) or `retriever`. All but keywords and retriever need requests with a vector; nothing checks that
    while the clock runs."""
    if kind == "retriever":
        return _build_retriever_search(store, k)
    engine, settings = cast(CompleteStore, store), cast("BaseModel", arguments)
    if isinstance(store, SupportsOwnFilters):
        return _build_existing_search(store, k, settings)

    def search_dense(request: SearchRequest) -> Hits:
        if request.where:
            return engine.search_where(request.vector, k, settings, request.where)  # type: ignore[arg-type]
        return engine.search(request.vector, k, settings)  # type: ignore[arg-type]

    def search_keywords(request: SearchRequest) -> Hits:
        if request.where:
            return engine.search_text_where(request.text, k, settings, request.where)
        return engine.search_text(request.text, k, settings)

    def search_native(request: SearchRequest) -> Hits:
        return engine.search_hybrid(request.text, request.vector, k, settings)  # type: ignore[arg-type]

    def search_sparse(request: SearchRequest) -> Hits:
        vector = request.vector if request.second is None else request.second
        return engine.search_sparse(vector, k, settings, request.where)  # type: ignore[arg-type]

    def search_tokens(request: SearchRequest) -> Hits:
        return engine.search_tokens(request.vector, k, settings, request.where)  # type: ignore[arg-type]

    return {
        "dense": search_dense,
        "sparse": search_sparse,
        "tokens": search_tokens,
        "keywords": search_keywords,
        "native": search_native,
    }[kind]


def leg_settings(system: System) -> list[BaseModel | None]:
    """The query arguments of each search of a system."""
    stores = ((system.store, system.search), (system.keyword, system.keyword_search))
    return [settings for store, settings in stores if store is not None] or [None]


def _build_existing_search(store: SupportsOwnFilters, k: int, settings: BaseModel) -> Search:
    """The search of an existing collection, which has its own payload fields."""
    search = store.search_own_fields
    return lambda request: search(request.vector, k, settings, request.filter_as_written)  # type: ignore[arg-type]


def _build_retriever_search(retriever: object, k: int) -> Search:
    """The search of a retriever, which receives the query's text or its id."""
    if isinstance(retriever, SupportsQueryIds):
        by_id = retriever.search_id
        return lambda request: by_id(request.id, k)
    search = cast(Retriever, retriever).search
    return lambda request: search(request.text, k, request.where)


def _fuse(params: Hybrid, k: int, dense: Hits, keywords: Hits, weight: float | None) -> Hits:
    return fuse_rankings(dense, keywords, params, k, weight)


def rerank_rows(stage: RerankStage, query: str, hits: Hits) -> Hits:
    """Sort the first rows, up to the stage's depth, by the reranker's score; the rest follow in their old
    order with lower scores."""
    import numpy as np

    head, tail = hits.ids[: stage.depth], hits.ids[stage.depth :]
    passages = [stage.passage(row) for row in head.tolist()]
    scores = np.asarray(stage.score(query, passages), np.float64)
    if scores.shape != head.shape or not np.isfinite(scores).all():
        raise RerankerError(
            f"{len(head)} passages got scores of shape {scores.shape}, or a score that is not finite."
        )
    order = np.lexsort((head, -scores))
    floor = float(scores.min()) if len(scores) else 0.0
    below = floor - 1.0 - np.arange(len(tail), dtype=np.float64)
    return Hits(np.concatenate([head[order], tail]), np.concatenate([scores[order], below]))


@dataclass(frozen=True, slots=True)
class StepResult:
    """One step's rankings of all queries, and its milliseconds (rounds × queries), NaN if `untimed`."""

    hits: tuple[Hits, ...]
    milliseconds: np.ndarray
    untimed: str = ""

    def first(self, count: int) -> StepResult:
        """Keep the first queries only."""
        if count >= len(self.hits):
            return self
        return StepResult(self.hits[:count], self.milliseconds[:, :count], self.untimed)

    def truncate(self, depth: int) -> StepResult:
        """Keep at most `depth` rows per query."""
        if all(len(hits.ids) <= depth for hits in self.hits):
            return self
        shorter = tuple(Hits(hits.ids[:depth], hits.scores[:depth]) for hits in self.hits)
        return StepResult(shorter, self.milliseconds, self.untimed)


@dataclass(frozen=True, slots=True)
class SystemAnswers:
    """A system's rankings and the times of each step; None or missing for steps the system lacks."""

    ranking: StepResult
    embed: QueryVectors | None
    searches: tuple[StepResult, ...]
    fuse: StepResult | None
    reranks: tuple[StepResult, ...] = ()

    @property
    def count(self) -> int:
        """The number of answered queries."""
        return len(self.ranking.hits)


def _check_answer(answer: Answer) -> Hits:
    """Return a store's answer if it is a valid ranking."""
    assert isinstance(answer, Hits)
    check_hits(answer)
    return answer


@dataclass(frozen=True, slots=True)
class AnswerReader:
    """Handles answers outside the timed section: a pause before a search, and ranking its rows afterwards.

    `try_out` reads a warm-up answer, so that a wrong format is noticed before the first query. `untimed` is
    the reason why the times are meaningless.
    """

    rank: Callable[[Answer], Hits] = _check_answer
    try_out: Callable[[Answer], object] = lambda _answer: None
    pause: Callable[[], object] | None = None
    untimed: str = ""


RANKED = AnswerReader()
"""Reads answers that are already rankings."""


class TimedStep:
    """Runs one step of a system for every query, once per round, and times each call; a fault keeps finished
    work."""

    def __init__(
        self,
        call: Callable[[int], Answer],
        count: int,
        warm_up: Callable[[], object] = lambda: None,
        reader: AnswerReader = RANKED,
    ) -> None:
        self._call, self._count, self._warm_up, self._reader = call, count, warm_up, reader
        self._served: list[Answer] = []
        self._answers: list[Hits] = []
        self._nanoseconds: list[list[int]] = []
        self._malformed: BakeoffError | None = None
        self._error: BakeoffError | None = None
        self._result: StepResult | None = None

    def results_after(self, rounds: int) -> StepResult:
        """Return the first round's answers with the times of all rounds so far; every caller gets the same
        error."""
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
        self._rank_answers()
        return self._collect(len(self._answers), max(self._complete_rounds(), 1))

    def _complete_rounds(self) -> int:
        return sum(len(row) == self._count for row in self._nanoseconds)

    def _time_round(self) -> None:
        """Run one round over the queries; an interrupted round continues with its next query."""
        if not self._nanoseconds or len(self._nanoseconds[-1]) == self._count:
            self._nanoseconds.append([])
        self._warm_up()
        row, first = self._nanoseconds[-1], len(self._nanoseconds) == 1
        clock, pause = time.perf_counter_ns, self._reader.pause
        for i in range(len(row), self._count):
            if pause is not None:
                pause()
            begin = clock()
            answer = self._call(i)
            row.append(clock() - begin)
            if first:
                self._served.append(answer)
        self._rank_answers()

    def _rank_answers(self) -> None:
        """Rank what was served; each answer is read once, so its fault is kept."""
        if self._malformed is not None:
            raise self._malformed
        for answer in self._served[len(self._answers) :]:
            try:
                self._answers.append(self._reader.rank(answer))
            except BakeoffError as exc:
                self._malformed = exc
                raise

    def _collect(self, count: int, rounds: int) -> StepResult:
        import numpy as np

        rows = [row[:count] for row in self._nanoseconds[:rounds]]
        times = np.array(rows, np.float64).reshape(len(rows), count) / 1e6
        untimed = self._reader.untimed
        return StepResult(
            tuple(self._answers[:count]), np.full_like(times, np.nan) if untimed else times, untimed
        )


def time_search(
    search: Search,
    requests: Sequence[SearchRequest],
    warm_up_requests: Sequence[SearchRequest],
    reader: AnswerReader = RANKED,
) -> TimedStep:
    """Time a search for every query, after a warm-up with requests that are not queries."""

    def warm_up() -> None:
        for request in warm_up_requests[:WARM_UP_SEARCHES]:
            if reader.pause is not None:
                reader.pause()
            reader.try_out(search(request))

    return TimedStep(lambda i: search(requests[i]), len(requests), warm_up, reader)


def time_fusion(fuse: Fuse, searches: Sequence[StepResult], weights: Sequence[float | None]) -> TimedStep:
    """Time the fusion of two searches for every query that both answered."""
    dense, keywords = searches
    return TimedStep(lambda i: fuse(dense.hits[i], keywords.hits[i], weights[i]), len(weights))


def time_rerank(
    rerank: Rerank, texts: Sequence[str], warm_up_texts: Sequence[str], before: StepResult
) -> TimedStep:
    """Time the reranking of every query's ranking, after a warm-up with other texts."""

    def warm_up() -> None:
        for text, hits in zip(warm_up_texts[:WARM_UP_RERANKS], before.hits, strict=False):
            rerank(text, hits)

    return TimedStep(lambda i: rerank(texts[i], before.hits[i]), len(before.hits), warm_up)


def check_hits(hits: Hits) -> None:
    """Raise if an answer repeats a row, has a score that is not finite, or is not sorted by score."""
    import numpy as np

    if len(np.unique(hits.ids)) != len(hits.ids):
        raise StoreError("the store returned a row twice in one answer.")
    if not np.isfinite(hits.scores).all():
        raise StoreError("the store returned a score that is not a finite number.")
    if len(hits.scores) > 1 and bool((np.diff(hits.scores) > 1e-6).any()):
        raise StoreError("the store's answer is not sorted by score.")
