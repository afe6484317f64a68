"""Negative queries: the threshold between them and the others, and AUROC against scipy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from bakeoff.errors import DataError
from bakeoff.measures.negatives import auroc, choose_threshold

points = st.lists(st.integers(0, 6).map(float), min_size=1, max_size=20)


@settings(deadline=None)
@given(points, points)
def test_auroc_is_the_rank_sum_statistic(answerable: list[float], negative: list[float]) -> None:
    expected = mannwhitneyu(answerable, negative).statistic / (len(answerable) * len(negative))
    assert auroc(np.array(answerable), np.array(negative)) == pytest.approx(expected)


@settings(deadline=None)
@given(points, points)
def test_no_threshold_separates_better(answerable: list[float], negative: list[float]) -> None:
    good, bad = np.array(answerable), np.array(negative)

    def quality(threshold: float) -> float:
        return float((good >= threshold).mean() + (bad < threshold).mean())

    best = quality(choose_threshold(good, bad))
    assert best >= max(quality(threshold) for threshold in {*answerable, *negative}) - 1e-12


def test_empty_sides() -> None:
    none = np.zeros(0)
    assert np.isnan(auroc(none, np.array([1.0])))
    with pytest.raises(DataError):
        choose_threshold(np.array([1.0]), none)
    with pytest.raises(DataError):
        choose_threshold(np.array([-np.inf]), np.array([-np.inf]))
