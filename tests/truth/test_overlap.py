"""Overlapping ranges against a plain loop."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from bakeoff.truth.overlap import WHOLE, Ranges, overlap_pairs, ranges

PLACE = st.tuples(
    st.integers(0, 2),
    st.just((WHOLE, WHOLE))
    | st.tuples(st.integers(0, 20), st.integers(0, 10)).map(lambda p: (p[0], p[0] + p[1])),
)
PLACES = st.lists(PLACE, max_size=15)


def made(places: list[tuple[int, tuple[int, int]]]) -> Ranges:
    return ranges([doc for doc, _ in places], [at[0] for _, at in places], [at[1] for _, at in places])


def share(one: tuple[int, int], other: tuple[int, int]) -> float:
    if any(at[0] == at[1] != WHOLE for at in (one, other)):
        return 0.0
    if WHOLE in (one[0], other[0]):
        return 1.0
    common = len(set(range(*one)) & set(range(*other)))
    return common / max(min(one[1] - one[0], other[1] - other[0]), 1)


@settings(max_examples=150, deadline=None)
@given(PLACES, PLACES, st.sampled_from([0.0, 0.5, 1.0]))
def test_pairs_are_those_of_the_plain_loop(
    left: list[tuple[int, tuple[int, int]]], right: list[tuple[int, tuple[int, int]]], least: float
) -> None:
    pairs = overlap_pairs(made(left), made(right), least)
    expected = {
        (i, j)
        for i, (doc, one) in enumerate(left)
        for j, (other_doc, other) in enumerate(right)
        if doc == other_doc and share(one, other) > 0 and share(one, other) >= least
    }
    found = list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert (pairs.left[1:] >= pairs.left[:-1]).all()


def test_far_documents_and_large_positions() -> None:
    far = 2_000_000_000
    one = ranges([far, far, 0], [WHOLE, far, 5], [WHOLE, far + 10, 6])
    other = ranges([far, far - 1], [far + 9, 0], [far + 20, far])
    pairs = overlap_pairs(one, other)
    assert list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)) == [(0, 0), (1, 0)]
