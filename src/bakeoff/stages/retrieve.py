"""retrieve: queries → the rows a store serves, one query at a time, each timed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bakeoff.errors import StoreError
from bakeoff.stages.index import Index
from bakeoff.types import Hits

if TYPE_CHECKING:
    import numpy as np

WARM_UP = 10


@dataclass(frozen=True, slots=True)
class Leg:
    """One search's answers for all queries, and its milliseconds (repeats × queries)."""

    hits: tuple[Hits, ...]
    milliseconds: np.ndarray
    steady: bool


def dense(index: Index, vectors: np.ndarray, warm_up: np.ndarray, *, k: int, query: Any, repeats: int) -> Leg:
    """The k nearest rows for each query vector."""
    search = index.store.search
    return _timed(lambda vector: search(vector, k, query), list(vectors), list(warm_up[:WARM_UP]), repeats)


def keywords(index: Index, texts: list[str], warm_up: list[str], *, k: int, query: Any, repeats: int) -> Leg:
    """The k best rows for the words of each query."""
    search = index.store.search_text
    return _timed(lambda text: search(text, k, query), texts, warm_up[:WARM_UP], repeats)


def _timed(search: Callable[[Any], Hits], asked: list[Any], warm_up: list[Any], repeats: int) -> Leg:
    """Every search `repeats` times after the warm-up; the answers of the first pass are kept."""
    import numpy as np

    for other in warm_up:
        search(other)
    nanoseconds = np.empty((repeats, len(asked)), np.int64)
    clock = time.perf_counter_ns
    passes: list[list[Hits]] = []
    for repeat in range(repeats):
        answers = []
        for i, one in enumerate(asked):
            begin = clock()
            answer = search(one)
            nanoseconds[repeat, i] = clock() - begin
            answers.append(answer)
        passes.append(answers)
    for hits in passes[0]:
        _check(hits)
    steady = all(_same(passes[0], other) for other in passes[1:])
    return Leg(tuple(passes[0]), nanoseconds / 1e6, steady)


def _check(hits: Hits) -> None:
    """A store's answer holds no row twice, no score that is not a number, and is best first."""
    import numpy as np

    if len(np.unique(hits.ids)) != len(hits.ids):
        raise StoreError("the store returned a row twice in one answer.")
    if not np.isfinite(hits.scores).all():
        raise StoreError("the store returned a score that is not finite.")
    if len(hits.scores) > 1 and bool((np.diff(hits.scores) > 1e-6).any()):
        raise StoreError("the store's answer is not in the order of its scores.")


def _same(one: list[Hits], other: list[Hits]) -> bool:
    import numpy as np

    return all(np.array_equal(a.ids, b.ids) for a, b in zip(one, other, strict=True))
