"""Wins, losses, ties and Cliff's delta."""

from __future__ import annotations

import numpy as np
import pytest

from bakeoff.stats.effects import WinLossTie, cliffs_delta, win_loss_tie


def test_the_published_block_adds_up() -> None:
    """D-12: MIKA 28 / MiniLM 15 / Tie 7 are 50 queries."""
    counts = WinLossTie(28, 15, 7, 0.01)
    assert counts.n == 50
    assert counts.wins_majority
    assert counts.reverse() == WinLossTie(15, 28, 7, 0.01)


def test_the_tolerance_is_inclusive() -> None:
    counts = win_loss_tie([0.01, -0.01, 0.0101, -0.0101, 0.0, np.nan, 0.5])
    assert (counts.wins, counts.losses, counts.ties) == (2, 1, 3)
    assert win_loss_tie([0.005, -0.005], tolerance=0.0).ties == 0


def test_cliffs_delta_by_hand() -> None:
    a, b = [1.0, 0.5, 0.5], [0.5, 0.25]
    expected = np.sign(np.subtract.outer(a, b)).mean()
    assert cliffs_delta(a, b) == pytest.approx(expected)
    assert cliffs_delta(b, a) == pytest.approx(-expected)
    assert cliffs_delta([1.0], [0.0]) == 1.0
    assert cliffs_delta([], [0.0]) is None
