"""Negative queries: false alarms at a threshold chosen elsewhere, and AUROC against scipy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from bakeoff.errors import DataError
from bakeoff.measures.arrays import RankingArrays
from bakeoff.measures.negatives import auroc, choose_threshold, false_alarm, false_alarms, top_scores

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


def test_top_scores_and_a_query_without_results_raises_no_alarm() -> None:
    rankings = RankingArrays(np.array([1, 1, 4]), np.array([1, 2, 1]), np.array([0.3, 0.9, 0.2]))
    top = top_scores(rankings, np.array([0, 1, 4]))
    assert top.tolist() == [-np.inf, 0.9, 0.2]
    assert false_alarm(top, 0.2).tolist() == [0.0, 1.0, 1.0]


def test_the_threshold_is_reported_on_other_queries() -> None:
    good, bad = np.array([0.9, 0.8, 0.7, 0.2]), np.array([0.1, 0.3, 0.75])
    alarms = false_alarms(good, bad, np.array([1, 1, 0, 0], bool), np.array([1, 0, 0], bool))
    assert alarms.threshold == 0.8
    assert (alarms.rate, alarms.negatives) == (0.0, 2)
    assert (alarms.answerable_kept, alarms.answerable) == (0.0, 2)
    with pytest.raises(DataError, match="keep some to report on"):
        false_alarms(good, bad, np.ones(4, bool), np.ones(3, bool))


def test_empty_sides() -> None:
    none = np.zeros(0)
    assert np.isnan(auroc(none, np.array([1.0])))
    with pytest.raises(DataError, match="both answerable and negative"):
        choose_threshold(np.array([1.0]), none)
    with pytest.raises(DataError, match="no score"):
        choose_threshold(np.array([-np.inf]), np.array([-np.inf]))
