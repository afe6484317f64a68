"""The documents as truth rules see them: found by name, read by row, with lines and definitions."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING

from bakeoff.truth.documents import Names

if TYPE_CHECKING:
    import pyarrow as pa

KEPT = 256
"""How many documents are held as Python texts."""
_BREAK = re.compile(r"\r\n|\r|\n")


class Corpus:
    """A documents table with an index of its names; texts are read on demand."""

    def __init__(self, documents: pa.Table) -> None:
        self.table = documents
        self.ids: list[str] = documents["id"].to_pylist()
        self.kinds: list[str] = documents["kind"].to_pylist()
        self.names = Names(self.ids)
        # a few at a time, so that a scan of all documents does not hold them all
        self.text = lru_cache(KEPT)(self._text)
        self.line_starts = lru_cache(KEPT)(self._line_starts)

    def __len__(self) -> int:
        return len(self.ids)

    def _text(self, doc: int) -> str:
        """The text of a document."""
        return str(self.table["text"][doc].as_py())

    def _line_starts(self, doc: int) -> list[int]:
        """The character at which each line of a document starts."""
        return line_starts(self.text(doc))

    def line_of(self, doc: int, character: int) -> int:
        """The line, from 1, a character of a document stands in."""
        return bisect_right(self.line_starts(doc), character)


def line_starts(text: str) -> list[int]:
    """The character at which each line starts; LF, CRLF and CR end a line, as for Python."""
    return [0, *(match.end() for match in _BREAK.finditer(text))]
