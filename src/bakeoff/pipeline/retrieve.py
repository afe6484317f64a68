"""retrieve: queries → the rows a store serves, one query at a time, each timed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bakeoff.errors import BakeoffError, StoreError
from bakeoff.types import Hits, Where

if TYPE_CHECKING:
    import numpy as np

WARM_UP = 10
"""Searches before each pass that are not timed."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One query as a search takes it."""

    text: str = ""
    vector: np.ndarray | None = None
    where: Where = ()


Search = Callable[[SearchRequest], Hits]


@dataclass(frozen=True, slots=True)
class StepResult:
    """One step's answers, and its milliseconds (repeats × queries)."""

    hits: tuple[Hits, ...]
    milliseconds: np.ndarray
    steady: bool

    def first(self, count: int) -> StepResult:
        """The same for the first queries only."""
        if count >= len(self.hits):
            return self
        return StepResult(self.hits[:count], self.milliseconds[:, :count], self.steady)

    def cut(self, depth: int) -> StepResult:
        """The same with at most `depth` rows a query."""
        if all(len(hits.ids) <= depth for hits in self.hits):
            return self
        shorter = tuple(Hits(hits.ids[:depth], hits.scores[:depth]) for hits in self.hits)
        return StepResult(shorter, self.milliseconds, self.steady)


def search_dense(store: Any, k: int, query: Any) -> Search:
    """The k nearest rows, among those a filter leaves."""

    def search(asked: SearchRequest) -> Hits:
        if asked.where:
            found: Hits = store.search_where(asked.vector, k, query, asked.where)
        else:
            found = store.search(asked.vector, k, query)
        return found

    return search


def search_keywords(store: Any, k: int, query: Any) -> Search:
    """The k best rows for the words of a query, among those a filter leaves."""

    def search(asked: SearchRequest) -> Hits:
        if asked.where:
            found: Hits = store.search_text_where(asked.text, k, query, asked.where)
        else:
            found = store.search_text(asked.text, k, query)
        return found

    return search


def search_native_hybrid(store: Any, k: int, query: Any) -> Search:
    """The k best rows by the store's own fusion of vectors and words."""

    def search(asked: SearchRequest) -> Hits:
        found: Hits = store.search_hybrid(asked.text, asked.vector, k, query)
        return found

    return search


class TimedStep:
    """One step of a system, made for every query and once more in each round; what came before a fault is kept."""

    def __init__(
        self, make: Callable[[int], Hits], count: int, warm_up: Callable[[], object] = lambda: None
    ) -> None:
        self._make, self._count, self._warm_up = make, count, warm_up
        self._answers: list[Hits] = []
        self._nanoseconds: list[list[int]] = []
        self._steady, self._checked = True, 0
        self._error: BakeoffError | None = None
        self._leg: StepResult | None = None

    def upto(self, rounds: int) -> StepResult:
        """The answers of the first round with the times of all; a fault is shared by all who ask."""
        if self._error is not None:
            raise self._error
        try:
            while self._whole() < rounds:
                self._round()
                self._leg = None
        except BakeoffError as exc:
            self._error = exc
            raise
        if self._leg is None:
            self._leg = self._made(self._count, self._whole())
        return self._leg

    def partial(self) -> StepResult:
        """What was answered before a fault: the first queries, or all of them in fewer rounds."""
        self._check()
        return self._made(len(self._answers), max(self._whole(), 1))

    def _whole(self) -> int:
        return sum(len(row) == self._count for row in self._nanoseconds)

    def _round(self) -> None:
        """One pass over the queries; a pass that broke off goes on where it was."""
        if not self._nanoseconds or len(self._nanoseconds[-1]) == self._count:
            self._nanoseconds.append([])
        self._warm_up()
        row, first = self._nanoseconds[-1], len(self._nanoseconds) == 1
        clock = time.perf_counter_ns
        for i in range(len(row), self._count):
            begin = clock()
            answer = self._make(i)
            row.append(clock() - begin)
            if first:
                self._answers.append(answer)
            elif self._steady:
                self._steady = _same(self._answers[i], answer)
        self._check()

    def _check(self) -> None:
        for hits in self._answers[self._checked :]:
            check_hits(hits)
            self._checked += 1

    def _made(self, count: int, rounds: int) -> StepResult:
        import numpy as np

        rows = [row[:count] for row in self._nanoseconds[:rounds]]
        times = np.array(rows, np.float64).reshape(len(rows), count)
        return StepResult(tuple(self._answers[:count]), times / 1e6, self._steady)


def timed_search(
    search: Search, asked: Sequence[SearchRequest], others: Sequence[SearchRequest]
) -> TimedStep:
    """A search made for every query, after a warm-up with other things."""

    def warm_up() -> None:
        for one in others[:WARM_UP]:
            search(one)

    return TimedStep(lambda i: search(asked[i]), len(asked), warm_up)


def check_hits(hits: Hits) -> None:
    """A store's answer holds no row twice, no score that is not a number, and is best first."""
    import numpy as np

    if len(np.unique(hits.ids)) != len(hits.ids):
        raise StoreError("the store returned a row twice in one answer.")
    if not np.isfinite(hits.scores).all():
        raise StoreError("the store returned a score that is not finite.")
    if len(hits.scores) > 1 and bool((np.diff(hits.scores) > 1e-6).any()):
        raise StoreError("the store's answer is not in the order of its scores.")


def _same(one: Hits, other: Hits) -> bool:
    import numpy as np

    return bool(np.array_equal(one.ids, other.ids))
