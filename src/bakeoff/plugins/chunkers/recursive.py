"""Chunks up to a size, cut at the largest separator available: paragraph, line, sentence, word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field, model_validator

from bakeoff.corpus.segmentation import VERSION, boundary_after
from bakeoff.plugins._settings import Settings
from bakeoff.plugins.chunkers._pieces import PROSE, WORD, Span, find_cut, trim
from bakeoff.types import Document, Piece


class RecursiveChunker:
    """Fills each chunk up to its size and ends it at a paragraph if possible, else at a smaller unit."""

    version: ClassVar[str] = f"2 with {VERSION}"

    class Params(Settings):
        """Parameters of the recursive chunker."""

        size: int = Field(1200, ge=1, description="most characters in a chunk")
        overlap: int = Field(150, ge=0, description="characters of overlap with the next chunk")

        @model_validator(mode="after")
        def _smaller(self) -> RecursiveChunker.Params:
            # a cut lies in the later two thirds of a window: with more overlap the chunker might not advance
            if self.overlap * 3 > self.size:
                raise ValueError(f"overlap {self.overlap} is more than a third of size {self.size}: lower it")
            return self

    def __init__(self, params: Params) -> None:
        self._params = params

    def chunk(self, document: Document) -> Iterator[Piece]:
        """Yield the document's chunks in order."""
        for window in self._windows(document.text):
            if span := trim(document.text, *window):
                yield Piece(*span)

    def _windows(self, text: str) -> Iterator[Span]:
        start, size = 0, self._params.size
        while len(text) - start > size:
            end = find_cut(text, start, start + size, PROSE)
            yield start, end
            start = self._next(text, start, end)
        yield start, len(text)

    def _next(self, text: str, start: int, end: int) -> int:
        """Where the next chunk starts: at a word, no earlier than the overlap allows."""
        back = max(end - self._params.overlap, start + 1)
        words = [at for at in (text.find(space, back, end) for space in (*WORD, "\n")) if at >= 0]
        return min(min(words) + 1, end) if words else boundary_after(text, back, end)
