"""Effect sizes people can check: wins, losses, ties, and Cliff's delta."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bakeoff.stats.arrays import NOISE, FloatArray, IntArray, without_nan

TIE_TOLERANCE = 0.01
A_FEW = 0.1
"""Largest share of the queries that counts as "a few"."""


@dataclass(frozen=True, slots=True)
class WinLossTie:
    """Queries on which the first system is better, worse, or equal within the tolerance."""

    wins: int
    losses: int
    ties: int
    tolerance: float

    @property
    def n(self) -> int:
        """Queries counted."""
        return self.wins + self.losses + self.ties

    @property
    def wins_majority(self) -> bool:
        """Whether the first system wins more than half of the queries that are not ties."""
        return self.wins > self.losses

    def reverse(self) -> WinLossTie:
        """The same counts with the systems swapped."""
        return WinLossTie(self.losses, self.wins, self.ties, self.tolerance)


def win_loss_tie(differences: npt.ArrayLike, tolerance: float = TIE_TOLERANCE) -> WinLossTie:
    """Count differences above, below and within the tolerance (inclusive)."""
    values = without_nan(differences)
    wins = int((values > tolerance + NOISE).sum())
    losses = int((values < -tolerance - NOISE).sum())
    return WinLossTie(wins, losses, len(values) - wins - losses, tolerance)


def cliffs_delta(a: npt.ArrayLike, b: npt.ArrayLike) -> float | None:
    """Share of all (a, b) value pairs where a is higher minus the share where it is lower; −1 to 1."""
    first, second = without_nan(a), np.sort(without_nan(b))
    if len(first) == 0 or len(second) == 0:
        return None
    below = np.searchsorted(second, first - NOISE, side="left").sum()
    above = len(second) * len(first) - np.searchsorted(second, first + NOISE, side="right").sum()
    return float((below - above) / (len(first) * len(second)))


def deciding_places(differences: FloatArray) -> IntArray:
    """Indices of the few largest differences that outweigh all others together; empty if it takes more than a
    few."""
    sizes = np.sort(np.abs(differences))[::-1]
    if not len(sizes) or sizes[0] <= NOISE:
        return np.empty(0, dtype=np.int64)
    last = int(np.searchsorted(np.cumsum(sizes), sizes.sum() / 2, side="right"))
    places = np.flatnonzero(np.abs(differences) >= sizes[min(last, len(sizes) - 1)] - NOISE)
    return places if len(places) <= max(1, A_FEW * len(sizes)) else places[:0]
