"""Comparison over all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from bakeoff.errors import ComparisonError
from bakeoff.stats.bootstrap import BootstrapSettings, mean_interval
from bakeoff.stats.compare import compare
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.interaction import interactions

QUERIES = tuple(f"q{number:02d}" for number in range(60))


def matrix(shifts: tuple[float, ...], seed: int = 0, **more: object) -> ScoreMatrix:
    rng = np.random.default_rng(seed)
    base = rng.uniform(0.2, 0.7, len(QUERIES))
    values = np.clip([base + shift + rng.normal(0, 0.1, len(QUERIES)) for shift in shifts], 0, 1)
    names = tuple("abcdefgh"[: len(shifts)])
    return ScoreMatrix(names, QUERIES, values, "nDCG@10", **more)  # type: ignore[arg-type]


def test_a_pair_holds_what_follows_from_its_scores() -> None:
    scores = matrix((0.1, 0.0))
    pair = compare(scores, seed=3).pairs[0]
    difference = scores.values[0] - scores.values[1]
    assert (pair.a, pair.b, pair.n) == ("a", "b", 60)
    assert pair.difference == pytest.approx(difference.mean())
    assert pair.sd == pytest.approx(difference.std(ddof=1))
    assert pair.interval == mean_interval(difference, BootstrapSettings(3))
    assert pair.wins + pair.losses + pair.ties == 60
    assert pair.separated
    assert pair.better == "a"
    assert pair.mdd is not None
    assert pair.queries_needed is not None
    assert pair.queries_needed < 60


def test_a_reversed_pair_says_the_same() -> None:
    comparison = compare(matrix((0.1, 0.0)), seed=3)
    there, back = comparison.pair("a", "b"), comparison.pair("b", "a")
    assert back.difference == -there.difference  # type: ignore[operator]
    assert back.better == there.better == "a"
    assert (back.wins, back.losses) == (there.losses, there.wins)
    assert back.reverse() == there


def test_ranking_and_the_group_that_the_best_does_not_beat() -> None:
    comparison = compare(matrix((0.0, 0.15, 0.145)), seed=3)
    assert comparison.best == comparison.ranking[0]
    assert set(comparison.ranking[:2]) == {"b", "c"}
    assert set(comparison.indistinguishable_from_best) == {"b", "c"}


def test_lower_is_better_turns_the_ranking_not_the_difference() -> None:
    comparison = compare(matrix((0.2, 0.0), higher_is_better=False), seed=3)
    pair = comparison.pair("a", "b")
    assert comparison.best == "b"
    assert pair.difference is not None
    assert pair.difference > 0
    assert pair.better == "b"
    assert pair.losses > pair.wins


def test_equivalence_needs_the_90_percent_interval_inside_the_margin() -> None:
    pair = compare(matrix((0.1, 0.1)), seed=3).pairs[0]
    low, high = pair.equivalence_interval.low, pair.equivalence_interval.high
    assert pair.equivalence_interval.level == pytest.approx(0.90)
    assert low is not None
    assert high is not None
    assert pair.possible is not None
    edge = max(map(abs, (low, high, *pair.possible)))
    assert pair.equivalent(edge + 1e-6)
    assert not pair.equivalent(edge - 1e-6)


def test_max_t_replaces_holm_in_the_decision_when_asked() -> None:
    comparison = compare(matrix((0.1, 0.0, 0.02)), seed=3, correction="max-t")
    assert all(pair.p_max_t is not None and pair.p_corrected == pair.p_max_t for pair in comparison.pairs)
    with pytest.raises(ComparisonError, match="holm or max-t"):
        compare(matrix((0.1, 0.0)), seed=3, correction="none")


def test_a_nearly_unscored_system_does_not_spoil_the_ranking() -> None:
    scores = matrix((0.1, 0.0, 0.3))
    values = scores.values.copy()
    values[2, 4:] = np.nan
    comparison = compare(ScoreMatrix(scores.systems, QUERIES, values, "nDCG@10"), seed=3)
    assert comparison.ranking == ("a", "b")
    assert comparison.common == 60
    assert any("not ranked" in note and "c" in note for note in comparison.notes)


def test_no_shared_query_means_no_best() -> None:
    comparison = compare(ScoreMatrix.of({"a": {"q1": 1.0}, "b": {"q2": 0.5}}, "RR"), seed=1)
    assert comparison.best is None
    assert comparison.indistinguishable_from_best == ("a", "b")
    assert comparison.pairs[0].interval.reason.startswith("no query")
    assert comparison.pairs[0].p_holm == 1.0


def test_identical_systems_are_said_aloud() -> None:
    """F50: two systems with the same score on every query."""
    scores = matrix((0.1, 0.0))
    values = np.vstack([scores.values, scores.values[1]])
    comparison = compare(ScoreMatrix(("a", "b", "c"), QUERIES, values, "nDCG@10"), seed=3)
    assert comparison.pair("b", "c").identical
    assert not comparison.pair("a", "b").identical
    assert any("b and c" in note for note in comparison.notes)
    assert comparison.pair("b", "c").mdd is None


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"systems": ("a", "a")}, "system 'a'"),
        ({"values": np.zeros((2, 3))}, "shape"),
        ({"values": np.full((2, 2), 2.0)}, "outside 0 to 1"),
        ({"values": np.full((2, 2), np.inf)}, "infinite"),
        ({"categories": ("x",)}, "1 categories for 2 queries"),
    ],
)
def test_scores_that_no_measure_gives_are_refused(change: dict[str, object], text: str) -> None:
    given: dict[str, object] = {
        "systems": ("a", "b"), "queries": ("q1", "q2"), "values": np.zeros((2, 2)), "measure": "RR@10",
    }  # fmt: skip
    with pytest.raises(ComparisonError, match=text):
        ScoreMatrix(**(given | change))  # type: ignore[arg-type]


def test_unknown_names_are_refused() -> None:
    comparison = compare(matrix((0.1, 0.0)), seed=3)
    with pytest.raises(ComparisonError):
        comparison.pair("a", "z")
    with pytest.raises(ComparisonError):
        comparison.summary("z")


@pytest.mark.parametrize(("queries", "better"), [(20, None), (200, "a")])
def test_the_same_difference_on_every_query_is_shown_once_rare_queries_can_not_undo_it(
    queries: int, better: str | None
) -> None:
    base = np.linspace(0.2, 0.7, queries)
    names = tuple(f"q{number:03d}" for number in range(queries))
    pair = compare(ScoreMatrix(("a", "b"), names, np.array([base + 0.1, base]), "nDCG@10"), seed=3).pairs[0]
    assert not pair.interval.defined
    assert (pair.passes_tests, pair.better) == (True, better)


def test_an_interval_stays_within_the_possible_differences() -> None:
    scores = np.array([[1.0, 1.0, 1.0, 0.9], [0.0, 0.0, 0.6, 0.0]])
    few = ScoreMatrix(("a", "b"), QUERIES[:4], scores, "nDCG@10")
    pair = compare(few, seed=3).pairs[0]
    raw = mean_interval(scores[0] - scores[1], BootstrapSettings(3))
    assert raw.high is not None and raw.high > 1  # what the resamples give without bounds
    assert (pair.interval.low, pair.interval.high, pair.interval.clipped) == (raw.low, 1.0, True)
    assert pair.reverse().interval.low == -1.0
    wide = compare(ScoreMatrix(("a", "b"), QUERIES[:4], 10 * scores, "tokens@10", bounds=None), seed=3).pairs[
        0
    ]
    assert wide.interval.high == pytest.approx(10 * raw.high)


def test_category_intervals_stay_within_the_possible_differences() -> None:
    scores = np.array([[1.0, 1.0, 1.0, 0.9] * 3, [0.0, 0.0, 0.6, 0.0] * 3])
    kinds = ("x",) * 4 + ("y",) * 4 + ("z",) * 4
    few = ScoreMatrix(("a", "b"), QUERIES[:12], scores, "nDCG@10", categories=kinds)
    found = interactions(few, "a", ("b",), BootstrapSettings(3))
    assert {one.interval.high for one in found[0].categories} == {1.0}
