"""Latency histograms: log-linear buckets of nanoseconds with three significant digits, which can be merged.

Buckets are one nanosecond wide up to 2,048 ns; above, every doubling is cut into 1,024 equal parts. A value is given
by the middle of its bucket, at most 0.05 % off. Unanswered queries are counted separately, as slower than all others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

FINE = 11
"""The first 2**FINE values have one bucket each."""
HALF = 2 ** (FINE - 1)
LAST = 65 * HALF
"""A number beyond all buckets of 64 bits."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts by bucket number, ascending, without empty ones; `missing` queries got no answer."""

    buckets: np.ndarray
    counts: np.ndarray
    missing: int = 0

    @classmethod
    def of(cls, nanoseconds: np.ndarray, missing: int = 0) -> Histogram:
        """The histogram of all samples."""
        buckets, counts = np.unique(_bucket(np.asarray(nanoseconds, np.int64)), return_counts=True)
        return cls(buckets, counts.astype(np.int64), missing)

    @property
    def count(self) -> int:
        """Samples that have a value."""
        return int(self.counts.sum())

    @property
    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """The lowest and the highest nanosecond of each bucket, both included."""
        return _edges(self.buckets)

    def percentile(self, percent: float) -> float | None:
        """Nanoseconds, interpolated between the two nearest samples; null among unanswered queries."""
        total = self.count + self.missing
        if not total:
            return None
        place = percent / 100 * (total - 1)
        below, above = int(np.floor(place)), int(np.ceil(place))
        if above >= self.count:
            return None
        ends = np.cumsum(self.counts)
        low, high = self._middle(np.searchsorted(ends, [below, above], side="right"))
        return float(low + (high - low) * (place - below))

    def _middle(self, positions: np.ndarray) -> np.ndarray:
        low, high = _edges(self.buckets[positions])
        return (low + high) / 2


def merge_histograms(histograms: Iterable[Histogram]) -> Histogram:
    """All samples of several histograms in one."""
    parts = list(histograms)
    if not parts:
        return Histogram.of(np.empty(0, np.int64))
    every = np.concatenate([part.buckets for part in parts])
    buckets, place = np.unique(every, return_inverse=True)
    weights = np.concatenate([part.counts for part in parts])
    counts = np.zeros(len(buckets), np.int64)
    np.add.at(counts, place, weights)
    return Histogram(buckets, counts, sum(part.missing for part in parts))


def _bucket(values: np.ndarray) -> np.ndarray:
    """The bucket number of each value; a histogram holds no negative time."""
    if len(values) and int(values.min()) < 0:
        raise ValueError(f"{int(values.min())} ns is not a duration.")
    large = np.maximum(values, 1)
    shift = np.maximum(_bits(large) - FINE, 0)
    return shift * HALF + (values >> shift)


def _bits(values: np.ndarray) -> np.ndarray:
    """How many bits each positive integer has; a float rounds large ones up to the next power, which is put right."""
    bits = np.frexp(values.astype(np.float64))[1].astype(np.int64)
    return bits - ((values >> np.minimum(bits - 1, 62)) == 0)


def _edges(buckets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    shift = np.maximum(buckets // HALF - 1, 0)
    low = (buckets - shift * HALF) << shift
    return low, low + (np.int64(1) << shift) - 1
