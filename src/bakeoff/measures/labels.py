"""Measures from review labels, with bounds over unjudged results (C-22)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from bakeoff.errors import DataError


class Label(StrEnum):
    """A reviewer's judgment of one result."""

    KEYWORD_MATCH = "KEYWORD_MATCH"
    SEMANTIC_MATCH = "SEMANTIC_MATCH"
    FALSE_POSITIVE = "FALSE_POSITIVE"
    UNJUDGED = ""


@dataclass(frozen=True, slots=True)
class BoundedMean:
    """A value, and the range it could take once every result is judged."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class LabelScores:
    """SemPrec@k, SemLift@k, FalsePos@k and Judged@k of one query; compare systems only if both are complete."""

    semantic_precision: BoundedMean
    semantic_lift: BoundedMean
    false_positive: BoundedMean
    judged: float
    unjudged_rate: float
    complete: bool


def label_scores(labels: Sequence[str], k: int) -> LabelScores:
    """Review measures of one ranking, labels in served order; always divided by k."""
    top = [_label(text, rank) for rank, text in enumerate(labels[:k], start=1)]
    keyword, semantic, wrong = (
        top.count(label) for label in (Label.KEYWORD_MATCH, Label.SEMANTIC_MATCH, Label.FALSE_POSITIVE)
    )
    open_ = top.count(Label.UNJUDGED)
    return LabelScores(
        _bounds(keyword + semantic, open_, k),
        _bounds(semantic, open_, k),
        _bounds(wrong, open_, k),
        (len(top) - open_) / k,
        open_ / k,
        open_ == 0,
    )


def _label(text: str, rank: int) -> Label:
    word = text.strip().upper()
    if word not in list(Label):
        raise DataError(
            f"rank {rank}: {text!r} is not a review label. Labels: {', '.join(filter(None, Label))}, or empty."
        )
    return Label(word)


def _bounds(count: int, open_: int, k: int) -> BoundedMean:
    return BoundedMean(count / k, count / k, (count + open_) / k)
