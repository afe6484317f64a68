"""Every document as one chunk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from bakeoff.plugins.chunkers._pieces import trim
from bakeoff.types import Document, Piece


class WholeChunker:
    """Splits nothing: for short documents, and as a baseline for other chunkers."""

    version: ClassVar[str] = "1"

    class Params(BaseModel):
        """The whole chunker has no parameters."""

        model_config = ConfigDict(extra="forbid", frozen=True)

    def __init__(self, params: Params) -> None:
        self._params = params

    def chunk(self, document: Document) -> Iterator[Piece]:
        """Yield one piece, or none if the document is blank."""
        if span := trim(document.text, 0, len(document.text)):
            yield Piece(*span)
