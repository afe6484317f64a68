"""Where the loss happens."""

from __future__ import annotations

import numpy as np
import pytest

from bakeoff.errors import ComparisonError
from bakeoff.stats.loss import CEILING, Stage, waterfall


def stages() -> list[Stage]:
    return [
        Stage("in no chunk", np.array([1.0, 1, 1, 0, np.nan])),
        Stage("model misses", np.array([1.0, 1, 0, 0, 1])),
        Stage("index misses", np.array([1.0, 1, 0, 0, 1])),
        Stage("ranked too low", np.array([1.0, 0.5, 0, 0, 1])),
    ]


def test_steps_add_up_to_the_whole_loss() -> None:
    found = waterfall(stages())
    assert found.end == pytest.approx(1.5 / 4)
    assert [step.lost for step in found.steps] == pytest.approx([0.25, 0.25, 0.0, 0.125])
    assert sum(step.share for step in found.steps if step.share) == pytest.approx(1.0)
    assert [step.queries for step in found.steps] == [1, 1, 0, 1]
    assert (found.n, found.dropped) == (4, 1)


def test_the_line_reads_as_points_of_a_hundred() -> None:
    assert (
        waterfall(stages()).sentence
        == "in no chunk 25 % · model misses 25 % · index misses 0 % · ranked too low 12 %"
    )


def test_a_step_that_wins_points_back_is_negative() -> None:
    found = waterfall([Stage("index misses", np.array([0.5, 0.5])), Stage("reranked", np.array([1.0, 0.5]))])
    assert [step.lost for step in found.steps] == [0.5, -0.25]


def test_no_loss_has_no_shares() -> None:
    assert waterfall([Stage("model misses", np.ones(3))]).steps[0].share is None


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ([], "at least one step"),
        ([Stage("a", np.ones(2)), Stage("b", np.ones(3))], "same queries"),
        ([Stage("a", np.array([np.nan]))], "no query is computed"),
    ],
)
def test_steps_that_do_not_fit_are_refused(given: list[Stage], text: str) -> None:
    with pytest.raises(ComparisonError, match=text):
        waterfall(given)


def test_the_loss_starts_at_the_best_possible_score() -> None:
    top = Stage(CEILING, np.array([0.2, 0.4, 0.2, 0.2, np.nan]))
    found = waterfall(
        [top, Stage("in no chunk", top.reachable), Stage("ranked too low", np.array([0.2, 0, 0.2, 0, 1]))]
    )
    assert (found.start, found.end) == (pytest.approx(0.25), pytest.approx(0.1))
    assert [step.lost for step in found.steps] == pytest.approx([0.0, 0.15])
    assert (found.n, found.dropped) == (4, 1)
    assert found.sentence == "best possible 25 % · in no chunk 0 % · ranked too low 15 %"
    with pytest.raises(ComparisonError, match="at least one step"):
        waterfall([top])
