"""Word segmentation shared by our own keyword stores, so that they differ in scoring only."""

from __future__ import annotations

from typing import Annotated, Literal

import tantivy
from pydantic import Field

from bakeoff.corpus import segmentation
from bakeoff.plugins.kit.adapter import Settings
from bakeoff.plugins.kit.payload import NO_LIMIT

WORDS_ONLY = {
    **NO_LIMIT,
    "vectors": "words only",
    "hybrid": "words only",
    "delete": "built once",
    "replace": "built once",
    "batch": "one query at a time",
}
"""Gaps of a store that searches by keywords only."""


class WordParams(Settings):
    """How texts are split into words."""

    words: Annotated[
        Literal["english", "plain"],
        Field(description="english: stemmed, without stop words; plain: lower-cased only"),
    ] = "english"


def space_words(text: str) -> str:
    """The words of a text in any script, separated by spaces: the input of an analyzer."""
    return " ".join(segmentation.words(text))


def analyzer(words: str) -> tantivy.TextAnalyzer:
    """Turns space-separated words into index terms."""
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).filter(tantivy.Filter.lowercase())
    if words == "english":
        builder = builder.filter(tantivy.Filter.stopword("english")).filter(tantivy.Filter.stemmer("english"))
    return builder.build()
