"""Numbers as they are written."""

from __future__ import annotations

import pytest

from bakeoff.report.render import number_text as say


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.8125, ".812"),
        (1.0, "1.000"),
        (0.0, ".000"),
        (-0.05, "−.050"),
        (None, "–"),
        (1234.4, "1,234"),
        (-0.0, ".000"),
    ],
)
def test_scores(value: float | None, expected: str) -> None:
    assert say.score(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.05, "+.050"), (-0.0124, "−.012"), (0.0, ".000"), (None, "–"), (-0.0001, "−.000")],
)
def test_differences_carry_their_sign(value: float | None, expected: str) -> None:
    assert say.format_signed(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, "–"), (0.034, "0.034"), (0.31, "0.31"), (9.06, "9.06"), (14.32, "14.3"), (1234.0, "1,234")],
)
def test_milliseconds(value: float | None, expected: str) -> None:
    assert say.milliseconds(value).replace("\u00a0ms", "") == expected


def test_counts_and_lists() -> None:
    assert say.questions(1) == "1 question"
    assert say.questions(1200) == "1,200 questions"
    assert say.describe_counts(63, 5) == "n 63, 5 excluded"
    assert say.name_some(["a", "b", "c"], 2) == "a, b and 1 more"
    assert say.share(0, 0) == "–"
    assert say.p_value(0.0) == "<.001"
    assert say.size(14_000_000) == "14\u00a0MB"
    assert say.interval(None, 0.5) == ""
