"""Source sentences of synthetic queries: tagged, and blanked so that no query finds its own source."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bakeoff.truth.spans import passages

LEAK = "leak"
"""The tag of a query whose text occurs in the answering document."""

_SEEN = re.compile(r"\S")


def blank_sentences(text: str, sentences: Iterable[str]) -> str:
    """Blank each of the sentences in a text; offsets and lines stay the same."""
    for sentence in sentences:
        for start, end in passages(text, sentence):
            text = text[:start] + _SEEN.sub(" ", text[start:end]) + text[end:]
    return text
