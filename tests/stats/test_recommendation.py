from __future__ import annotations

import re
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from bakeoff.config.experiment_file import DecideSettings, Preferred
from bakeoff.stats.compare import compare
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.evidence import CostLimits, Costs, Evidence, Thresholds
from bakeoff.stats.number_format import letter, short_names
from bakeoff.stats.preferences import (
    DEFAULT_RULE,
    PREFERENCES,
    DecisionRule,
    choose_by_preference,
    describe_saving,
)
from bakeoff.stats.recommendation import Grounds, Strength, find_regrets
from bakeoff.stats.recommendation_text import Recommendation, recommend
from bakeoff.stats.verdict import decide

HYBRID = Costs(
    p50_ms=9.0, p50_between=(8, 10), tokens=8898, index_bytes=7.9e5, parts=("model", "second index")
)
WORDS = Costs(p50_ms=0.3, p50_between=(0.28, 0.35), tokens=2453, index_bytes=6.9e5, parts=())


def recommended(
    values: np.ndarray,
    costs: tuple[Costs, ...] = (HYBRID, WORDS),
    rule: DecisionRule = DEFAULT_RULE,
    limits: CostLimits = CostLimits(),  # noqa: B008 - frozen
) -> Recommendation:
    systems = ("hybrid", "words", "dense")[: len(values)]
    queries = tuple(f"q{place:04d}" for place in range(values.shape[1]))
    matrix = ScoreMatrix(systems, queries, values, "nDCG@10(document)")
    evidence = Evidence(
        compare(matrix, 7, resamples=500),
        costs=dict(zip(systems, costs, strict=False)),
        limits=limits,
        thresholds=Thresholds(margin=rule.margin),
    )
    evidence = replace(evidence, regrets=find_regrets(matrix, evidence, 7))
    return recommend(evidence, decide(evidence), rule)


def noisy(n: int, gap: float, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.uniform(0.4, 0.6, n) + rng.uniform(-0.2, 0.2, (2, n)) - np.array([[0.0], [gap]])


def test_scores_of_beaten_systems_are_not_among_the_best_possible_ones() -> None:
    values = np.ones((3, 40))
    values[2] = np.linspace(0.0, 0.6, 40)
    found = recommended(values, (HYBRID, WORDS, WORDS))
    assert found.system == "words"
    assert "the best 2 systems: each of their scores" in found.sentence
    assert "every score" in recommended(values[:2]).sentence


def test_tied_systems_are_decided_by_what_they_need() -> None:
    found = recommended(noisy(60, 0.0, seed=3))
    assert (found.system, found.strength, found.grounds) == ("words", Strength.START, Grounds.TIED)
    assert found.decided_by == ("fewer parts",)
    assert found.bound is not None and found.expected is not None and 0 < found.expected < found.bound < 0.2
    for words in (
        "Start with words.",
        "60 questions",
        "no model",
        "3.6 × fewer tokens per question",
        "30 × faster",
    ):
        assert words in found.sentence


def test_a_clear_winner_is_taken_whatever_it_needs() -> None:
    found = recommended(noisy(100, 0.2))
    assert (found.system, found.strength, found.grounds) == ("hybrid", Strength.TAKE, Grounds.BEATS_ALL)
    assert found.bound == 0.0
    assert "a second index" in found.sentence


def test_a_lead_that_is_not_proven_is_still_followed() -> None:
    found = recommended(noisy(12, 0.2))
    assert (found.system, found.strength, found.grounds) == ("hybrid", Strength.START, Grounds.BEST_MEAN)
    assert "12 questions" in found.sentence and "would settle it" in found.change


def test_the_margin_of_the_user_counts() -> None:
    values = noisy(100, 0.05)
    assert recommended(values).system == "hybrid"
    wide = recommended(values, rule=replace(DEFAULT_RULE, margin=0.2))
    assert (wide.system, wide.strength, wide.grounds) == ("words", Strength.TAKE, Grounds.WITHIN_MARGIN)
    assert wide.bound is not None and wide.bound <= 0.2


def test_a_margin_that_is_suggested_chooses_what_it_promises() -> None:
    values = noisy(60, 0.04)
    found = re.search(r"margin: (\.\d+)\}", recommended(values).change)
    assert found and 0.02 < float(found[1]) <= 0.1
    assert recommended(values, rule=replace(DEFAULT_RULE, margin=float(found[1]))).system == "words"
    less = replace(DEFAULT_RULE, margin=float(found[1]) - 0.002)
    assert recommended(values, rule=less).system == "hybrid"


@pytest.mark.parametrize("n", [149, 200, 400])
def test_take_is_said_where_at_most_the_margin_is_given_up(n: int) -> None:
    """Equal scores on n questions leave 1 − .05^(1/n): above .02 up to 148 questions, below from 149 on."""
    same = np.tile(np.random.default_rng(5).uniform(0.3, 0.7, n), (2, 1))
    few, many = recommended(same[:, :120]), recommended(np.hstack([same, same[:, :10]]))
    assert (few.system, few.strength, few.grounds) == ("words", Strength.START, Grounds.TIED)
    assert (many.system, many.strength, many.grounds) == ("words", Strength.TAKE, Grounds.WITHIN_MARGIN)
    assert few.bound is not None and many.bound is not None and many.bound <= 0.02 < few.bound


def test_a_system_that_is_shown_to_be_within_the_margin_comes_before_one_that_ties() -> None:
    """On 400 questions hybrid is shown to be within .02 of the best; words ties, needs less, and is not shown."""
    rng = np.random.default_rng(8)
    values = rng.uniform(0.4, 0.6, 400) + rng.uniform(-0.1, 0.1, (2, 400))
    values[1] += values[0].mean() - values[1].mean() - 0.015
    found = recommended(values)
    assert (found.system, found.strength) == ("hybrid", Strength.TAKE)


def test_the_order_of_preferences_counts() -> None:
    big = replace(WORDS, index_bytes=9e6)
    assert recommended(noisy(60, 0.0, seed=3), (HYBRID, big)).system == "words"
    smaller = recommended(
        noisy(60, 0.0, seed=3), (HYBRID, big), replace(DEFAULT_RULE, prefer=("index size",))
    )
    assert (smaller.system, smaller.decided_by) == ("hybrid", ("index size",))


@pytest.mark.parametrize(
    ("values", "grounds"),
    [
        (np.ones((2, 40)), Grounds.TIED),
        (np.ones((2, 1)), Grounds.TIED),
        (np.array([[1.0], [0.5]]), Grounds.BEST_MEAN),
        (np.ones((1, 5)), Grounds.ONLY_SYSTEM),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), Grounds.NO_QUALITY),
    ],
    ids=["saturated", "one question", "one question apart", "one system", "no shared question"],
)
def test_a_recommendation_exists_in_every_case(values: np.ndarray, grounds: Grounds) -> None:
    found = recommended(values)
    assert found.strength is Strength.START
    assert found.grounds is grounds and found.sentence.startswith(f"Start with {found.system}. ")
    assert found.system == ("words" if grounds in (Grounds.TIED, Grounds.NO_QUALITY) else "hybrid")


