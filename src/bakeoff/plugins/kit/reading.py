"""Helpers for authors of readers: bounded archives, tables and headings as Markdown, uniform damage reports."""

from __future__ import annotations

import contextlib
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO

from lxml import etree

from bakeoff.corpus.document_kinds import kind_of
from bakeoff.errors import UnreadableFileError
from bakeoff.plugins._settings import Settings
from bakeoff.plugins._titles import title_of
from bakeoff.types import Document, Skipped, SourceFile

UNPACKED_MB = 300
"""Most megabytes of an archive's parts together."""
PARTS = 20_000
"""Most parts in an archive."""
DAMAGE: tuple[type[Exception], ...] = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, UnicodeError, SyntaxError, NotImplementedError),
    *(
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        AttributeError,
        RecursionError,
        OverflowError,
        AssertionError,
    ),
)
"""Exceptions that parsers raise on damaged files, besides their own."""
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # the container of encrypted and of old Office files
_MANY_NEWLINES = re.compile(r"\n{3,}")


class NoReaderParams(Settings):
    """A reader without parameters."""


@contextlib.contextmanager
def report_damage(what: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn a parser's exceptions on a damaged file into an UnreadableFileError."""
    try:
        yield
    except (UnreadableFileError, MemoryError):
        raise
    except (*errors, *DAMAGE) as exc:
        found = " ".join(f"{type(exc).__name__}: {exc}".split())[:200]
        raise UnreadableFileError(f"damaged {what} ({found})") from exc


def open_archive(file: SourceFile, what: str) -> zipfile.ZipFile:
    """Open a ZIP-based document; raises if it is encrypted, not a ZIP, or too large unpacked."""
    if file.data.startswith(_OLE):
        raise UnreadableFileError(
            f"password-protected {what}, or one of an old version: save it without a password"
        )
    try:
        archive = zipfile.ZipFile(BytesIO(file.data))
    except (zipfile.BadZipFile, ValueError, struct.error, NotImplementedError) as exc:
        raise UnreadableFileError(f"damaged {what}: not a ZIP archive ({exc})") from exc
    parts = archive.infolist()
    size = sum(part.file_size for part in parts)
    if size > UNPACKED_MB * 1e6 or len(parts) > PARTS:
        many = f"{len(parts):,} parts" if len(parts) > PARTS else f"{size / 1e6:,.0f} MB"
        limit = f"{PARTS:,} parts" if len(parts) > PARTS else f"{UNPACKED_MB} MB"
        raise UnreadableFileError(f"{what} of {many} unpacked: more than {limit} are not read")
    if any(part.flag_bits & 1 for part in parts):
        raise UnreadableFileError(f"password-protected {what}: save it without a password")
    return archive


def table_lines(rows: Iterable[Sequence[str]]) -> list[str]:
    """Rows of a table, one per line, with bars between cells; empty rows are dropped."""
    lines = (" | ".join(" ".join(cell.split()) for cell in row).strip() for row in rows)
    return [line for line in lines if line.strip("| ")]


def heading(level: int, title: str) -> str:
    """A Markdown heading."""
    return f"{'#' * min(max(level, 1), 6)} {' '.join(title.split())}"


def join_blocks(blocks: Iterable[str]) -> str:
    """Join blocks of text with blank lines."""
    return _MANY_NEWLINES.sub("\n\n", "\n\n".join(block.strip("\n") for block in blocks if block.strip()))


def make_document(file: SourceFile, blocks: Iterable[str], title: str = "") -> Document | Skipped:
    """Make a document from blocks of text, or Skipped if they are empty."""
    text = join_blocks(blocks)
    if not text.strip():
        return Skipped(file.id, "empty: no text in it", has_text=False)
    own = " ".join(title.split())[:200]
    return Document(file.id, f"{text}\n", kind_of(file.id), own or title_of(text, "markdown"))


def parse_xml(data: bytes) -> etree._Element:
    """Parse an XML part; entities are not resolved and nothing is fetched."""
    return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False))
