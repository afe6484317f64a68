"""Chunks of a fixed number of sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field, model_validator

from bakeoff.corpus.languages import LanguageName
from bakeoff.corpus.segmentation import VERSION, sentences
from bakeoff.plugins._settings import Settings
from bakeoff.plugins.chunkers._pieces import SENTENCE, WORD, Span, split, trim
from bakeoff.types import Document, Piece


class SentencesChunker:
    """Joins neighbouring sentences in any script; Thai and Lao, which have no full stop, are split at spaces."""

    version: ClassVar[str] = f"2 with {VERSION}"

    class Params(Settings):
        """Parameters of the sentences chunker."""

        language: LanguageName | None = Field(
            None,
            exclude_if=lambda value: value is None,
            description="language whose abbreviations don't end a sentence; default: the corpus's",
        )
        size: int = Field(5, ge=1, description="most sentences in a chunk")
        overlap: int = Field(1, ge=0, description="sentences of overlap with the next chunk")
        max_chars: int = Field(2000, ge=1, description="most characters in a chunk; a longer sentence is cut")

        @model_validator(mode="after")
        def _smaller(self) -> SentencesChunker.Params:
            if self.overlap >= self.size:
                raise ValueError(f"overlap {self.overlap} must be smaller than size {self.size}")
            return self

    def __init__(self, params: Params) -> None:
        self._params = params

    def chunk(self, document: Document) -> Iterator[Piece]:
        """Yield the document's chunks in order."""
        for window in self._windows(list(self._sentences(document.text))):
            if span := trim(document.text, *window):
                yield Piece(*span)

    def _sentences(self, text: str) -> Iterator[Span]:
        """Yield contiguous spans, each a sentence with trailing whitespace, none longer than `max_chars`."""
        for start, end in sentences(text, self._params.language):
            yield from split(text, start, end, self._params.max_chars, (SENTENCE, ("\n",), WORD))

    def _windows(self, sentences: list[Span]) -> Iterator[Span]:
        first, last = 0, 0
        while last < len(sentences):
            last = self._fill(sentences, first)
            yield sentences[first][0], sentences[last - 1][1]
            first = max(first + 1, last - self._params.overlap)

    def _fill(self, sentences: list[Span], first: int) -> int:
        """Index after the last sentence that fits a chunk starting at `first`."""
        last, start = first + 1, sentences[first][0]
        while (
            last < min(first + self._params.size, len(sentences))
            and sentences[last][1] - start <= self._params.max_chars
        ):
            last += 1
        return last
