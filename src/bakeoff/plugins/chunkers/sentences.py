"""A number of sentences a chunk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from bakeoff.plugins.chunkers._pieces import SENTENCE, WORD, Span, split, trim
from bakeoff.types import Document, Piece

_END = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+|(?<=[。！？])[」』”]*\s*|\r?\n[ \t]*\r?\n\s*")
_SHORT = re.compile(
    r"(?:^|[\s(\[])(?:(?:[A-Za-z]\.)*[A-Za-z]|cf|vs|etc|al|Dr|Mr|Mrs|Ms|Prof|St|No|Fig|Figs|Eq|Sec|Vol|pp|approx|Inc|Ltd)\.$"
)


class SentencesChunker:
    """Joins neighbouring sentences; ends after . ! ? and at blank lines, not after common abbreviations."""

    version: ClassVar[str] = "1"

    class Params(BaseModel):
        """Parameters of the sentences chunker."""

        model_config = ConfigDict(extra="forbid", frozen=True)

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
        start = 0
        for match in _END.finditer(text):
            if match.end() > start and not _abbreviated(text, match.start()):
                yield from split(text, start, match.end(), self._params.max_chars, (SENTENCE, ("\n",), WORD))
                start = match.end()
        if start < len(text):
            yield from split(text, start, len(text), self._params.max_chars, (SENTENCE, ("\n",), WORD))

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


def _abbreviated(text: str, end: int) -> bool:
    return end > 0 and text[end - 1] == "." and _SHORT.search(text, max(0, end - 8), end) is not None
