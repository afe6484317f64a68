"""Negative queries, which have no right answer: false alarms, and whether the top score shows them (F09)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bakeoff.errors import DataError
from bakeoff.measures.arrays import Flags, Floats, Ints, RankingArrays, starts_of_groups


@dataclass(frozen=True, slots=True)
class FalseAlarms:
    """FalseAlarm@t on queries it was not chosen on, and the share of answerable queries it keeps."""

    threshold: float
    rate: float
    negatives: int
    answerable_kept: float
    answerable: int


def top_scores(rankings: RankingArrays, queries: Ints) -> Floats:
    """The highest score of each of these queries (ascending), −inf where there is no result."""
    best = np.full(len(queries), -np.inf)
    if len(rankings):
        starts = starts_of_groups(rankings.query)
        highest = np.maximum.reduceat(rankings.score, starts)
        present = rankings.query[starts]
        place = np.searchsorted(queries, present)
        known = (place < len(queries)) & (queries[np.minimum(place, len(queries) - 1)] == present)
        best[place[known]] = highest[known]
    return best


def false_alarm(top: Floats, threshold: float) -> Floats:
    """FalseAlarm@t for each negative query: 1 where its top score reaches the threshold."""
    return (top >= threshold).astype(np.float64)


def auroc(answerable: Floats, negative: Floats) -> float:
    """Share of pairs whose answerable query has the higher top score, ties half; NaN if a side is empty."""
    if not len(answerable) or not len(negative):
        return float("nan")
    ordered = np.sort(negative)
    lower = np.searchsorted(ordered, answerable, side="left")
    not_higher = np.searchsorted(ordered, answerable, side="right")
    return float((lower + not_higher).sum() / (2 * len(answerable) * len(negative)))


def choose_threshold(answerable: Floats, negative: Floats) -> float:
    """The lowest top score with the highest mean of answerable queries kept and negative ones refused."""
    if not len(answerable) or not len(negative):
        raise DataError("a threshold needs the top scores of both answerable and negative queries.")
    candidates = np.unique(np.concatenate((answerable, negative)))
    candidates = candidates[np.isfinite(candidates)]
    if not len(candidates):
        raise DataError("no query returned a result, so there is no score to set a threshold on.")
    kept = len(answerable) - np.searchsorted(np.sort(answerable), candidates, side="left")
    refused = np.searchsorted(np.sort(negative), candidates, side="left")
    return float(candidates[np.argmax(kept / len(answerable) + refused / len(negative))])


def false_alarms(
    answerable: Floats, negative: Floats, held_out_answerable: Flags, held_out_negative: Flags
) -> FalseAlarms:
    """The false-alarm rate at a threshold chosen on the held-out queries and reported on the others."""
    threshold = choose_threshold(answerable[held_out_answerable], negative[held_out_negative])
    others, wrong = answerable[~held_out_answerable], negative[~held_out_negative]
    if not len(wrong):
        raise DataError("every negative query was used to choose the threshold; keep some to report on.")
    kept = float(false_alarm(others, threshold).mean()) if len(others) else float("nan")
    return FalseAlarms(threshold, float(false_alarm(wrong, threshold).mean()), len(wrong), kept, len(others))
