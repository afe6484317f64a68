"""Numbers as the verdict writes them."""

from __future__ import annotations

import pytest

from bakeoff.stats.intervals import Interval
from bakeoff.stats.number_format import bytes_text, join_names, points, probability, questions, with_interval


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ((0.05, 0.01, 0.09), (".05", ".01", ".09")),
        ((-0.05, 0.004), ("-.050", ".004")),
        ((0.0,), (".00",)),
        ((1.0,), ("1.00",)),
        ((412.31, -3.0), ("412.3", "-3.0")),
        ((-0.0,), (".00",)),
    ],
)
def test_points(values: tuple[float, ...], texts: tuple[str, ...]) -> None:
    assert points(*values) == texts


def test_probability_is_never_zero() -> None:
    assert (probability(0.021), probability(1e-9), probability(1.0)) == (".021", "<.001", "1.000")


def test_counts_names_and_sizes() -> None:
    assert (questions(1), questions(1200)) == ("1 question", "1,200 questions")
    assert (join_names(("a",)), join_names(("a", "b", "c"))) == ("a", "a, b and c")
    assert (bytes_text(14e6), bytes_text(500)) == ("14 MB", "500 bytes")


def test_an_undefined_interval_gives_its_reason() -> None:
    undefined = Interval(None, None, 0.95, "hull", 10_000, 1, "one query has no spread to resample")
    assert with_interval(0.05, undefined, "RR") == f".05 RR (no interval: {undefined.reason})"
