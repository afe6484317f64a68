"""Every document as one chunk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from bakeoff.plugins._settings import Settings
from bakeoff.plugins.chunkers._pieces import trim
from bakeoff.types import Document, Piece


class WholeChunker:
    """Splits nothing: for short documents, and as a baseline for other chunkers."""

    version: ClassVar[str] = "1"

    class Params(Settings):
        """The whole chunker has no parameters."""

    def __init__(self, params: Params) -> None:
        self._params = params

    def chunk(self, document: Document) -> Iterator[Piece]:
        """Yield one piece, or none if the document is blank."""
        if span := trim(document.text, 0, len(document.text)):
            yield Piece(*span)
