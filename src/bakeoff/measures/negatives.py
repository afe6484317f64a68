"""Negative queries, which have no right answer: whether the top score identifies them, and above which
threshold (F09)."""

from __future__ import annotations

import numpy as np

from bakeoff.errors import DataError
from bakeoff.measures.arrays import Floats


def auroc(answerable: Floats, negative: Floats) -> float:
    """Share of pairs where the answerable query has the higher top score, ties half; NaN if a side is empty."""
    if not len(answerable) or not len(negative):
        return float("nan")
    ordered = np.sort(negative)
    lower = np.searchsorted(ordered, answerable, side="left")
    not_higher = np.searchsorted(ordered, answerable, side="right")
    return float((lower + not_higher).sum() / (2 * len(answerable) * len(negative)))


def choose_threshold(answerable: Floats, negative: Floats) -> float:
    """Lowest top score that maximises the mean of answerable queries kept and negative ones rejected."""
    if not len(answerable) or not len(negative):
        raise DataError("a threshold needs the top scores of both answerable and negative queries.")
    candidates = np.unique(np.concatenate((answerable, negative)))
    candidates = candidates[np.isfinite(candidates)]
    if not len(candidates):
        raise DataError("no query returned a result, so no score can set a threshold.")
    answered = len(answerable) - np.searchsorted(np.sort(answerable), candidates, side="left")
    refused = np.searchsorted(np.sort(negative), candidates, side="left")
    return float(candidates[np.argmax(answered / len(answerable) + refused / len(negative))])
