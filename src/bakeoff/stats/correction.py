"""Corrections over many pairs: Holm's, and the Westfall–Young step-down maximum with shared sign flips."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bakeoff.stats.arrays import NOISE, FloatArray, IntArray
from bakeoff.stats.tests import FLIPS, count_reaching, scaled_differences, sign_blocks


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values in the given order; valid under any dependence between pairs."""
    order = np.argsort(np.asarray(p_values), kind="stable")
    adjusted = [0.0] * len(p_values)
    running = 0.0
    for place, number in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - place) * p_values[number]))
        adjusted[int(number)] = running
    return adjusted


def max_t(columns: npt.ArrayLike, seed: int, flips: int = FLIPS) -> list[float]:
    """Step-down maximum-statistic p-values over columns of differences; NaN counts as no difference.

    One sign per query flips all its differences together, which preserves their dependence. It assumes that a
    query's differences are jointly symmetric; if that is doubtful, use Holm, which needs no such assumption.
    """
    scores = scaled_differences(columns)
    observed = np.abs(scores.sum(axis=0))
    order: IntArray = np.argsort(-observed, kind="stable")
    count = _count_reached(scores[:, order], observed[order], seed, flips)
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate((count + 1) / (flips + 1))
    return [float(p) if observed[i] > NOISE else 1.0 for i, p in enumerate(adjusted)]


def _count_reached(scores: FloatArray, observed: FloatArray, seed: int, flips: int) -> FloatArray:
    count = np.zeros(len(observed))
    for signs in sign_blocks(len(scores), flips, seed):
        statistics = np.abs(signs @ scores)
        # Largest statistic among this and all less extreme columns: the step-down family.
        largest = np.maximum.accumulate(statistics[:, ::-1], axis=1)[:, ::-1]
        count += count_reaching(largest, observed, len(scores))
    return count
