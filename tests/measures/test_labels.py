"""Review labels: D-11, and bounds where results are not judged yet."""

import pytest

from bakeoff.errors import DataError
from bakeoff.measures.labels import label_scores


def test_d11_six_keyword_two_semantic_two_wrong() -> None:
    scores = label_scores(["KEYWORD_MATCH"] * 6 + ["SEMANTIC_MATCH"] * 2 + ["FALSE_POSITIVE"] * 2, 10)
    values = scores.semantic_precision.value, scores.semantic_lift.value, scores.false_positive.value
    assert values == pytest.approx((0.8, 0.2, 0.2))
    assert scores.complete and scores.judged == 1.0 and scores.unjudged_rate == 0.0


def test_c22_unjudged_results_are_shown_as_bounds() -> None:
    scores = label_scores(["KEYWORD_MATCH", "", "semantic_match", ""], 10)
    assert not scores.complete and scores.unjudged_rate == pytest.approx(0.2)
    assert scores.judged == pytest.approx(
        0.2
    )  # of k places, as in Judged@k of any ranking: an empty one is not judged
    assert (scores.semantic_precision.low, scores.semantic_precision.high) == pytest.approx((0.2, 0.4))
    assert (scores.false_positive.low, scores.false_positive.high) == pytest.approx((0.0, 0.2))


def test_only_the_first_k_count_and_an_unknown_label_is_an_error() -> None:
    assert label_scores(["FALSE_POSITIVE", "KEYWORD_MATCH"], 1).semantic_precision.value == 0.0
    with pytest.raises(DataError, match="rank 2: 'MAYBE'"):
        label_scores(["KEYWORD_MATCH", "MAYBE"], 10)
