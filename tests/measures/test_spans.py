"""Span measures count characters once, checked against sets of characters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bakeoff.errors import DataError
from bakeoff.measures.spans import Spans, covered, span_scores, tokens_at

span = st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 20), st.integers(0, 15))


def spans(rows: list[tuple[int, int, int, int]], ranked: bool = False) -> Spans:
    table = np.array(rows, dtype=np.int64).reshape(-1, 4)
    rank = np.arange(1, len(rows) + 1) if ranked else None
    return Spans(table[:, 0], table[:, 1], table[:, 2], table[:, 2] + table[:, 3], rank)


def characters(rows: list[tuple[int, int, int, int]], query: int) -> set[tuple[int, int]]:
    return {(doc, at) for q, doc, start, length in rows if q == query for at in range(start, start + length)}


@settings(max_examples=100, deadline=None)
@given(st.lists(span, max_size=12), st.lists(span, max_size=6), st.integers(1, 12))
def test_equal_to_sets_of_characters(
    found: list[tuple[int, int, int, int]], gold: list[tuple[int, int, int, int]], k: int
) -> None:
    queries = np.arange(3)
    scores = span_scores(spans(found, ranked=True), spans(gold), queries, k)
    for query in range(3):
        read, wanted = characters(found[:k], query), characters(gold, query)
        if not wanted:
            assert np.isnan(scores.recall[query]) and np.isnan(scores.iou[query])
            continue
        both = len(read & wanted)
        assert scores.recall[query] == pytest.approx(both / len(wanted))
        assert scores.precision[query] == pytest.approx(both / len(read) if read else 0.0)
        assert scores.iou[query] == pytest.approx(both / len(read | wanted))


def test_overlapping_chunks_do_not_count_twice() -> None:
    gold = spans([(0, 0, 0, 100)])
    twice = spans([(0, 0, 0, 50), (0, 0, 25, 50), (0, 0, 0, 50)], ranked=True)
    scores = span_scores(twice, gold, np.array([0]), 3)
    assert (scores.recall[0], scores.precision[0]) == (0.75, 1.0)


def test_wrong_spans_and_missing_ranks_are_errors() -> None:
    with pytest.raises(DataError, match="span from 5 to 3"):
        Spans(np.array([0]), np.array([0]), np.array([5]), np.array([3]))
    with pytest.raises(DataError, match="need ranks"):
        spans([(0, 0, 0, 5)]).top(3)
    assert covered(spans([]), np.array([0, 1])).tolist() == [0.0, 0.0]


def test_tokens_of_the_first_k() -> None:
    query, rank, tokens = np.array([0, 0, 0, 2]), np.array([1, 2, 3, 1]), np.array([10, 20, 40, 7])
    assert tokens_at(query, rank, tokens, np.array([0, 1, 2]), 2).tolist() == [30.0, 0.0, 7.0]
