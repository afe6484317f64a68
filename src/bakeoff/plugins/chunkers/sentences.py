"""A number of sentences a chunk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from bakeoff.corpus.languages import LanguageName
from bakeoff.corpus.segmentation import VERSION, sentences
from bakeoff.plugins.chunkers._pieces import SENTENCE, WORD, Span, split, trim
from bakeoff.types import Document, Piece


class SentencesChunker:
    """Joins neighbouring sentences of any script; Thai and Lao, which have no full stop, are cut at blanks."""

    version: ClassVar[str] = f"2 with {VERSION}"

    class Params(BaseModel):
        """Parameters of the sentences chunker."""

        model_config = ConfigDict(extra="forbid", frozen=True)

        language: LanguageName | None = Field(
            None,
            exclude_if=lambda value: value is None,
            description="whose abbreviations end no sentence; usually the corpus's",
        )
        size: int = Field(5, ge=1, description="sentences a chunk has at most")
        overlap: int = Field(1, ge=0, description="sentences of a chunk that the next one repeats")
        max_chars: int = Field(
            2000, ge=1, description="characters a chunk has at most; a longer sentence is cut"
        )

        @model_validator(mode="after")
        def _smaller(self) -> SentencesChunker.Params:
            if self.overlap >= self.size:
                raise ValueError(f"overlap {self.overlap} must be smaller than size {self.size}")
            return self

    def __init__(self, params: Params) -> None:
        self._params = params

    def chunk(self, document: Document) -> Iterator[Piece]:
        """The document's chunks in order."""
        for window in self._windows(list(self._sentences(document.text))):
            if span := trim(document.text, *window):
                yield Piece(*span)

    def _sentences(self, text: str) -> Iterator[Span]:
        """Contiguous spans, each a sentence with the blanks after it, none longer than `max_chars`."""
        for start, end in sentences(text, self._params.language):
            yield from split(text, start, end, self._params.max_chars, (SENTENCE, ("\n",), WORD))

    def _windows(self, sentences: list[Span]) -> Iterator[Span]:
        first, last = 0, 0
        while last < len(sentences):
            last = self._fill(sentences, first)
            yield sentences[first][0], sentences[last - 1][1]
            first = max(first + 1, last - self._params.overlap)

    def _fill(self, sentences: list[Span], first: int) -> int:
        """The index after the last sentence that still fits a chunk starting at `first`."""
        last, start = first + 1, sentences[first][0]
        while (
            last < min(first + self._params.size, len(sentences))
            and sentences[last][1] - start <= self._params.max_chars
        ):
            last += 1
        return last
