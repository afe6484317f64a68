"""Windows of lines: 50 for code and 100 for documents, overlapping by a quarter."""  # S2-18

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import ClassVar, Literal

from pydantic import Field

from bakeoff.corpus.document_kinds import CODE
from bakeoff.plugins._settings import Settings
from bakeoff.plugins.chunkers._pieces import SOURCE, Span, split, trim
from bakeoff.types import Document, Piece


class LineChunker:
    """Cuts documents into windows of whole lines: fast, the same for any language, blind to structure."""

    version: ClassVar[str] = "2"

    class Params(Settings):
        """Parameters of the line chunker."""

        code_lines: int = Field(50, ge=1, description="lines per chunk in source code")
        doc_lines: int = Field(100, ge=1, description="lines per chunk in other documents")
        overlap: float = Field(
            0.25, ge=0, lt=1, description="overlap with the next chunk, as a share of its lines"
        )
        max_chars: int = Field(8000, ge=1, description="most characters in a window; longer ones are split")
        context: Literal["bracket", "none"] = Field(
            "bracket", description="what is prefix of each chunk when embedding: '[file: path]', or nothing"
        )

    def __init__(self, params: Params) -> None:
        self._params = params

    def chunk(self, document: Document) -> Iterator[Piece]:
        """Yield the document's windows in order."""
        text, max_chars = document.text, self._params.max_chars
        context = f"[file: {document.id}]\n\n" if self._params.context == "bracket" else ""
        parts = [
            span
            for start, end in self._windows(text, document.kind in CODE)
            for part in split(text, start, end, max_chars, SOURCE)
            if (span := trim(text, *part))
        ]
        # windows overlap, so parts of a split one may start after those of the next
        for start, end in sorted(set(parts)):
            yield Piece(start, end, context)

    def _windows(self, text: str, code: bool) -> Iterator[Span]:
        """Character spans of windows of lines; a line ends with its newline, and no line follows the last one."""
        size = self._params.code_lines if code else self._params.doc_lines
        step = max(1, size - int(size * self._params.overlap))
        before = list(accumulate(map(len, text.split("\n")), initial=0))
        lines = len(before) - 1 - text.endswith("\n")
        for first in range(0, lines, step):
            last = min(first + size, lines)
            # `before` counts characters without newlines, so line n starts n newlines later
            yield before[first] + first, min(before[last] + last, len(text))
            if last == lines:
                return
