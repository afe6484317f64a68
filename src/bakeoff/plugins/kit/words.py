"""Index terms of texts for keyword stores: segmentation, case, stop words and stems of a language."""

from __future__ import annotations

from typing import Annotated, Literal

import snowballstemmer
import tantivy
from pydantic import Field

from bakeoff.corpus import segmentation
from bakeoff.corpus.languages import LANGUAGES, LanguageName
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

TANTIVY_STEMS = LANGUAGES.keys() & {
    "arabic", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hungarian", "italian", "norwegian",
    "portuguese", "romanian", "russian", "spanish", "swedish", "turkish",
}  # fmt: skip
TANTIVY_STOP_WORDS = TANTIVY_STEMS - {"arabic", "greek", "romanian", "turkish"}
SNOWBALL_STEMS = frozenset({"czech", "hindi", "persian", "polish"})
UNSPACED = frozenset({"chinese", "japanese", "korean", "thai"})
"""Languages without spaces between words, or indexed by pairs of characters."""


class LanguageParams(Settings):
    """The language whose words a store searches."""

    language: Annotated[
        LanguageName | None,
        Field(
            exclude_if=lambda value: value is None, description="language of the words; default: the corpus's"
        ),
    ] = None


class WordParams(LanguageParams):
    """How texts are split into words."""

    words: Annotated[
        Literal["stemmed", "plain"],
        Field(description="stemmed: language-specific stems without stop words; plain: lower-cased only"),
    ] = "stemmed"


def space_words(text: str) -> str:
    """Words of a text in any script, separated by spaces: the input of an analyzer."""
    return " ".join(segmentation.words(text))


class WordAnalyzer:
    """Turns texts into index terms; texts in an unknown language are treated as English.

    `in_tantivy` is the part that a tantivy index runs itself, over what `spaced` returns.
    """

    def __init__(self, language: str | None, *, plain: bool = False) -> None:
        own = LANGUAGES[language or "english"]
        steps = [tantivy.Filter.lowercase()]
        if not plain and own.name in TANTIVY_STOP_WORDS:
            steps.append(tantivy.Filter.stopword(own.name))
        elif not plain and own.common:
            steps.append(tantivy.Filter.custom_stopword(sorted(own.common)))
        if not plain and own.name in TANTIVY_STEMS:
            steps.append(tantivy.Filter.stemmer(own.name))
        snowball = not plain and own.name in SNOWBALL_STEMS
        self._stemmer = snowballstemmer.stemmer(own.name) if snowball else None
        self._first = _analyzer(steps)
        self.in_tantivy = _analyzer([]) if snowball else self._first

    def spaced(self, text: str) -> str:
        """Words of a text separated by spaces, stemmed if tantivy can't."""
        if self._stemmer is None:
            return space_words(text)
        return " ".join(self._stemmer.stemWords(self._first.analyze(space_words(text))))

    def terms(self, text: str) -> list[str]:
        """The index terms of a text, in order."""
        return list(self.in_tantivy.analyze(self.spaced(text)))


def _analyzer(steps: list[tantivy.Filter]) -> tantivy.TextAnalyzer:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    for step in steps:
        builder = builder.filter(step)
    return builder.build()
