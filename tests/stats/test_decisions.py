"""S4's decision tables, gaps included."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bakeoff.presets.goldsql.decision import DECISION_A, DECISION_B, S4Case, choose_s4, decide_s4
from bakeoff.stats.bootstrap import BootstrapSettings
from bakeoff.stats.compare import compare
from bakeoff.stats.comparison import PairComparison, ScoreMatrix
from bakeoff.stats.effects import WinLossTie
from bakeoff.stats.interaction import interactions
from bakeoff.stats.intervals import Interval


@pytest.fixture(scope="module")
def base() -> PairComparison:
    rng = np.random.default_rng(0)
    values = rng.choice([0.0, 0.5, 1.0], (2, 50))
    matrix = ScoreMatrix(("mika", "minilm"), tuple(map(str, range(50))), values, "MRR")
    return compare(matrix, seed=1, resamples=200).pairs[0]


def pair(
    base: PairComparison, difference: float, half: float, wins: int = 20, losses: int = 20
) -> PairComparison:
    interval = Interval(difference - half, difference + half, 0.95, "hull", 10_000, 1)
    counts = WinLossTie(wins, losses, 50 - wins - losses, 0.01)
    return replace(base, difference=difference, interval=interval, counts=counts)


@pytest.mark.parametrize(
    ("difference", "half", "wins", "losses", "choice", "rule"),
    [
        (0.12, 0.05, 28, 15, "mika", "a-wins"),
        (-0.12, 0.05, 15, 28, "minilm", "b-wins"),
        (0.02, 0.05, 20, 19, "minilm", "tied"),
        (0.02, 0.05, 28, 10, "inconclusive", "gap"),
        (0.12, 0.05, 10, 20, "inconclusive", "gap"),
    ],
)
def test_decision_a(
    base: PairComparison, difference: float, half: float, wins: int, losses: int, choice: str, rule: str
) -> None:
    decision = decide_s4(S4Case(pair(base, difference, half, wins, losses)), DECISION_A)
    assert (decision.choice, decision.rule) == (choice, rule)
    assert (
        f"mika {wins} / minilm {losses} / Tie {50 - wins - losses} of 50 questions, Wilcoxon p "
        in decision.sentence
    )


@pytest.mark.parametrize(
    ("difference", "half", "wins", "losses", "lift", "choice"),
    [
        (0.12, 0.05, 30, 10, (-0.2, 0.1), "mika"),  # the first rule decides, whatever the lift
        (0.02, 0.05, 30, 10, (0.2, 0.1), "mika"),  # inconclusive by wins, ahead by lift
        (0.02, 0.05, 30, 10, (0.05, 0.1), "minilm"),  # inconclusive by wins, similar lift
        (0.02, 0.05, 30, 10, None, "inconclusive"),
    ],
)
def test_the_review_decides_where_wins_do_not(
    base: PairComparison, difference: float, half: float, wins: int, losses: int, lift: Any, choice: str
) -> None:
    lifted = None if lift is None else pair(base, *lift)
    assert choose_s4(S4Case(pair(base, difference, half, wins, losses), lift=lifted)) == choice


def test_decision_a_hybrid_where_the_cheaper_is_ahead_on_a_category(base: PairComparison) -> None:
    values = np.vstack([np.tile([0.9, 0.1, 0.8, 0.2], 10), np.tile([0.5, 0.5, 0.45, 0.55], 10)])
    labels = ("x", "y", "x", "y") * 10
    matrix = ScoreMatrix(("mika", "minilm"), tuple(map(str, range(40))), values, "MRR", categories=labels)
    found = interactions(matrix, "mika", ["minilm"], BootstrapSettings(1, 1000))[0]
    decision = decide_s4(S4Case(pair(base, 0.0, 0.1), categories=found), DECISION_A)
    assert decision.choice == "hybrid"


@pytest.mark.parametrize(
    ("difference", "half", "lift", "latency_critical", "choice", "rule"),
    [
        (0.12, 0.05, None, False, "mika", "clear"),
        (-0.12, 0.05, None, False, "minilm", "clear"),
        (0.12, 0.20, None, False, "inconclusive", "gap"),
        (0.07, 0.01, None, False, "inconclusive", "gap"),
        (0.02, 0.05, None, False, "inconclusive", "review-first"),
        (0.02, 0.05, (0.2, 0.1), False, "mika", "lift-a"),
        (0.02, 0.05, (0.2, 0.1), True, "minilm", "lift-a-slow"),
        (0.02, 0.05, (-0.2, 0.1), False, "minilm", "lift-b"),
        (0.02, 0.05, (0.0, 0.1), False, "minilm", "lift-similar"),
    ],
)
def test_decision_b(
    base: PairComparison,
    difference: float,
    half: float,
    lift: tuple[float, float] | None,
    latency_critical: bool,
    choice: str,
    rule: str,
) -> None:
    lifted = None if lift is None else pair(base, *lift)
    case = S4Case(pair(base, difference, half), lift=lifted, latency_critical=latency_critical)
    decision = decide_s4(case, DECISION_B)
    assert (decision.choice, decision.rule) == (choice, rule)
