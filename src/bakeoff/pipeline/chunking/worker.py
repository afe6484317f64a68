"""Splits one document into rows, each an exact character span; also the entry point of a chunking process.

`python -m bakeoff.pipeline.chunking.worker` receives a chunker, then documents as Arrow bytes, and replies
with the rows of each. It imports nothing from the program that started it.
"""

from __future__ import annotations

import bisect
import logging
import os
import pickle
import re
import sys
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from bakeoff.errors import ChunkerError
from bakeoff.fingerprint import fingerprint
from bakeoff.protocols import Chunker, SuppliesChunks
from bakeoff.runtime.shards import LoadedPlugin
from bakeoff.storage.row_cache import BatchRows, from_bytes, to_bytes
from bakeoff.storage.schemas import CHUNKS, Schema
from bakeoff.types import Document, Piece

if TYPE_CHECKING:
    import pyarrow as pa
    from pydantic import BaseModel

CUT = Schema("cut", tuple(column for column in CHUNKS.columns if column[0] != "doc"))
READ = ("id", "text", "kind", "title")


def chunk_documents(chunker: Chunker, documents: pa.Table) -> tuple[list[int], pa.Table]:
    """Return the number of rows of each document, and the rows; `documents` has the columns READ."""
    columns = (column.to_pylist() for column in documents.columns)
    whole = not isinstance(chunker, SuppliesChunks)
    chunks = [_rows(chunker, Document(*row), whole=whole) for row in zip(*columns, strict=True)]
    flat = [row for rows in chunks for row in rows]
    names = [column for column, _ in CUT.columns]
    table = CUT.table({name: [row[i] for row in flat] for i, name in enumerate(names)})
    return [len(rows) for rows in chunks], table


@dataclass(frozen=True, slots=True)
class ChunkWorkSpec:
    """Serialisable description of chunking work, for worker processes."""

    plugin: type[Chunker]
    params: BaseModel

    def open(self) -> LoadedPlugin:
        """Create the chunker."""
        chunker = self.plugin(self.params)
        return LoadedPlugin(lambda documents: BatchRows(*chunk_documents(chunker, documents)))


def main() -> None:
    """Answer requests until the parent closes the connection or dies."""
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
    try:
        _answer(sys.stdin.buffer, sys.stdout.buffer)
    except (EOFError, pickle.UnpicklingError):
        return  # the parent closed the connection, or was killed while writing
    except BrokenPipeError:  # nobody reads the rows any more; don't flush the buffer at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _answer(source: IO[bytes], target: IO[bytes]) -> None:
    plugin, params = pickle.load(source)  # noqa: S301 - from the process that started this one
    chunker = plugin(params)
    while True:
        documents = pickle.load(source)  # noqa: S301
        answer: tuple[str, list[int], bytes]
        try:
            counts, table = chunk_documents(chunker, from_bytes(documents))
            answer = ("", counts, to_bytes(table))
        except ChunkerError as exc:
            answer = (str(exc), [], b"")
        pickle.dump(answer, target)
        target.flush()


def _rows(chunker: Chunker, document: Document, *, whole: bool) -> list[tuple[str | int, ...]]:
    """Return the rows of one document, with the columns of CUT in order."""
    pieces = list(chunker.chunk(document))
    _check(document, pieces, whole=whole)
    text = document.text
    breaks = [match.start() for match in re.finditer("\n", text)]
    rows: list[tuple[str | int, ...]] = []
    for piece in pieces:
        body = text[piece.start : piece.end]
        first = bisect.bisect_left(breaks, piece.start) + 1
        last = bisect.bisect_left(breaks, piece.end - 1) + 1
        name = piece.id or f"{document.id}#{piece.start}-{piece.end}.{fingerprint(body)[:8]}"
        rows.append(
            (name, piece.start, piece.end, first, last, piece.section, piece.symbol, piece.context, body)
        )
    return rows


def _check(document: Document, pieces: list[Piece], *, whole: bool) -> None:
    """Raise unless every piece lies inside the document and, if `whole`, they cover every non-blank character
    (F44)."""
    covered, before = 0, 0
    for piece in pieces:
        if not 0 <= piece.start < piece.end <= len(document.text) or piece.start < before:
            raise ChunkerError(
                f"{document.id}: piece {piece.start}–{piece.end} is outside the text or out of order. "
                "This is a bug in the chunker; remove it, or exclude the document."
            )
        if whole:
            _covers(document, covered, piece.start)
        covered, before = max(covered, piece.end), piece.start
    if whole:
        _covers(document, covered, len(document.text))


def _covers(document: Document, covered: int, until: int) -> None:
    if until > covered and document.text[covered:until].strip():
        raise ChunkerError(
            f"{document.id}: characters {covered}–{until} are not in any chunk. This is a bug in the "
            "chunker; remove it, or exclude the document."
        )


if __name__ == "__main__":
    main()
