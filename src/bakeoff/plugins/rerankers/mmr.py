"""MMR: moves near-duplicates down, so that the first passages differ."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from bakeoff.corpus.segmentation import VERSION, words


class MmrReranker:
    """Maximal marginal relevance; relevance is the incoming rank, similarity the cosine of the words."""

    version: ClassVar[str] = f"2 with {VERSION}"

    class Params(BaseModel):
        """Weight of diversity."""

        model_config = ConfigDict(extra="forbid", frozen=True)

        relevance: float = Field(0.7, ge=0, le=1, description="1: keep the order; 0: only diversity counts")

    def __init__(self, params: Params) -> None:
        self._relevance = params.relevance

    def rerank(self, query: str, passages: Sequence[str]) -> np.ndarray:
        """Return descending scores in the order of selection: each pick is relevant and unlike the earlier ones."""
        count = len(passages)
        gain = self._relevance * (1 - np.arange(count) / max(count, 1))
        likeness = _likeness(passages)
        nearest = np.zeros(count)
        scores = np.empty(count)
        left = np.ones(count, bool)
        for place in range(count):
            worth = np.where(left, gain - (1 - self._relevance) * nearest, -np.inf)
            pick = int(worth.argmax())
            scores[pick], left[pick] = count - place, False
            nearest = np.maximum(nearest, likeness[pick])
        return scores

    def close(self) -> None:
        """Nothing to release."""


def _likeness(passages: Sequence[str]) -> np.ndarray:
    """Cosines between passages, with words weighted by their rarity among them."""
    counts = [Counter(words(passage.lower())) for passage in passages]
    spread = Counter(word for found in counts for word in found)
    places = {word: i for i, word in enumerate(spread)}
    rows = np.zeros((len(passages), len(places)))
    for row, found in zip(rows, counts, strict=True):
        for word, times in found.items():
            row[places[word]] = (1 + math.log(times)) * math.log(1 + len(passages) / spread[word])
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = np.divide(rows, norms, out=rows, where=norms > 0)
    return unit @ unit.T
