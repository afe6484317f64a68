"""How engines of ours cut a text into words: one analyzer for all, so that they differ in scoring only."""

from __future__ import annotations

from typing import Annotated, Literal

import tantivy
from pydantic import Field

from bakeoff.plugins.stores._base import Settings
from bakeoff.plugins.stores._payload import NO_LIMIT

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


def analyzer(words: str) -> tantivy.TextAnalyzer:
    """Cuts a text into the words that are indexed and asked for."""
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.lowercase())
    if words == "english":
        builder = builder.filter(tantivy.Filter.stopword("english")).filter(tantivy.Filter.stemmer("english"))
    return builder.build()
