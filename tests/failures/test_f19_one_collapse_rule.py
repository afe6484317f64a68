"""F19: precision counted on repeated chunks of one document while recall de-duplicates."""

from __future__ import annotations

import numpy as np
import pytest

from bakeoff.errors import DataError
from bakeoff.measures.arrays import JudgmentArrays, RankingArrays
from bakeoff.measures.collapse import collapse_units
from bakeoff.measures.evaluate import evaluate
from bakeoff.measures.names import parse

# Five chunks, four of them of the one relevant document 1.
CHUNKS = RankingArrays(np.zeros(5, int), np.array([1, 1, 1, 1, 2]), -np.arange(5.0))
TRUTH = JudgmentArrays(np.array([0, 0]), np.array([1, 3]), np.array([1, 1]))
MEASURES = [parse("P@5(document)"), parse("R@5(document)")]


def test_f19_repeated_units_are_refused() -> None:
    with pytest.raises(DataError, match=r"item 1 more than once.*collapse"):
        evaluate(CHUNKS, TRUTH, MEASURES)


def test_f19_precision_and_recall_see_the_same_units() -> None:
    precision, recall = evaluate(collapse_units(CHUNKS), TRUTH, MEASURES).values[0]
    assert (precision, recall) == pytest.approx((1 / 5, 1 / 2))
    assert precision * 5 == pytest.approx(recall * 2), "both count one relevant document"
