"""How our own engines cut a text into words: one rule for all, so that they differ in scoring only."""

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
"""What a store of words does not do."""


class WordParams(Settings):
    """How texts are cut into words."""

    words: Annotated[
        Literal["english", "plain"],
        Field(description="english: stemmed, without stop words; plain: lower-cased only"),
    ] = "english"


def space_words(text: str) -> str:
    """The words of a text in any script with a blank between them: what an analyzer is given."""
    return " ".join(segmentation.words(text))


def analyzer(words: str) -> tantivy.TextAnalyzer:
    """Makes index terms of words that blanks separate."""
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).filter(tantivy.Filter.lowercase())
    if words == "english":
        builder = builder.filter(tantivy.Filter.stopword("english")).filter(tantivy.Filter.stemmer("english"))
    return builder.build()
