"""Sentences of documents that synthetic queries were made of: tagged, and blanked so that no query finds itself."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bakeoff.truth.spans import passages

LEAK = "leak"
"""The tag of a query whose text occurs in the document that answers it."""

_SEEN = re.compile(r"\S")


def blank_sentences(text: str, sentences: Iterable[str]) -> str:
    """A text in which each of the sentences is blank; every offset and line stays."""
    for sentence in sentences:
        for start, end in passages(text, sentence):
            text = text[:start] + _SEEN.sub(" ", text[start:end]) + text[end:]
    return text
