"""Chunks made elsewhere, from a table; each is located in its document, and keeps its id and vector."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import ClassVar

import numpy as np

from bakeoff.corpus.tables import table_version
from bakeoff.errors import ChunkerError
from bakeoff.plugins._chunk_table import ChunkTable, ChunkTableParams
from bakeoff.types import Document, Piece

SHOWN = 3


class ExistingChunker:
    """Locates the chunks of each document: exact text first, then ignoring whitespace and case."""

    version: ClassVar[str] = "1"
    Params = ChunkTableParams

    def __init__(self, params: ChunkTableParams) -> None:
        self._params, self._table = params, ChunkTable(params)

    def content_version(self) -> str:
        """Fingerprint of the table's bytes."""
        return table_version(self._params.table)

    def check_documents(self, ids: Collection[str]) -> None:
        """Raise ChunkerError for chunks whose document is not in the corpus."""
        lost = [name for name in self._table.documents if name not in ids]
        if lost:
            chunks = sum(self._table.documents[name][1] for name in lost)
            raise ChunkerError(
                f"{self._table.file.where}: {chunks:,} chunks are of {len(lost):,} documents that the corpus does not "
                f"have, such as {', '.join(lost[:SHOWN])}. Correct the column, or remove `corpus` to build "
                "the documents from the chunks."
            )

    def chunk(self, document: Document) -> Iterable[Piece]:
        """Yield the pieces of a document, by start."""
        found: list[Piece] = []
        lost: list[str] = []
        before: Piece | None = None
        for name, text, section in self._table.of_document(document.id):
            span = find_chunk(document.text, text, before)
            if span is None:
                lost.append(name)
                continue
            before = Piece(*span, section=section, id=name)
            found.append(before)
        if lost:
            raise ChunkerError(
                f"{document.id}: the text of {len(lost)} of its {len(lost) + len(found)} chunks is not in the "
                f"document, such as that of {', '.join(lost[:SHOWN])}. Remove `corpus` to build the "
                "documents from the chunks."
            )
        return sorted(found, key=lambda piece: (piece.start, piece.end))

    def vector_model(self) -> str:
        """Name of the embedder that made the vectors; '' if there are none."""
        return self._params.model

    def vectors(self, ids: Sequence[str]) -> Iterator[np.ndarray]:
        """Yield the vectors of chunks, in their order."""
        return self._table.vectors(ids)


def find_chunk(text: str, chunk: str, before: Piece | None) -> tuple[int, int] | None:
    """Locate a chunk in a document, preferably after the previous one; None if it is not there."""
    after = before.end + 2 if before else 0
    if text.startswith(chunk, after):
        return after, after + len(chunk)
    starts = (before.start + 1, 0) if before else (0,)
    for start in starts:
        at = text.find(chunk, start)
        if at >= 0:
            return at, at + len(chunk)
    words = re.compile(r"\s+".join(map(re.escape, chunk.split())), re.IGNORECASE)
    matched = next(filter(None, (words.search(text, start) for start in starts)), None)
    return matched.span() if matched else None
