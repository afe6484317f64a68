"""Recall of approximate search: truncated to k, tie-aware, and S1's division by 100."""

import numpy as np
import pytest

from bakeoff.errors import DataError
from bakeoff.measures.neighbours import knn_recall, recall_of_100


def test_the_truth_is_cut_at_k() -> None:
    exact = np.array([[1, 2, 3, 4]])
    assert knn_recall(np.array([[4, 3]]), exact, 2)[0] == 0.0
    assert knn_recall(np.array([[2, 9]]), exact, 2)[0] == 0.5


def test_an_item_as_near_as_the_kth_counts_within_the_tolerance() -> None:
    exact, distances = np.array([[1, 2, 3]]), np.array([[0.1, 0.5, 0.5]])
    found = np.array([[1, 3]])
    assert knn_recall(found, exact, 2)[0] == 0.5
    tied = {"found_distance": np.array([[0.1, 0.5]]), "exact_distance": distances}
    assert knn_recall(found, exact, 2, **tied)[0] == 1.0
    near = {"found_distance": np.array([[0.1, 0.5 * (1 + 9e-7)]]), "exact_distance": distances}
    assert knn_recall(found, exact, 2, **near)[0] == 1.0
    far = {"found_distance": np.array([[0.1, 0.5 * (1 + 2e-6)]]), "exact_distance": distances}
    assert knn_recall(found, exact, 2, **far)[0] == 0.5


def test_missing_results_and_other_rows_do_not_count() -> None:
    exact = np.array([[1, 2], [3, 4]])
    assert knn_recall(np.array([[3, -1], [3, 4]]), exact, 2).tolist() == [0.0, 1.0]
    padded = {"found_distance": np.array([[0.0, 0.0]]), "exact_distance": np.array([[0.5, 0.6]])}
    assert knn_recall(np.array([[-1, -1]]), exact[:1], 2, **padded)[0] == 0.0


def test_of_fewer_rows_than_k_the_share_is_of_those() -> None:
    exact, far = np.array([[1, 2, -1], [-1, -1, -1]]), np.array([[0.1, 0.2, np.inf], [np.inf] * 3])
    found = {"found_distance": np.array([[0.1, 0.2, 0.3], [0.1, 0.2, 0.3]]), "exact_distance": far}
    assert knn_recall(np.array([[1, 9, 2], [9, 8, 7]]), exact, 3, **found).tolist()[0] == 1.0
    assert knn_recall(np.array([[1, 9, 8], [9, 8, 7]]), exact, 3, **found).tolist()[0] == 0.5
    assert np.isnan(knn_recall(np.array([[1, 9, 8], [9, 8, 7]]), exact, 3, **found)[1])


def test_d3_perfect_search_reaches_k_over_100() -> None:
    exact = np.arange(100)[None, :]
    found = exact[:, ::-1]
    assert recall_of_100(exact, exact, 10)[0] == pytest.approx(0.10)
    assert recall_of_100(found, exact, 100)[0] == 1.0
    assert recall_of_100(found, exact, 10)[0] == pytest.approx(0.10)


def test_short_truth_and_repeats_are_errors() -> None:
    with pytest.raises(DataError, match=r"100.*2"):
        recall_of_100(np.array([[1, 2]]), np.array([[1, 2]]), 1)
    with pytest.raises(DataError, match=r"query 0.*item 1"):
        knn_recall(np.array([[1, 1]]), np.array([[1, 2]]), 2)
    with pytest.raises(DataError):
        knn_recall(np.array([[1], [2]]), np.array([[1]]), 1)
