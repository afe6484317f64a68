"""The order of judging and when to stop, held against every way a small review could end."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bakeoff.errors import ComparisonError
from bakeoff.review.decision_model import (
    CANT_TELL,
    DecisionModel,
    best_end,
    decide_pairs,
    group_sums,
    pair_bounds,
    stakes_of,
    t_quantile,
    worst_end,
)
from bakeoff.review.next import rank_open_items


def rankings(queries: int, own: int = 1) -> dict[str, dict[str, tuple[str, ...]]]:
    """Two systems with one shared result a query and `own` results of their own."""
    names = [f"q{q}" for q in range(queries)]
    return {s: {q: (f"{q}-both", *(f"{q}-{s}{i}" for i in range(own))) for q in names} for s in ("a", "b")}


def completions(stakes: DecisionModel) -> set[int]:
    """The decisions of every way the open items could be judged."""
    places = np.flatnonzero(stakes.open)
    bits = np.array(list(itertools.product((0.0, 1.0), repeat=len(places))))
    relevance = np.repeat(stakes.known[None, :], len(bits), axis=0)
    relevance[:, places] = bits
    return set(decide_pairs(stakes.scores(relevance)).tolist())


@pytest.mark.parametrize("seed", range(12))
def test_certain_means_that_no_completion_differs(seed: int) -> None:
    chance = np.random.default_rng(seed)
    served = rankings(5, 2)
    items = [item for by_query in served.values() for row in by_query.values() for item in row]
    tilt = 0.95 if seed % 2 else 0.5
    known = {
        item: bool(chance.random() < (tilt if "-a" in item else 1 - tilt))
        for item in items
        if chance.random() < 0.7
    }
    stakes = stakes_of(served, known, 3)
    found = rank_open_items(stakes)[0]
    ends = completions(stakes)
    if found.certain:
        winner = CANT_TELL if found.decision is None else stakes.systems.index(found.decision)
        assert ends == {winner}
    pair = pair_bounds(stakes, 0, 1)
    assert pair.can_a or 0 not in ends
    assert pair.can_b or 1 not in ends
    assert pair.can_neither or CANT_TELL not in ends


def test_bounds_are_those_of_all_completions() -> None:
    stakes = stakes_of(rankings(3), {"q0-a0": True, "q1-b0": True}, 2)
    low, high = stakes.ends(0, 1)
    assert low.tolist() == [0.0, -0.5, -0.5]
    assert high.tolist() == [0.5, 0.0, 0.5]


def test_a_result_both_returned_moves_nothing() -> None:
    stakes = stakes_of(rankings(4), {}, 2)
    _, ranked = rank_open_items(stakes)
    assert len(ranked) == 12
    assert all("both" in one.item for one in ranked[-4:])
    assert all(one.weight == 0 for one in ranked[-4:])
    assert rank_open_items(stakes)[0].relevant_open == 8


def test_the_first_items_are_of_different_queries() -> None:
    _, ranked = rank_open_items(stakes_of(rankings(6), {}, 2), 6)
    assert len({one.query for one in ranked}) == 6


def test_a_clear_lead_is_certain_before_the_end() -> None:
    served = rankings(30, 3)
    known = {
        item: "-a" in item
        for by_query in served.values()
        for row in by_query.values()
        for item in row
        if "both" not in item and not item.endswith("2")
    }
    found = rank_open_items(stakes_of(served, known, 4))[0]
    assert found.certain
    assert found.decision == "a"
    assert found.stop
    assert found.open == 90


def test_nothing_is_likely_before_people_judged() -> None:
    served = rankings(20, 2)
    ruled = {
        item for by_query in served.values() for row in by_query.values() for item in row if "both" in item
    }
    found = rank_open_items(stakes_of(served, dict.fromkeys(ruled, True), 3, ruled=ruled))[0]
    assert found.judged == 0
    assert not found.stop


def test_all_judged_is_the_end() -> None:
    served = rankings(4)
    known = {item: True for by_query in served.values() for row in by_query.values() for item in row}
    found = rank_open_items(stakes_of(served, known, 2))[0]
    assert (found.open, found.stop, found.decision, found.probability) == (0, True, None, 1.0)


def test_ends_of_the_interval_bound_random_completions() -> None:
    chance = np.random.default_rng(3)
    for _ in range(50):
        low = chance.normal(0, 1, 12)
        high = low + chance.random(12)
        top, bottom = best_end(low, high), worst_end(low, high)
        for _ in range(40):
            drawn = low + chance.random(12) * (high - low)
            end = drawn.mean() - t_quantile(12) * drawn.std(ddof=1) / np.sqrt(12)
            assert bottom - 1e-9 <= end <= top + 1e-9


def test_what_cannot_be_decided_is_refused() -> None:
    with pytest.raises(ComparisonError, match="one system"):
        stakes_of({"a": {"q": ("x",)}}, {}, 1)
    with pytest.raises(ComparisonError, match="share 0 queries"):
        stakes_of({"a": {"q": ("x",)}, "b": {"r": ("y",)}}, {}, 1)


def test_sums_by_group_are_those_of_a_plain_loop() -> None:
    chance = np.random.default_rng(3)
    for groups in (np.array([0, 0, 2, 2, 4]), np.array([4, 0, 2, 0, 2]), np.array([], dtype=np.int64)):
        values = chance.random((3, 2, len(groups)))
        expected = np.zeros((3, 2, 6))
        for place, group in enumerate(groups):
            expected[..., group] += values[..., place]
        assert np.allclose(group_sums(values, groups, 6), expected)
