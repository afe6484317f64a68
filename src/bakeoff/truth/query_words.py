"""Normalised words of a text, for comparison: without case and punctuation."""

from __future__ import annotations

import unicodedata

from bakeoff.corpus.segmentation import word_spans


def words(text: str) -> list[str]:
    """Words of a text in order, in any script."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return [folded[start:end] for start, end in word_spans(folded)]
