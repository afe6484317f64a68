from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bakeoff.errors import StoreError
from bakeoff.stages.index import Index
from bakeoff.stages.retrieve import dense, keywords
from bakeoff.types import Hits


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


def index(store: Recorder) -> Index:
    return Index(store, 0, None, None)


def column(*values: float) -> np.ndarray:
    return np.array(values)[:, None]


def test_warm_up_asks_other_things_first_and_is_not_timed() -> None:
    store = Recorder()
    leg = dense(index(store), column(1, 2), column(*[9] * 30), k=3, query=None, repeats=2)
    assert store.asked == [9.0] * 10 + [1, 2, 1, 2]
    assert leg.milliseconds.shape == (2, 2) and (leg.milliseconds > 0).all()
    assert [hits.ids.tolist() for hits in leg.hits] == [[1, 0, 2], [2, 1, 3]]


def test_words_go_the_same_way() -> None:
    store = Recorder()
    leg = keywords(index(store), ["3"], ["4", "4"], k=2, query=None, repeats=1)
    assert store.asked == [4.0, 4.0, 3.0] and leg.hits[0].ids.tolist() == [3, 2]


def test_answers_that_differ_between_repeats_are_not_steady() -> None:
    def moody(hits: Hits, asked: int) -> Hits:
        return Hits(hits.ids[: 2 + asked % 2], hits.scores[: 2 + asked % 2])

    assert dense(index(Recorder()), column(1), column(), k=3, query=None, repeats=3).steady
    assert not dense(index(Recorder(moody)), column(1), column(), k=3, query=None, repeats=2).steady


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda hits, n: Hits(np.array([1, 1]), np.array([1.0, 1.0])), "a row twice"),
        (lambda hits, n: Hits(np.array([1, 2]), np.array([1.0, np.nan])), "not finite"),
        (lambda hits, n: Hits(np.array([1, 2]), np.array([1.0, 2.0])), "not in the order of its scores"),
    ],
)
def test_an_answer_that_is_none_is_refused(spoil: Any, said: str) -> None:
    with pytest.raises(StoreError, match=said):
        dense(index(Recorder(spoil)), column(1), column(), k=3, query=None, repeats=1)


def test_an_empty_answer_is_one() -> None:
    empty = Recorder(lambda hits, n: Hits(np.empty(0, np.int64), np.empty(0)))
    assert len(dense(index(empty), column(1), column(), k=3, query=None, repeats=1).hits[0].ids) == 0
