from __future__ import annotations

import numpy as np
import pytest

from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.equivalence import form_losses


def matrix(rows: dict[str, np.ndarray]) -> ScoreMatrix:
    count = len(next(iter(rows.values())))
    return ScoreMatrix(
        tuple(rows), tuple(f"q{i}" for i in range(count)), np.stack(list(rows.values())), "nDCG@10"
    )


def test_equal_scores_leave_the_exact_bound_of_an_unseen_query() -> None:
    scores = np.full(400, 0.5)
    found = form_losses(matrix({"full": scores, "small": scores}), "full", ("small",), seed=1)["small"]
    assert found.mean == 0.0
    assert found.bound == pytest.approx(1 - 0.05 ** (1 / 400), abs=0.001)
    assert found.within(0.02) and not found.within(0.001)


def test_several_forms_are_bounded_together() -> None:
    scores = np.full(400, 0.5)
    rows = {"full": scores, **{f"small {i}": scores for i in range(5)}}
    found = form_losses(matrix(rows), "full", tuple(rows)[1:], seed=1)
    assert {round(one.bound or 0, 3) for one in found.values()} == {round(1 - 0.01 ** (1 / 400), 3)}


def test_a_form_that_loses_more_than_the_margin_is_never_shown_to_be_within_it() -> None:
    drawn = np.random.default_rng(3).uniform(0.2, 0.8, 500)
    found = form_losses(matrix({"full": drawn, "small": drawn - 0.03}), "full", ("small",), seed=1)["small"]
    assert found.mean == pytest.approx(0.03)
    assert not found.within(0.02) and (found.bound or 0) > 0.03


def test_a_better_form_has_a_negative_loss() -> None:
    drawn = np.random.default_rng(3).uniform(0.2, 0.8, 500)
    found = form_losses(matrix({"full": drawn, "small": drawn + 0.1}), "full", ("small",), seed=1)["small"]
    assert found.mean == pytest.approx(-0.1) and found.within(0.0)


@pytest.mark.slow
def test_false_claims_are_rare() -> None:
    """Where the true loss is just over the margin, a form is called within it in at most one case of twenty."""
    claims = 0
    for seed in range(150):
        generator = np.random.default_rng(seed)
        full, lost = generator.binomial(1, 0.7, 200).astype(float), generator.binomial(1, 0.03, 200)
        small = np.where(lost == 1, 0.0, full)  # a true loss of 0.021
        claims += form_losses(matrix({"full": full, "small": small}), "full", ("small",), seed=1)[
            "small"
        ].within(0.02)
    assert claims <= 7


def test_nothing_scored_is_nothing_shown() -> None:
    rows = {"full": np.array([0.5, np.nan]), "small": np.array([np.nan, 0.5])}
    found = form_losses(matrix(rows), "full", ("small",), seed=1)["small"]
    assert found.mean is None and found.bound is None and not found.within(1.0)
