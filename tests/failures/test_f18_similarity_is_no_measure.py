"""F18: "quality" reported as average similarity, equal to six digits across databases."""

from __future__ import annotations

import numpy as np
import pytest

from bakeoff.errors import MeasureError
from bakeoff.measures.api import evaluate
from bakeoff.measures.catalogue import all_measures
from bakeoff.measures.names import parse
from bakeoff.measures.neighbours import knn_recall


@pytest.mark.parametrize("name", ["similarity@10", "avg_similarity", "mean_score@5", "cosine"])
def test_f18_no_measure_is_a_similarity(name: str) -> None:
    with pytest.raises(MeasureError):
        parse(name)
    assert not any("similarity" in f"{row.name} {row.formula}".lower() for row in all_measures())


def test_f18_values_do_not_move_with_the_scores_but_with_the_order() -> None:
    qrels = {"q": {"a": 1}}
    low = evaluate(qrels, {"q": {"a": 0.2, "b": 0.1}}, ["nDCG@10", "RR", "P@1"]).mean
    high = evaluate(qrels, {"q": {"a": 0.99, "b": 0.98}}, ["nDCG@10", "RR", "P@1"]).mean
    other = evaluate(qrels, {"q": {"b": 0.99, "a": 0.98}}, ["nDCG@10", "RR", "P@1"]).mean
    assert low == high != other


def test_f18_stores_with_equal_similarities_differ_in_recall() -> None:
    exact = np.array([[1, 2, 3]])
    good, bad = np.array([[1, 2, 3]]), np.array([[1, 7, 8]])
    assert knn_recall(good, exact, 3)[0] == 1.0
    assert knn_recall(bad, exact, 3)[0] == pytest.approx(1 / 3)


def test_f18_rows_nearly_as_similar_are_not_the_neighbours() -> None:
    """Average similarity is the same to three digits; two of three neighbours are missing all the same."""
    exact, found = np.array([[1, 2, 3]]), np.array([[1, 7, 8]])
    distances = np.array([[0.1, 0.1, 0.1]]), np.array([[0.1, 0.1001, 0.1001]])
    recall = knn_recall(found, exact, 3, exact_distance=distances[0], found_distance=distances[1])
    assert recall[0] == pytest.approx(1 / 3)
