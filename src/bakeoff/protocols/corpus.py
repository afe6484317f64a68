"""Protocols of sources, readers and chunkers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from bakeoff.protocols.plugin import Plugin
from bakeoff.types import Document, DocumentBatch, Piece, ReadLimits, Skipped, SourceFile, SourceItem

if TYPE_CHECKING:
    import numpy as np
    from pydantic import BaseModel


class Source(Plugin, Protocol):
    """Where documents come from.

    Parameters that only select items, such as a name pattern, are listed in `selects_by: ClassVar[tuple[str,
    ...]]`: changing one does not cause items to be read again.
    """

    def __init__(self, params: BaseModel) -> None: ...

    def items(self) -> Iterable[SourceItem | Skipped]:
        """Yield the items in a stable order, without parsing them."""

    def read(self, item: SourceItem) -> Document | SourceFile | Skipped:
        """The document of one item, or its file for a reader."""


class Reader(Plugin, Protocol):
    """Turns a file into a document: its text, with headings in Markdown if the format has them.

    Files are read in a process with limits, unless the reader declares `packed = False`: no small file of its
    formats can expand to far more than its size.
    """

    kinds: ClassVar[tuple[str, ...]]
    """Document kinds it reads: pdf, docx, html; for a format unknown to bakeoff, the file's extension."""

    def read(self, file: SourceFile) -> Document | Skipped:
        """The document, or why there is none; raises UnreadableFileError if another reader may do better."""


@runtime_checkable
class RowSource(Plugin, Protocol):
    """A source whose documents come as Arrow columns, so that millions of them need no object each."""

    def __init__(self, params: BaseModel) -> None: ...

    def content_version(self) -> str:
        """A string that changes with the content; '' if only reading it shows that."""

    def count_rows(self) -> int | None:
        """Number of rows; None if only reading shows it."""

    def batches(self) -> Iterator[DocumentBatch]:
        """Yield the documents in a stable order, some thousands at a time."""


@runtime_checkable
class SupportsReadLimits(Source, Protocol):
    """A source of files that limits what reading one of them may cost; others use the default limits."""

    def read_limits(self) -> ReadLimits:
        """Limits for one file."""


@runtime_checkable
class SupportsReadsFrom(Protocol):
    """A source of files that knows whether files written to a folder would become documents."""

    def reads_from(self, folder: Path) -> bool:
        """Whether files that are put into this folder would be read."""


class Chunker(Plugin, Protocol):
    """Splits one document into character spans that together cover every non-blank character."""

    def __init__(self, params: BaseModel) -> None: ...

    def chunk(self, document: Document) -> Iterable[Piece]:
        """Yield the pieces of a document, by start."""


@runtime_checkable
class SuppliesChunks(Chunker, Protocol):
    """A chunker whose chunks were made elsewhere, possibly with vectors."""

    def content_version(self) -> str:
        """A string that changes with the chunks."""

    def check_documents(self, ids: Collection[str]) -> None:
        """Raise ChunkerError if a chunk belongs to a document outside the corpus."""

    def vector_model(self) -> str:
        """The embedder that made the chunks' vectors, by its name in the experiment; '' if there are none."""

    def vectors(self, ids: Sequence[str]) -> Iterator[np.ndarray]:
        """Yield the vectors of chunks in the order of their ids, some thousands at a time."""
