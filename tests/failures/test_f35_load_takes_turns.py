"""F35: best of N runs reported as the result; a spread of 78, 119, 81, 56 QPS hidden."""

from __future__ import annotations

from itertools import pairwise

from bakeoff.load.sweep import order
from bakeoff.stats.runs import summarise


def test_f35_the_median_and_the_spread_are_told() -> None:
    found = summarise([78, 119, 81, 56])
    assert found.median == 79.5 and found.values == (78, 119, 81, 56)
    assert found.q1 < found.median < found.q3 and found.sd > 20


def test_f35_stores_take_turns_within_a_run() -> None:
    turns = order([(1, 2, 3), (1, 2, 3)], 0)
    assert all(one[0] != other[0] for one, other in pairwise(turns))
    assert sorted(order([(1, 2, 3), (1, 2, 3)], 1)) == sorted(turns)
    assert order([(1, 2, 3), (1, 2, 3)], 1)[0] != turns[0]
