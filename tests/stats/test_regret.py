from __future__ import annotations

import numpy as np
import pytest

from bakeoff.stats import regret
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.regret import Regret


def matrix(values: np.ndarray, clusters: tuple[str, ...] = (), *, higher: bool = True) -> ScoreMatrix:
    systems = tuple("abcdefgh"[: len(values)])
    queries = tuple(f"q{place:03d}" for place in range(values.shape[1]))
    return ScoreMatrix(systems, queries, values, "score", clusters=clusters, higher_is_better=higher)


def regrets(
    scores: ScoreMatrix, systems: tuple[str, ...], tied: tuple[str, ...], margin: float = 0.02
) -> dict[str, Regret]:
    return regret.regrets(scores, systems, tied, 7, margin=margin)


def test_equal_scores_leave_the_exact_binomial_bound() -> None:
    """With n equal questions a share of 1 − .05^(1/n) of others may differ."""
    for n in (1, 10, 50):
        found = regrets(matrix(np.ones((2, n))), ("a", "b"), ("a", "b"))
        assert found["a"].bound == pytest.approx(1 - 0.05 ** (1 / n), abs=0.01)
        assert (found["a"].expected, found["a"].lead) == (0.0, 0.0)


def test_more_rivals_make_a_larger_bound() -> None:
    values = (np.random.default_rng(1).random((8, 40)) < 0.7).astype(float)
    names = tuple("abcdefgh")
    few, many = regrets(matrix(values[:2]), names[:2], names[:2]), regrets(matrix(values), names, names)
    assert many["a"].bound > few["a"].bound


def test_systems_that_cannot_be_chosen_widen_no_bound() -> None:
    """Two of eight systems are near; the others lose so much that they could not be recommended."""
    rng = np.random.default_rng(4)
    names, losses = tuple("abcdefgh"), np.array([0.0, 0.01, *[0.5] * 6])[:, None]
    values = rng.uniform(0.7, 0.8, 200) + rng.uniform(-0.2, 0.2, (8, 200)) - losses
    pair = regrets(matrix(values[:2]), names[:2], names[:2])
    many = regrets(matrix(values), names, names[:2])
    assert many["a"].bound == pytest.approx(pair["a"].bound, abs=0.003)
    assert many["h"].bound > 0.5
    wide = regrets(matrix(values), names, names[:2], margin=0.9)
    assert wide["a"].bound > 1.15 * many["a"].bound


def test_systems_that_lost_by_chance_still_widen_the_bound_of_the_lucky() -> None:
    """Six of eight lose by what is shown of one system alone, but not of one among eight."""
    rng = np.random.default_rng(4)
    noise = rng.uniform(-0.2, 0.2, (8, 200))
    means = np.array([0.75, 0.75, *[0.702] * 6])[:, None]
    values = noise - noise.mean(axis=1, keepdims=True) + means
    names = tuple("abcdefgh")
    pair, many = regrets(matrix(values[:2]), names[:2], names[:2]), regrets(matrix(values), names, names)
    assert many["a"].bound > 1.2 * pair["a"].bound


def test_a_bound_of_many_holds_for_the_system_its_scores_made_the_best() -> None:
    """One of eight is truly better, by as much as 50 questions often miss: a bound for each alone covers 90 %."""
    gaps = np.array([0.0, *[0.15] * 7])
    covered = 0
    for seed in range(60):
        rng = np.random.default_rng([seed, 11])
        values = (rng.random((8, 50)) < (0.7 - gaps)[:, None]).astype(float)
        found = regrets(matrix(values), tuple("abcdefgh"), ())
        top = int(values.mean(axis=1).argmax())
        covered += gaps[top] <= found["abcdefgh"[top]].bound
    assert covered >= 58


def test_the_lead_is_that_of_the_means_and_chance_shrinks_only_what_is_expected() -> None:
    values = np.random.default_rng(2).random((3, 30))
    tied = regrets(matrix(values), ("a", "b", "c"), ("a", "b", "c"))
    apart = regrets(matrix(values), ("a", "b", "c"), ())
    worst = min(tied, key=lambda name: values["abc".index(name)].mean())
    assert tied[worst].expected < apart[worst].expected
    assert tied[worst].lead == apart[worst].lead
    assert tied[worst].lead == pytest.approx(np.ptp(values.mean(axis=1)))


def test_a_tie_is_a_lead_below_the_margin() -> None:
    leads = {0.0: (True, True), 0.019: (True, False), 0.02: (False, False)}
    for lead, (at_margin, at_nothing) in leads.items():
        found = Regret(expected=0.0, bound=0.3, lead=lead)
        assert (found.ties(0.02), found.ties(0.0)) == (at_margin, at_nothing)
    one_in_fifty = np.ones((2, 50))
    one_in_fifty[1, 0] = 0.0
    assert not regrets(matrix(one_in_fifty), ("a", "b"), ("a", "b"))["b"].ties(0.02)


def test_clusters_and_direction_count() -> None:
    values = np.repeat((np.random.default_rng(3).random((2, 12)) < 0.6).astype(float), 5, axis=1)
    alone = regrets(matrix(values), ("a", "b"), ("a", "b"))
    labels = tuple(f"d{place // 5}" for place in range(60))
    grouped = regrets(matrix(values, labels), ("a", "b"), ("a", "b"))
    assert grouped["a"].bound > 1.5 * alone["a"].bound
    best = "a" if values[0].mean() > values[1].mean() else "b"
    other = {"a": "b", "b": "a"}[best]
    lower = regrets(matrix(values, higher=False), ("a", "b"), ())
    assert lower[best].lead > 0.0 and lower[other].lead == 0.0


def test_without_a_shared_query_there_is_no_regret() -> None:
    values = np.array([[1.0, np.nan], [np.nan, 1.0]])
    assert regrets(matrix(values), ("a", "b"), ()) == {}