def test_where_no_system_is_within_the_limits_it_says_so() -> None:
    found = recommended(noisy(60, 0.0, seed=3), limits=CostLimits(index_bytes=10))
    assert found.system == "words" and "the limits" in found.sentence
    best = recommended(noisy(100, 0.2), limits=CostLimits(index_bytes=10))
    assert (best.system, best.strength) == ("hybrid", Strength.START)


def test_one_system_within_the_limits() -> None:
    found = recommended(noisy(60, 0.0), limits=CostLimits(index_bytes=7.5e5))
    assert (found.system, found.strength) == ("words", Strength.TAKE)
    assert found.grounds is Grounds.ONLY_WITHIN_LIMITS and found.sentence.startswith("Take words. ")


def test_the_only_system_with_enough_scores_is_not_firm() -> None:
    values = noisy(60, 0.0)
    values[0, 20:] = np.nan
    found = recommended(values)
    assert (found.system, found.strength, found.grounds) == ("words", Strength.START, Grounds.ONLY_SYSTEM)
    assert "within the limits" not in found.sentence


def test_a_difference_that_repeats_leave_open_decides_nothing() -> None:
    slow = Costs(p50_ms=3.0, p50_between=(1.0, 9.0))
    fast = Costs(p50_ms=1.0, p50_between=(0.9, 1.1))
    costs = {"slow": slow, "fast": fast}
    assert choose_by_preference(costs, ("slow", "fast"), DEFAULT_RULE).left == ("slow", "fast")
    costs["slow"] = replace(slow, p50_between=(2.5, 3.5))
    assert choose_by_preference(costs, ("slow", "fast"), DEFAULT_RULE).left == ("fast",)
    assert describe_saving(fast, costs["slow"], DEFAULT_RULE) == ("answers 3 × faster",)


def test_a_cost_that_was_not_measured_rules_nothing_out() -> None:
    costs = {"known": Costs(tokens=100.0), "unknown": Costs()}
    assert choose_by_preference(costs, ("unknown", "known"), DEFAULT_RULE).left == ("unknown", "known")


def test_the_file_and_the_rule_name_the_same_preferences() -> None:
    assert get_args(Preferred) == tuple(PREFERENCES)
    usual = DecideSettings()
    assert (usual.margin, tuple(usual.prefer), usual.ratio) == (
        DEFAULT_RULE.margin,
        DEFAULT_RULE.prefer,
        DEFAULT_RULE.ratio,
    )


def test_short_names_drop_what_all_share() -> None:
    long = ["tokens(size=256, overlap=32) · minilm · exact · dense", "tokens(size=256, overlap=32) · bm25"]
    assert list(short_names(long).values()) == ["minilm · exact · dense", "bm25"]
    assert list(short_names(["line · bm25", "line · minilm · dense"]).values()) == [
        "line · bm25",
        "line · minilm · dense",
    ]
    assert [letter(place) for place in (1, 26, 27, 53)] == ["A", "Z", "AA", "BA"]
