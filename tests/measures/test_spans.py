"""Span measures count characters once, checked against sets of characters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bakeoff.errors import DataError
from bakeoff.measures.spans import SpanArrays, covered_characters, span_scores, tokens_at, within_budget

span = st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 20), st.integers(0, 15))


def spans(rows: list[tuple[int, int, int, int]], ranked: bool = False) -> SpanArrays:
    table = np.array(rows, dtype=np.int64).reshape(-1, 4)
    rank = np.arange(1, len(rows) + 1) if ranked else None
    return SpanArrays(table[:, 0], table[:, 1], table[:, 2], table[:, 2] + table[:, 3], rank)


def characters(rows: list[tuple[int, int, int, int]], query: int) -> set[tuple[int, int]]:
    return {(doc, at) for q, doc, start, length in rows if q == query for at in range(start, start + length)}


@settings(max_examples=40, deadline=None)
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
    with pytest.raises(DataError, match=r"5.*3"):
        SpanArrays(np.array([0]), np.array([0]), np.array([5]), np.array([3]))
    with pytest.raises(DataError):
        spans([(0, 0, 0, 5)]).top(3)
    assert covered_characters(spans([]), np.array([0, 1])).tolist() == [0.0, 0.0]


def test_tokens_of_the_first_k() -> None:
    query, rank, tokens = np.array([0, 0, 0, 2]), np.array([1, 2, 3, 1]), np.array([10, 20, 40, 7])
    assert tokens_at(query, rank, tokens, np.array([0, 1, 2]), 2).tolist() == [30.0, 0.0, 7.0]


def test_a_budget_ends_before_the_first_result_that_does_not_fit() -> None:
    query, tokens = np.array([0, 0, 0, 0, 2, 2, 3]), np.array([40, 30, 50, 5, 100, 1, 101])
    assert within_budget(query, tokens, 100).tolist() == [True, True, False, False, True, False, False]
    assert within_budget(query, tokens, 125).tolist() == [True, True, True, True, True, True, True]
    assert within_budget(query[:0], tokens[:0], 5).tolist() == []


def test_a_budget_by_hand() -> None:
    """Chunks of 40, 30 and 50 tokens hold 20, 0 and 80 of the 100 wanted characters; 119 tokens buy the first two."""
    gold = spans([(0, 0, 0, 100)])
    found = spans([(0, 0, 0, 20), (0, 1, 0, 60), (0, 0, 20, 80)], ranked=True)
    tokens, queries = np.array([40, 30, 50]), np.array([0])
    for budget, read in (
        (119, (0.2, 20 / 80, 20 / 160)),
        (120, (1.0, 100 / 160, 100 / 160)),
        (39, (0.0, 0.0, 0.0)),
    ):
        kept = found.where(within_budget(found.query, tokens, budget))
        scores = span_scores(kept, gold, queries, 3)
        assert (scores.recall[0], scores.precision[0], scores.iou[0]) == pytest.approx(read)
