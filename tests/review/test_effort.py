"""How long judging takes: a guess that is called one, then the reviewers' own pace."""

from __future__ import annotations

import datetime

import pytest

from bakeoff.measures.labels import Label
from bakeoff.review.effort import estimate, pace
from bakeoff.review.ledger import LedgerEntry, LedgerKind

START = datetime.datetime(2026, 1, 5, 9, tzinfo=datetime.UTC)


def times(*seconds: float) -> list[str]:
    return [(START + datetime.timedelta(seconds=one)).isoformat() for one in seconds]


def entry(reviewer: str, time: str) -> LedgerEntry:
    return LedgerEntry(LedgerKind.JUDGE, "i1", "q1", reviewer, "0" * 16, Label.SEMANTIC_MATCH, time=time)


@pytest.mark.parametrize(("passages", "low", "high"), [(400, 2.0, 4.0), (200, 1.0, 2.0)])
def test_before_anyone_has_judged_it_is_the_sources_figure(passages: int, low: float, high: float) -> None:
    """S4-46: about 200 take one to two hours."""
    found = estimate(passages)
    assert (found.low_s / 3600, found.high_s / 3600) == (pytest.approx(low), pytest.approx(high))
    assert "a first guess" in found.sentence


def test_then_it_is_their_own_pace() -> None:
    entries = [entry("ana", time) for time in times(*range(0, 80, 10))]
    found = estimate(60, entries)
    assert (found.low_s, found.high_s) == (pytest.approx(400), pytest.approx(900))
    assert "10 s per passage" in found.sentence and found.sentence.startswith("about 7 min to 15 min")


def test_pauses_and_imported_bursts_say_nothing() -> None:
    assert pace(times(0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06)) is None
    assert pace(times(0, 10, 20, 30, 40, 50, 5000)) == pytest.approx(10)
    assert pace([*times(0, 10), "yesterday"]) is None


def test_nothing_open() -> None:
    assert estimate(0).sentence.startswith("Nothing")
