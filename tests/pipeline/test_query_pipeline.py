from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from bakeoff.errors import RerankerError, StoreError
from bakeoff.pipeline.query_pipeline import RerankStage, SearchRequest, build_search, rerank_rows, time_search
from bakeoff.types import Condition, Hits


class Recorder:
    """A store over five numbers that remembers what it was asked, in order."""

    def __init__(self, spoil: Any = None) -> None:
        self.asked: list[Any] = []
        self._spoil = spoil

    def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
        self.asked.append(float(vector[0]))
        near = -np.abs(np.arange(5.0) - vector[0])
        ids = np.argsort(-near, kind="stable")[:k]
        hits = Hits(ids, near[ids])
        return self._spoil(hits, len(self.asked)) if self._spoil else hits

    def search_text(self, text: str, k: int, query: Any) -> Hits:
        return self.search(np.array([float(text)]), k, query)


def vectors(*values: float) -> list[SearchRequest]:
    return [SearchRequest(vector=np.array([value])) for value in values]


def near(store: Any, *values: float, warm_up: int = 0, rounds: int = 1) -> Any:
    return time_search(
        build_search("dense", store, 3, None), vectors(*values), vectors(*[9] * warm_up)
    ).results_after(rounds)


def test_warm_up_asks_other_things_before_each_round_and_is_not_timed() -> None:
    store = Recorder()
    leg = near(store, 1, 2, warm_up=30, rounds=2)
    assert store.asked == [*[9.0] * 10, 1, 2, *[9.0] * 10, 1, 2]
    assert leg.milliseconds.shape == (2, 2) and (leg.milliseconds > 0).all()
    assert [hits.ids.tolist() for hits in leg.hits] == [[1, 0, 2], [2, 1, 3]]


def test_words_go_the_same_way() -> None:
    store = Recorder()
    step = time_search(
        build_search("keywords", store, 2, None),
        [SearchRequest("3")],
        [SearchRequest("4"), SearchRequest("4")],
    )
    assert step.results_after(1).hits[0].ids.tolist() == [3, 2] and store.asked == [4.0, 4.0, 3.0]


def test_a_filter_goes_to_the_search_that_honours_it() -> None:
    asked: list[Any] = []

    class Filtering(Recorder):
        def search_where(self, vector: np.ndarray, k: int, query: Any, where: Any) -> Hits:
            asked.append(where)
            return super().search(vector, k, query)

    where = (Condition("year", least=2000),)
    one, other = SearchRequest(vector=np.array([1.0]), where=where), SearchRequest(vector=np.array([2.0]))
    time_search(build_search("dense", Filtering(), 3, None), [one, other], []).results_after(1)
    assert asked == [where]


def test_rounds_go_on_where_they_were() -> None:
    store = Recorder()
    step = time_search(build_search("dense", store, 3, None), vectors(1, 2), [])
    assert step.results_after(1) is step.results_after(1)
    assert step.results_after(3).milliseconds.shape == (3, 2) and store.asked == [1, 2] * 3


def dying(after: int) -> Recorder:
    def spoil(hits: Hits, asked: int) -> Hits:
        if asked > after:
            raise StoreError("the engine is gone.")
        return hits

    return Recorder(spoil)


@pytest.mark.parametrize(
    ("after", "answered", "rounds"), [(0, 0, 1), (2, 2, 1), (3, 3, 1), (5, 3, 1), (7, 3, 2)]
)
def test_what_came_before_a_fault_is_kept_and_the_fault_is_shared(
    after: int, answered: int, rounds: int
) -> None:
    store = dying(after)
    step = time_search(build_search("dense", store, 3, None), vectors(1, 2, 3), [])
    for _ in range(2):
        with pytest.raises(StoreError, match="the engine is gone"):
            step.results_after(3)
    assert len(store.asked) == after + 1
    leg = step.partial()
    assert [hits.ids[0] for hits in leg.hits] == [1, 2, 3][:answered]
    assert leg.milliseconds.shape == (rounds if answered else 1, answered)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda hits, n: Hits(np.array([1, 1]), np.array([1.0, 1.0])), "a row twice"),
        (lambda hits, n: Hits(np.array([1, 2]), np.array([1.0, np.nan])), "not a finite number"),
        (lambda hits, n: Hits(np.array([1, 2]), np.array([1.0, 2.0])), "not sorted by score"),
    ],
)
def test_an_answer_that_is_none_is_refused(spoil: Any, said: str) -> None:
    with pytest.raises(StoreError, match=said):
        near(Recorder(spoil), 1)


def test_an_empty_answer_is_one() -> None:
    empty = Recorder(lambda hits, n: Hits(np.empty(0, np.int64), np.empty(0)))
    assert len(near(empty, 1).hits[0].ids) == 0


def test_the_first_queries_and_the_first_rows() -> None:
    leg = near(Recorder(), 1, 2, 3)
    assert leg.first(2).milliseconds.shape == (1, 2) and len(leg.first(2).hits) == 2
    assert [len(hits.ids) for hits in leg.truncate(2).hits] == [2, 2, 2] and leg.truncate(3) is leg


PASSAGES = ["a cat", "a dog and a dog", "a bird", "dog", "fish"]


class Counter:
    """Scores a passage by how often it holds the query."""

    def rerank(self, query: str, passages: Sequence[str]) -> np.ndarray:
        return np.array([passage.count(query) for passage in passages])


def stage(reranker: Any, depth: int = 20) -> RerankStage:
    return RerankStage(reranker.rerank, PASSAGES.__getitem__, depth)


def ranked(ids: list[int]) -> Hits:
    return Hits(np.array(ids), np.linspace(1, 0, len(ids)))


def test_the_head_by_the_new_scores_and_the_tail_behind_it() -> None:
    found = rerank_rows(stage(Counter(), 3), "dog", ranked([0, 3, 1, 4, 2]))
    assert found.ids.tolist() == [1, 3, 0, 4, 2]
    assert found.scores.tolist() == [2.0, 1.0, 0.0, -1.0, -2.0]


def test_equal_scores_in_the_order_of_ids() -> None:
    assert rerank_rows(stage(Counter()), "zebra", ranked([4, 2, 0])).ids.tolist() == [0, 2, 4]


def test_nothing_to_rerank() -> None:
    assert rerank_rows(stage(Counter()), "dog", ranked([])).ids.tolist() == []


@pytest.mark.parametrize("scores", [[1.0], [1.0, np.nan], [[1.0, 2.0]]])
def test_unusable_scores(scores: list[float]) -> None:
    class Faulty:
        def rerank(self, query: str, passages: Sequence[str]) -> np.ndarray:
            return np.array(scores)

    with pytest.raises(RerankerError, match="2"):
        rerank_rows(stage(Faulty()), "dog", ranked([0, 1]))
